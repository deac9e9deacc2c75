package generator

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/patch"
)

// A guard holds an object before and after a patch against what a view promises whatever
// its patches are: that its objects are found again, and that a pod which is ready serves
// the pages.

// guardPages refuses a patch of a ConfigMap that so much as names its pages: they aren't
// there while it is patched.
func guardPages(parsed *patch.Patch) error {
	err := errors.New("a patch can't change, test or copy its pages: change them in spec.markdowns or where contentFrom takes them from")
	for _, pointer := range parsed.Pointers() {
		first, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		if slices.Contains([]string{"", "data", "binaryData", "immutable"}, first) {
			return err
		}
	}
	for _, merge := range parsed.Merges {
		if slices.ContainsFunc([]string{"data", "binaryData", "immutable", "$patch", "$retainKeys"}, merge.Names) {
			return err
		}
	}
	return nil
}

func guardConfigMap(before, after map[string]any) error {
	if err := guardIdentity(before, after); err != nil {
		return err
	}
	for field := range after {
		if _, ok := before[field]; !ok {
			return fmt.Errorf("a patch can change its labels and annotations only, not %.60s", field)
		}
	}
	return nil
}

// guardIdentity is for all kinds.
func guardIdentity(before, after map[string]any) error {
	for _, field := range []string{"apiVersion", "kind"} {
		if !reflect.DeepEqual(before[field], after[field]) {
			return fmt.Errorf("a patch can't change its %s", field)
		}
	}
	if _, ok := after["status"]; ok {
		return errors.New("a patch can't set its status")
	}
	was, is := childOf(before, "metadata"), childOf(after, "metadata")
	for _, field := range slices.Sorted(maps.Keys(union(was, is))) {
		if field != "labels" && field != "annotations" && !reflect.DeepEqual(was[field], is[field]) {
			return fmt.Errorf("a patch can't change its metadata.%.60s", field)
		}
	}
	return guardKeys("metadata", was, is)
}

// guardKeys refuses changes of reserved labels and annotations.
func guardKeys(at string, before, after map[string]any) error {
	for _, field := range []string{"labels", "annotations"} {
		reserved := v1.IsReservedKey
		if field == "labels" {
			reserved = v1.IsReservedLabel
		}
		was, is := childOf(before, field), childOf(after, field)
		for _, key := range slices.Sorted(maps.Keys(union(was, is))) {
			if reserved(key) && !reflect.DeepEqual(was[key], is[key]) && !mayReplace(key, was, is) {
				return fmt.Errorf("a patch can't change the key %.120s of its %s.%s, which is reserved", key, at, field)
			}
		}
	}
	return nil
}

// mayReplace reports whether a reserved annotation is one whose value a patch may replace,
// and does.
func mayReplace(key string, was, is map[string]any) bool {
	return key == v1.ServerConfigAnnotation && was[key] != nil && is[key] != nil
}

func guardService(before, after map[string]any) error {
	if err := guardIdentity(before, after); err != nil {
		return err
	}
	if !reflect.DeepEqual(childOf(before, "spec", "selector"), childOf(after, "spec", "selector")) {
		return errors.New("a patch can't change its spec.selector, which finds the view's pods")
	}
	return nil
}

func guardDeployment(before, after map[string]any) error {
	if err := guardIdentity(before, after); err != nil {
		return err
	}
	if !reflect.DeepEqual(childOf(before, "spec", "selector"), childOf(after, "spec", "selector")) {
		return errors.New("a patch can't change its spec.selector, which finds the view's pods")
	}
	const template = "spec.template.metadata"
	if err := guardKeys(template, childOf(before, "spec", "template", "metadata"), childOf(after, "spec", "template", "metadata")); err != nil {
		return err
	}
	was, is := childOf(before, "spec", "template", "spec"), childOf(after, "spec", "template", "spec")
	volumes := []string{pagesVolume}
	if len(named(was["volumes"], assemblyVolume)) > 0 {
		volumes = append(volumes, assemblyVolume)
	}
	for _, name := range volumes {
		if !reflect.DeepEqual(named(was["volumes"], name), named(is["volumes"], name)) {
			return fmt.Errorf("a patch can't change the pods' volume %s, which holds the pages", name)
		}
	}
	if err := guardAssembler(named(was["initContainers"], AssemblerName), named(is["initContainers"], AssemblerName)); err != nil {
		return err
	}
	pages := mounted{volumes: volumes, folder: bookRoot, what: "pages"}
	if len(named(was["containers"], ServerName)) == 0 {
		viewer := guarded{kind: "container", name: containerName, does: "serves the pages", serves: true, mounted: pages}
		return viewer.compare(was["containers"], is["containers"])
	}
	builder := guarded{kind: "init container", name: containerName, does: "builds the site", mounted: pages}
	if err := builder.compare(was["initContainers"], is["initContainers"]); err != nil {
		return err
	}
	server := guarded{kind: "container", name: ServerName, does: "serves the site", serves: true,
		mounted: mounted{volumes: []string{buildVolume}, folder: buildFolder, what: "site"}}
	return server.compare(was["containers"], is["containers"])
}

func guardAssembler(before, after []map[string]any) error {
	if len(before) != len(after) {
		return fmt.Errorf("a patch can't add or remove the init container %s, which assembles the pages", AssemblerName)
	}
	for i := range before {
		for _, field := range []string{"command", "args", "workingDir", "volumeMounts"} {
			if !reflect.DeepEqual(before[i][field], after[i][field]) {
				return fmt.Errorf("a patch can't change %s of the init container %s, which assembles the pages", field, AssemblerName)
			}
		}
	}
	return nil
}

// guarded is a container without which no pages are served.
type guarded struct {
	kind, name, does string
	// serves says that it is the one that the Service leads to.
	serves  bool
	mounted mounted
}

// mounted is what a container mounts that it can't be without.
type mounted struct {
	volumes []string
	folder  string
	what    string
}

func (g guarded) compare(was, is any) error {
	before, after := named(was, g.name), named(is, g.name)
	if len(before) != 1 || len(after) != 1 {
		return fmt.Errorf("a patch can't remove or rename the %s %s, which %s, nor add another of its name", g.kind, g.name, g.does)
	}
	if !reflect.DeepEqual(before[0]["workingDir"], after[0]["workingDir"]) {
		return fmt.Errorf("a patch can't change workingDir of the %s %s, which is where the pages are", g.kind, g.name)
	}
	if g.serves && len(childOf(after[0], "readinessProbe")) == 0 {
		return fmt.Errorf("a patch can't remove readinessProbe of the %s %s, which tells when it %s", g.kind, g.name, g.does)
	}
	if !reflect.DeepEqual(g.mounted.of(before[0]), g.mounted.of(after[0])) {
		return fmt.Errorf("a patch can't change what the %s %s mounts at %s and below, which is the %s", g.kind, g.name, g.mounted.folder, g.mounted.what)
	}
	return nil
}

// of returns the mounts of a container that hold it, and those that would hide some of it.
func (m mounted) of(container map[string]any) []any {
	mounts, _ := container["volumeMounts"].([]any)
	var found []any
	for _, mount := range mounts {
		fields, _ := mount.(map[string]any)
		at, _ := fields["mountPath"].(string)
		name, _ := fields["name"].(string)
		at = path.Clean("/" + at)
		if slices.Contains(m.volumes, name) || at == m.folder || strings.HasPrefix(at, m.folder+"/") || at == "/" {
			found = append(found, mount)
		}
	}
	return found
}

// childOf returns a map below others; nil if there is none.
func childOf(fields map[string]any, names ...string) map[string]any {
	for _, name := range names {
		fields, _ = fields[name].(map[string]any)
	}
	return fields
}

// named returns the entries of a list that have a name.
func named(list any, name string) []map[string]any {
	entries, _ := list.([]any)
	var found []map[string]any
	for _, entry := range entries {
		if fields, ok := entry.(map[string]any); ok && fields["name"] == name {
			found = append(found, fields)
		}
	}
	return found
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return all
}

// checkContainers returns an error if a container lacks what none can be without.
func (o *Output) checkContainers() error {
	if o.Deployment.Spec == nil || o.Deployment.Spec.Template == nil || o.Deployment.Spec.Template.Spec == nil {
		return nil // no API server takes it
	}
	pod := o.Deployment.Spec.Template.Spec
	for _, list := range []struct {
		field      string
		containers []corev1ac.ContainerApplyConfiguration
	}{{"containers", pod.Containers}, {"initContainers", pod.InitContainers}} {
		for i, container := range list.containers {
			var lacks string
			switch {
			case container.Name == nil || *container.Name == "":
				lacks = "name"
			case container.Image == nil || *container.Image == "":
				lacks = "image"
			default:
				continue
			}
			return fmt.Errorf("Deployment %s lacks spec.template.spec.%s[%d].%s: if no other container is meant than the one that serves the pages, name it %s", *o.Deployment.Name, list.field, i, lacks, servingName(pod)) //nolint:staticcheck // Deployment is a kind
		}
	}
	return nil
}

// servingName says how a patch names the container that serves the pages.
func servingName(pod *corev1ac.PodSpecApplyConfiguration) string {
	for _, container := range pod.Containers {
		if container.Name != nil && *container.Name == ServerName {
			return ServerName + "; mdBook runs in the init container " + containerName
		}
	}
	return containerName
}

// checkPorts returns an error if the Service leads to a port that no container declares:
// nothing would be served, and nobody would be told.
func (o *Output) checkPorts() error {
	if o.Service.Spec == nil || o.Deployment.Spec == nil || o.Deployment.Spec.Template == nil || o.Deployment.Spec.Template.Spec == nil {
		return nil // no API server takes it
	}
	declared := map[string]bool{}
	pod := o.Deployment.Spec.Template.Spec
	for _, container := range slices.Concat(pod.Containers, pod.InitContainers) {
		for _, port := range container.Ports {
			if port.ContainerPort != nil {
				declared[fmt.Sprint(*port.ContainerPort)] = true
			}
			if port.Name != nil {
				declared[*port.Name] = true
			}
		}
	}
	for _, port := range o.Service.Spec.Ports {
		if port.TargetPort == nil && port.Port == nil {
			continue
		}
		target := portOf(port)
		if !declared[target] {
			return fmt.Errorf("Service %s leads to port %.60s, which no container of Deployment %s declares: set the Service's targetPort to one that is, or add the port to the container", *o.Service.Name, target, *o.Deployment.Name) //nolint:staticcheck // Service is a kind
		}
	}
	return nil
}

// portOf is where a port of a Service leads to: the port of its own number if it says
// nothing else.
func portOf(port corev1ac.ServicePortApplyConfiguration) string {
	if target := port.TargetPort; target != nil && *target != intstr.FromInt32(0) && *target != intstr.FromString("") {
		return target.String()
	}
	if port.Port == nil {
		return "0"
	}
	return fmt.Sprint(*port.Port)
}

package function

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// packagePathAnnotation names the package, of several in one another, that a file
// belongs to.
const packagePathAnnotation = "internal.config.kubernetes.io/package-path"

// ofKpt reports whether kpt read an item from a file. kustomize builds note neither a
// package nor how lists are indented.
func ofKpt(node *yaml.RNode) bool {
	annotations := node.GetAnnotations(packagePathAnnotation, kioutil.SeqIndentAnnotation)
	return annotations[packagePathAnnotation] != "" || annotations[kioutil.SeqIndentAnnotation] != ""
}

// kptShowsResults reports whether kpt runs the function: it prints the results, and
// then what came on standard error. kustomize prints only the latter, and between
// `kpt fn source` and `kpt fn sink` nobody else does.
func kptShowsResults(items []*yaml.RNode) bool {
	return slices.ContainsFunc(items, func(raw *yaml.RNode) bool {
		node, err := withoutAliases(raw)
		return err == nil && ofKpt(node) && kioutil.GetIdAnnotation(node) != ""
	})
}

// file is one of a package.
type file struct{ inPackage, path string }

func fileOf(node *yaml.RNode) file {
	name, _, _ := kioutil.GetFileAnnotations(node) // it has no error to return
	return file{node.GetAnnotations(packagePathAnnotation)[packagePathAnnotation], path.Clean(name)}
}

// defaultName is the file's name that kpt gives a resource without one.
func defaultName(node *yaml.RNode) string {
	return fmt.Sprintf("%s_%s.yaml", strings.ToLower(node.GetKind()), node.GetName())
}

// files counts the resources of each file.
type files map[file]int

func (x *index) files() files {
	used := files{}
	for _, item := range x.items {
		if item.node == nil || !ofKpt(item.node) {
			continue
		}
		in := fileOf(item.node)
		_, index, _ := kioutil.GetFileAnnotations(item.node)
		n, _ := strconv.Atoi(index)
		used[in] = max(used[in], n+1)
	}
	return used
}

// inPackage does what only kpt needs, whose resources are in files.
func (p *placement) inPackage(views []*view) framework.Results {
	used := p.files()
	for _, v := range views {
		view := p.inFile(v)
		if view == nil {
			continue
		}
		for _, object := range v.objects {
			noteDirectives(object)
			if len(p.byID[idOf(object)]) == 0 {
				used.placeBeside(view, object)
			}
		}
	}
	return p.dropOrphans(views)
}

// inFile returns the item that is a view in a file, or nil: a functionConfig names no
// file, though it may be an item too.
func (x *index) inFile(v *view) *yaml.RNode {
	for _, i := range x.byID[idOf(v.node)] {
		if ofKpt(x.items[i].node) {
			return x.items[i].node
		}
	}
	return nil
}

// placeBeside has kpt write an object into a file of its own in the view's folder; by
// itself it would use one in the package's, or one of the namespace's name.
func (f files) placeBeside(view, object *yaml.RNode) {
	in := fileOf(view)
	in.path = path.Join(path.Dir(in.path), defaultName(object))
	annotations := object.GetAnnotations()
	annotations[kioutil.PathAnnotation] = in.path
	annotations[kioutil.IndexAnnotation] = strconv.Itoa(f[in])
	if in.inPackage != "" {
		annotations[packagePathAnnotation] = in.inPackage
	}
	f[in]++
	_ = object.SetAnnotations(annotations) // it fails for what is no map
}

// dropOrphans drops what was generated from a view that is no longer in the package.
// Only where it is in a file that kpt named: what was moved there or came from
// elsewhere may be wanted without its view, so it is only reported.
func (p *placement) dropOrphans(views []*view) framework.Results {
	present := map[[2]string]bool{}
	for _, v := range views {
		present[[2]string{v.node.GetNamespace(), v.node.GetName()}] = true
	}
	for _, item := range p.items {
		if item.id.isView() {
			present[[2]string{item.id.namespace, item.id.name}] = true
		}
	}
	var found framework.Results
	dropped := map[string][]string{}
	for i, item := range p.items {
		if item.node == nil || !ofKpt(item.node) {
			continue
		}
		name := generatedFrom(item)
		if name == "" || present[[2]string{item.id.namespace, name}] {
			continue
		}
		if item.id.namespace != "" {
			name = item.id.namespace + "/" + name
		}
		if path.Base(fileOf(item.node).path) == defaultName(item.node) {
			p.dropped[i] = true
			dropped[name] = append(dropped[name], item.id.kind+" "+item.id.name)
		} else {
			found = append(found, warningOf(item.node, "",
				fmt.Sprintf("was generated from %s %s, which is not among the resources: remove it from its file, or bring the view back", v1.Kind, name)))
		}
	}
	for _, name := range sortedKeys(dropped) {
		found = append(found, &framework.Result{Severity: framework.Info, Message: fmt.Sprintf("removed what was generated from %s %s, which is no longer among the resources: %s",
			v1.Kind, name, strings.Join(dropped[name], ", "))})
	}
	return found
}

// generatedFrom returns the name of the view that an item was generated from, by its
// labels and its own name.
func generatedFrom(item item) string {
	viewName := item.node.GetLabels(generator.InstanceLabel)[generator.InstanceLabel]
	if viewName == "" || !belongs(item.node, viewName) {
		return ""
	}
	switch item.id {
	case id{"apps/v1", "Deployment", item.id.namespace, generator.ViewerName(viewName)},
		id{"v1", "Service", item.id.namespace, generator.ViewerName(viewName)}:
		return viewName
	}
	if item.id.isConfigMap() && generator.IsPagesName(item.id.name, viewName) {
		return viewName
	}
	return ""
}

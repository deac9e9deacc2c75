//go:build linux

package corpus

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// pod is what the function made of a view: the pod template and what it mounts.
type pod struct {
	spec       corev1.PodSpec
	configMaps map[string]corev1.ConfigMap
}

func newPod(t *testing.T, objects []*unstructured.Unstructured) pod {
	t.Helper()
	p := pod{configMaps: map[string]corev1.ConfigMap{}}
	for _, object := range objects {
		var configMap corev1.ConfigMap
		var deployment appsv1.Deployment
		var err error
		switch object.GetKind() {
		case "ConfigMap":
			err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &configMap, true)
			p.configMaps[configMap.Name] = configMap
		case "Deployment":
			err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &deployment, true)
			p.spec = deployment.Spec.Template.Spec
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// run runs the pod until it serves, and returns what is in the folder that it builds
// into, and its log.
func (p pod) run(ctx context.Context, t *testing.T, image string) (site map[string]string, log string) {
	t.Helper()
	volumes := map[string]string{}
	for _, volume := range p.spec.Volumes {
		volumes[volume.Name] = p.volume(t, volume)
	}
	for _, c := range p.spec.InitContainers {
		process := p.container(t, c, image, volumes).start(t)
		if err := process.wait(ctx); err != nil {
			t.Fatalf("init container %s: %v\n%s", c.Name, err, &process.output)
		}
	}
	c := p.spec.Containers[0]
	site, log, err := serve(ctx, t, p.container(t, c, image, volumes))
	if err != nil {
		t.Fatalf("the pod doesn't serve, with a limit of %d MiB: %v\n%s", c.Resources.Limits.Memory().Value()>>20, err, log)
	}
	return site, log
}

func (p pod) container(t *testing.T, c corev1.Container, image string, volumes map[string]string) container {
	t.Helper()
	made := container{
		Image: image, WorkingDir: c.WorkingDir,
		User: int(*p.spec.SecurityContext.RunAsUser), Group: memoryGroup(t, c.Resources.Limits.Memory().Value()),
	}
	if made.WorkingDir == "" {
		made.WorkingDir = imageFolder
	}
	for _, argument := range slices.Concat(c.Command, c.Args) {
		made.Command = append(made.Command, expanded(t, argument))
	}
	for _, variable := range c.Env {
		made.Env = append(made.Env, variable.Name+"="+expanded(t, variable.Value))
	}
	for _, m := range c.VolumeMounts {
		made.Mounts = append(made.Mounts, mount{filepath.Join(volumes[m.Name], m.SubPath), m.MountPath, m.ReadOnly})
	}
	return made
}

// expanded is what Kubernetes makes of an argument or a variable's value.
func expanded(t *testing.T, value string) string {
	t.Helper()
	value = strings.ReplaceAll(value, "$$", "\x00")
	if strings.Contains(value, "$(") {
		t.Errorf("%q names a variable", value)
	}
	return strings.ReplaceAll(value, "\x00", "$")
}

// volume lays a volume out as the kubelet does.
func (p pod) volume(t *testing.T, volume corev1.Volume) string {
	t.Helper()
	if volume.EmptyDir != nil {
		return newFolder(t, 0o777)
	}
	folder := newFolder(t, 0o755)
	switch {
	case volume.ConfigMap != nil:
		writePayload(t, folder, p.payload(t, volume.ConfigMap.Name, volume.ConfigMap.Items))
	case volume.Projected != nil:
		payload := map[string][]byte{}
		for _, source := range volume.Projected.Sources {
			maps.Copy(payload, p.payload(t, source.ConfigMap.Name, source.ConfigMap.Items))
		}
		writePayload(t, folder, payload)
	default:
		t.Fatalf("the volume %s is of a kind that isn't known here", volume.Name)
	}
	return folder
}

// payload are the files that a ConfigMap's items become. The kubelet mounts all or none.
func (p pod) payload(t *testing.T, name string, items []corev1.KeyToPath) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, item := range items {
		if strings.Contains("/"+item.Path+"/", "/../") || strings.HasPrefix(item.Path, "..") {
			t.Errorf("no kubelet mounts the path %q", item.Path)
		}
		configMap := p.configMaps[name]
		content, ok := configMap.BinaryData[item.Key]
		if text, isText := configMap.Data[item.Key]; isText {
			content, ok = []byte(text), true
		}
		if !ok {
			t.Fatalf("ConfigMap %s has no key %s", name, item.Key)
		}
		files[item.Path] = content
	}
	return files
}

// writePayload writes files as the kubelet's AtomicWriter does: into a folder of their
// own, with a link ..data to it, and beside that a link to each file and folder.
func writePayload(t *testing.T, folder string, payload map[string][]byte) {
	t.Helper()
	const data, dated = "..data", "..2026_11_28_00_00_00.123456789"
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for file, content := range payload {
		writeFile(t, filepath.Join(folder, dated, filepath.FromSlash(file)), string(content))
		top, _, _ := strings.Cut(path.Clean(file), "/")
		if err := os.Symlink(filepath.Join(data, top), filepath.Join(folder, top)); !os.IsExist(err) {
			check(err)
		}
	}
	check(os.Symlink(dated, filepath.Join(folder, data)))
}

// serve runs mdBook until it serves, and returns the site that it built and its log.
func serve(ctx context.Context, t *testing.T, c container) (site map[string]string, log string, err error) {
	t.Helper()
	process := c.start(t)
	err = process.serves(ctx)
	process.kill()
	log = process.output.String()
	if err != nil {
		return nil, log, err
	}
	for _, variable := range c.Env {
		folder, found := strings.CutPrefix(variable, "MDBOOK_BUILD__BUILD_DIR=")
		for _, m := range c.Mounts {
			if below, inside := strings.CutPrefix(folder+"/", m.To+"/"); found && inside {
				return readFolder(t, filepath.Join(m.From, below)), log, nil
			}
		}
	}
	return nil, log, fmt.Errorf("it builds into no volume: %q", c.Env)
}

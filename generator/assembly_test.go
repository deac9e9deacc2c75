package generator

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// withLarge is a book with a file that no ConfigMap can hold.
func withLarge() map[string]string {
	return withPages(map[string]string{
		"a.md":          "# A\n",
		"img/large.png": "\x00" + strings.Repeat("x", 3*valueBytes),
		"$(HOME)/$$.js": strings.Repeat("x", valueBytes+1),
	})
}

func TestLargeFilesAreInParts(t *testing.T) {
	output := mustGenerate(t, newView("a", withLarge()))
	pod := as[appsv1.Deployment](t, output.Deployment).Spec.Template.Spec
	paths := map[string]string{} // in the volume → content
	for i, source := range pod.Volumes[0].Projected.Sources {
		configMap := as[corev1.ConfigMap](t, output.ConfigMaps[i])
		if configMap.Name != source.ConfigMap.Name {
			t.Fatalf("ConfigMaps %s and %s", configMap.Name, source.ConfigMap.Name)
		}
		size := 0
		for key, value := range configMap.BinaryData {
			configMap.Data[key] = string(value)
		}
		for key, value := range configMap.Data {
			size += len(value)
			if faults := validation.IsConfigMapKey(key); len(faults) > 0 {
				t.Errorf("key %s: %v", key, faults)
			}
		}
		if size > 1<<20 {
			t.Errorf("ConfigMap %s has %d bytes", configMap.Name, size)
		}
		for _, item := range source.ConfigMap.Items {
			content, ok := configMap.Data[item.Key]
			if !ok {
				t.Errorf("ConfigMap %s has no %s", configMap.Name, item.Key)
			}
			if !strings.HasPrefix(item.Path, revisionFile) {
				paths[item.Path] = content
			}
		}
	}
	want := []string{
		"book/src/SUMMARY.md", "book/src/a.md",
		"parts/0/000", "parts/0/001", "parts/1/000", "parts/1/001", "parts/1/002", "parts/1/003",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(paths))); diff != "" {
		t.Error(diff)
	}
	for file, parts := range map[string][]string{"$(HOME)/$$.js": want[2:4], "img/large.png": want[4:]} {
		var whole strings.Builder
		for _, part := range parts {
			whole.WriteString(paths[part])
		}
		if whole.String() != withLarge()[file] {
			t.Errorf("the parts of %s have %d bytes", file, whole.Len())
		}
	}
}

func TestThePodAssemblesLargeFiles(t *testing.T) {
	view := newView("a", withLarge())
	view.Spec.ViewerImage = "example.com/mdbook"
	pod := as[appsv1.Deployment](t, mustGenerate(t, view).Deployment).Spec.Template.Spec
	if len(pod.InitContainers) != 1 || len(pod.Containers) != 1 {
		t.Fatalf("%d init containers and %d containers", len(pod.InitContainers), len(pod.Containers))
	}
	assembler, viewer := pod.InitContainers[0], pod.Containers[0]
	if diff := cmp.Diff(viewer.SecurityContext, assembler.SecurityContext); diff != "" {
		t.Errorf("the security context: %s", diff)
	}
	if assembler.Image != view.Spec.ViewerImage || assembler.Name != "assemble" {
		t.Errorf("%s runs %s", assembler.Name, assembler.Image)
	}
	// Kubernetes replaces $(NAME) in arguments, and $$ is $ to it.
	want := []string{
		"assemble",
		"/pages/parts/0", "/book/src/$$(HOME)", "/book/src/$$(HOME)/$$$$.js",
		"/pages/parts/1", "/book/src/img", "/book/src/img/large.png",
	}
	if diff := cmp.Diff(want, assembler.Args); diff != "" {
		t.Errorf("the arguments: %s", diff)
	}
	if script := assembler.Command[2]; strings.Contains(script, "$(") || strings.Contains(script, "${") {
		t.Errorf("Kubernetes or Flux would replace a part of %s", script)
	}
	if limit := assembler.Resources.Limits.Memory(); limit.Cmp(*viewer.Resources.Limits.Memory()) > 0 {
		t.Errorf("the limit of memory is %s", limit)
	}
	mounts := []corev1.VolumeMount{{Name: "markdowns", MountPath: "/pages", ReadOnly: true}, {Name: "book", MountPath: "/book"}}
	if diff := cmp.Diff(mounts, assembler.VolumeMounts); diff != "" {
		t.Errorf("the mounts: %s", diff)
	}
	mounts = []corev1.VolumeMount{{Name: "book", MountPath: "/book", ReadOnly: true}, {Name: "build", MountPath: "/build"}}
	if diff := cmp.Diff(mounts, viewer.VolumeMounts); diff != "" {
		t.Errorf("the viewer's mounts: %s", diff)
	}
	if limit := pod.Volumes[2].EmptyDir.SizeLimit; pod.Volumes[2].Name != "book" || limit.Value() != 6<<20 {
		t.Errorf("the volume %s is limited to %s", pod.Volumes[2].Name, limit)
	}
}

func TestFlatPagesThatAreLarge(t *testing.T) {
	tests := map[string]struct {
		size      int
		mount     string
		assembled bool
	}{
		"what one ConfigMap holds": {valueBytes, "/book/src", false},
		"and a byte more":          {valueBytes + 1, "/book", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			output := mustGenerate(t, newView("a", withPages(map[string]string{"a.md": strings.Repeat("x", test.size)})))
			pod := as[appsv1.Deployment](t, output.Deployment).Spec.Template.Spec
			if got := pod.Containers[0].VolumeMounts[0].MountPath; got != test.mount || len(pod.InitContainers) > 0 != test.assembled {
				t.Errorf("mounted at %s, %d init containers", got, len(pod.InitContainers))
			}
		})
	}
}

func TestLargeFilesNeedToolsInTheImage(t *testing.T) {
	for image, want := range map[string][]string{
		"":                 nil,
		DefaultViewerImage: nil,
		"example.com/mdbook": {
			"spec.markdowns: $(HOME)/$$.js: no ConfigMap can hold it in one piece, so pods assemble it: " +
				"because of it (and of 1 more files) the image example.com/mdbook needs sh, cp, cat and mkdir",
		},
	} {
		view := newView("a", withLarge())
		view.Spec.ViewerImage = image
		if diff := cmp.Diff(want, mapped(mustGenerate(t, view).Warnings, Problem.String)); diff != "" {
			t.Errorf("with the image %q: %s", image, diff)
		}
	}
}

func TestAnEditOfALargeFileIsANewRevision(t *testing.T) {
	before := mustGenerate(t, newView("a", withLarge()))
	pages := withLarge()
	large := []byte(pages["img/large.png"])
	large[2*valueBytes] = 'y'
	pages["img/large.png"] = string(large)
	after := mustGenerate(t, newView("a", pages))
	if before.Revision == after.Revision {
		t.Error("the revision is the same")
	}
	changed := 0
	for i, configMap := range before.ConfigMaps {
		if cmp.Diff(configMap, after.ConfigMaps[i]) != "" {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("%d ConfigMaps changed", changed)
	}
}

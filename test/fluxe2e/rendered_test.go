package fluxe2e

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// TestRenderedManifestsMoveToTheController commits what the function rendered, and
// later the view in its place: nothing is made anew, no pod is restarted.
func TestRenderedManifestsMoveToTheController(t *testing.T) {
	f := newFixture(t)
	repository := f.repository(example("rendered"))
	f.rendersTheSame(repository.Folder)
	f.apply("rendered", repository)
	f.applied("handbook", "")
	pods := f.podNames("handbook")

	t.Log("kubectl edit is undone by Flux")
	f.patch(&appsv1.Deployment{}, "viewer-handbook", `{"spec":{"replicas":3}}`)
	f.request(newKustomization(), "handbook")
	f.eventually("the edit to be gone", func() string {
		if replicas := *f.deployment("handbook").Spec.Replicas; replicas != 1 {
			return "it isn't"
		}
		return ""
	})
	f.eventually("the other pods to be gone", func() string { return cmp.Diff(pods, f.podNames("handbook")) })
	before := f.deployment("handbook")

	t.Log("step 1: Flux is told to delete nothing")
	f.patch(newKustomization(), "handbook", `{"spec":{"prune":false}}`)
	t.Log("step 2: the view takes the manifests' place")
	f.must(repository.Write(map[string]string{"manifests/handbook.yaml": ""}))
	f.must(copyOver(repository.Folder, example("moving")))
	revision := f.push(repository, "handbook", nil)
	f.applied("handbook", revision)
	f.readyAt("handbook", revision)
	t.Log("step 3: Flux prunes again")
	f.patch(newKustomization(), "handbook", `{"spec":{"prune":true}}`)
	handled := f.request(newKustomization(), "handbook")
	f.eventually("Flux to have seen that", func() string { return differs(f.kustomization("handbook").handled, handled) })
	f.applied("handbook", revision)

	after := f.deployment("handbook")
	if after.UID != before.UID || after.Generation != before.Generation {
		t.Errorf("the Deployment was of generation %d, is of %d", before.Generation, after.Generation)
	}
	if diff := cmp.Diff(pods, f.podNames("handbook")); diff != "" {
		t.Errorf("pods were restarted:\n%s", diff)
	}
	if owner := metav1.GetControllerOf(after); owner == nil || owner.Kind != v1.Kind {
		t.Errorf("the view doesn't own the Deployment: %v", after.OwnerReferences)
	}
	f.leftBehind(after)

	t.Log("what is moved follows the pages, and goes with the view")
	revision = f.push(repository, "handbook", map[string]string{
		"docs/pages/SUMMARY.md": "[Welcome](welcome.md)\n", "docs/pages/welcome.md": "# Moved\n", "docs/pages/on-call/rules.md": "",
	})
	f.readyAt("handbook", revision)
	f.push(repository, "handbook", map[string]string{"manifests/markdownview.yaml": "", "manifests/kustomization.yaml": "configMapGenerator: [{name: empty}]\n"})
	f.eventually("everything to be gone", func() string { return f.leftOf("handbook") })
}

// rendersTheSame holds the example's manifests against the function's output.
func (f *fixture) rendersTheSame(folder string) {
	f.Helper()
	cmd := exec.CommandContext(f.Context(), f.Program("fn"), "docs/markdownview.yaml")
	cmd.Dir = folder
	rendered, err := cmd.Output()
	f.must(err)
	committed := f.mustRead(filepath.Join(folder, "manifests", "handbook.yaml"))
	if diff := cmp.Diff(string(rendered), committed); diff != "" {
		f.Errorf("the example isn't what the function renders:\n%s", diff)
	}
}

func (f *fixture) podNames(view string) []string {
	f.Helper()
	var names []string
	for _, pod := range f.pods(view) {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// leftBehind checks what docs/flux.md says that Flux leaves on the objects.
func (f *fixture) leftBehind(deployment *appsv1.Deployment) {
	f.Helper()
	const name, namespace = "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"
	if deployment.Labels[name] != "handbook" || deployment.Labels[namespace] != f.namespace {
		f.Errorf("Flux's labels are %v", deployment.Labels)
	}
	if !slices.ContainsFunc(deployment.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == "kustomize-controller" }) {
		f.Error("Flux manages no field any more")
	}
}

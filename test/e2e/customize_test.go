package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/viewer"
	"github.com/zoetrope/markdown-view/test/viewer/viewerimage"
)

// frontEnds apply a view and its pages, each as its documentation says.
var frontEnds = map[string]func(f *fixture, manifest string){
	"controller": func(f *fixture, manifest string) {
		f.Helper()
		f.kubectlWith(manifest, "apply", "-f", "-")
	},
	"function": func(f *fixture, manifest string) {
		f.Helper()
		objects, err := function(f.Context(), "", manifest)
		f.Must(err)
		f.kubectlWith(objects, "apply", "--server-side", "-f", "-")
	},
}

// TestRecipesWorkOnARealNode applies views of docs/customize.md as they stand there, but for
// the registry's name.
func TestRecipesWorkOnARealNode(t *testing.T) {
	t.Parallel()
	for frontEnd, apply := range frontEnds {
		t.Run("a private image, by the "+frontEnd, func(t *testing.T) { pullsPrivately(t, frontEnd, apply) })
		t.Run("an autoscaled Deployment, by the "+frontEnd, func(t *testing.T) {
			view, _ := recipe(t, autoscaled)
			isAutoscaled(t, frontEnd, apply, view, autoscaler(t))
		})
	}
	t.Run("an autoscaled Deployment whose replicas the view ignores, by the controller", func(t *testing.T) {
		isAutoscaled(t, "controller", frontEnds["controller"], ignoringReplicas(t), autoscaler(t))
	})
	t.Run("an autoscaled Deployment whose replicas the view ignores, by the function", isNotScaledBack)
}

const autoscaled = "Replicas that an autoscaler sets"

func autoscaler(t *testing.T) string {
	t.Helper()
	_, beside := recipe(t, autoscaled)
	return beside
}

// ignoringReplicas returns a view with a rule in the place of the patch.
func ignoringReplicas(t *testing.T) string {
	t.Helper()
	view, _ := recipe(t, autoscaled)
	return withoutPatches(view) + "  driftDetection:\n    ignore:\n    - target:\n        kind: Deployment\n      paths:\n      - /spec/replicas"
}

func withoutPatches(view string) string {
	before, _, _ := strings.Cut(view, "  patches:\n")
	return before
}

// recipe returns the view below a heading of docs/customize.md, and what stands beside it.
func recipe(t *testing.T, heading string) (view, beside string) {
	t.Helper()
	view, beside, _ = strings.Cut(recipes(t, "customize.md", heading)[0], "\n---\n")
	return view, beside
}

// recipes returns the manifests below a heading of a page of the documentation.
func recipes(t *testing.T, page, heading string) []string {
	t.Helper()
	return documented(t, page, heading, "```yaml")
}

// documented returns the blocks below a heading of a page of the documentation that begin
// with a line.
func documented(t *testing.T, page, heading, fence string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	indent := strings.TrimRight(fence, "`abcdefghijklmnopqrstuvwxyz")
	var blocks []string
	for _, part := range strings.Split(section, "\n"+fence+"\n")[1:] {
		block, _, _ := strings.Cut(part, "\n"+indent+"```\n")
		blocks = append(blocks, block)
	}
	if len(blocks) == 0 {
		t.Fatalf("docs/%s has no %q below %q", page, fence, heading)
	}
	return blocks
}

// withPages adds the ConfigMap that the recipes take their pages from.
func withPages(view, text string) string {
	return view + "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: handbook-pages\n" +
		"data:\n  SUMMARY.md: '- [Start](start.md)'\n  start.md: '# " + text + "'\n"
}

// handbookShows waits until the handbook is rolled out with a page.
func (f *fixture) handbookShows(frontEnd, text string) {
	f.Helper()
	f.kubectl("rollout", "status", "deployment/viewer-handbook", "--timeout=3m")
	if frontEnd == "controller" {
		f.Ready("handbook")
	}
	viewer.NewSite(f, shared, f.namespace, "handbook").Shows("/", text)
}

func isAutoscaled(t *testing.T, frontEnd string, apply func(*fixture, string), view, autoscaler string) {
	f := newFixture(t)
	apply(f, withPages(view, "The old page"))
	f.kubectlWith(autoscaler, "apply", "-f", "-")
	f.handbookHas(2)
	f.handbookShows(frontEnd, "The old page")

	apply(f, withPages(view, "The new page"))
	f.handbookShows(frontEnd, "The new page")
	// The autoscaler looks four times a minute: had anybody set them, they would still be so.
	deployment := &appsv1.Deployment{}
	if f.get(deployment, "viewer-handbook"); *deployment.Spec.Replicas != 2 {
		t.Errorf("new pages have set the replicas to %d", *deployment.Spec.Replicas)
	}
	for _, entry := range deployment.ManagedFields {
		if entry.Subresource == "" && strings.Contains(entry.FieldsV1.GetRawString(), `"f:replicas"`) {
			t.Errorf("%s has the replicas", entry.Manager)
		}
	}
}

// isNotScaledBack applies what the function prints of a view with a rule: the replicas, too,
// which kubectl refuses to take back from the autoscaler.
func isNotScaledBack(t *testing.T) {
	f := newFixture(t)
	apply, view := frontEnds["function"], ignoringReplicas(t)
	apply(f, withPages(view, "The old page"))
	f.kubectlWith(autoscaler(t), "apply", "-f", "-")
	f.handbookHas(2)
	objects, err := function(f.Context(), "", withPages(view, "The new page"))
	f.Must(err)
	out, err := f.Kubectl(objects, "apply", "--server-side", "-f", "-")
	if err == nil || !strings.Contains(out, `conflict with "kube-controller-manager"`) || !strings.Contains(out, ".spec.replicas") {
		t.Errorf("kubectl says, with error %v:\n%s", err, out)
	}

	patched, _ := recipe(t, autoscaled)
	apply(f, withPages(patched, "The new page"))
	f.handbookShows("function", "The new page")
	f.handbookHas(2)
}

func (f *fixture) handbookHas(count int) {
	f.Helper()
	f.eventually(fmt.Sprintf("%d pods", count), func() string {
		if pods := f.Pods("handbook"); len(pods) != count {
			return fmt.Sprintf("there are %d", len(pods))
		}
		return ""
	})
}

// pullsPrivately makes the Secret after the view, so that nothing but the login is missing first.
func pullsPrivately(t *testing.T, frontEnd string, apply func(*fixture, string)) {
	clustertest.Need(t, shared, cluster.Node)
	f := newFixture(t)
	registry := f.servePrivately(frontEnd + ".example.com")
	f.pushOwnMdBook(frontEnd)
	view, _ := recipe(t, "A private image")
	image := registry.name + "/" + frontEnd + "/mdbook:v0.5.4"
	documented := "registry.example.com/mdbook:v0.5.4"
	if strings.Count(view, documented) != 1 {
		t.Fatalf("the recipe doesn't name %s:\n%s", documented, view)
	}
	apply(f, withPages(strings.Replace(view, documented, image, 1), "A private viewer"))
	f.handbookWaits(func(pod *corev1.Pod) string {
		for _, status := range pod.Status.ContainerStatuses {
			if status.State.Waiting != nil {
				return status.State.Waiting.Message
			}
		}
		return ""
	}, "401 Unauthorized")
	if registry.files.Load() > 0 {
		t.Error("the registry gives files to whoever has no login")
	}

	f.kubectl("create", "secret", "docker-registry", "registry",
		"--docker-server", registry.name, "--docker-username", registryUser, "--docker-password", registryPassword)
	f.handbookShows(frontEnd, "A private viewer")
	for _, pod := range f.Pods("handbook") {
		if got := pod.Spec.Containers[0].Image; got != image {
			t.Errorf("the pod runs %s", got)
		}
	}
	if registry.files.Load() == 0 {
		t.Error("the image didn't come from the registry")
	}
}

// pushOwnMdBook pushes an image with a file that no other image has, which the node therefore
// doesn't have yet.
func (f *fixture) pushOwnMdBook(repository string) {
	f.Helper()
	program, err := os.ReadFile(tool("mdbook"))
	f.Must(err)
	own := filepath.Join(f.TempDir(), "mdbook")
	writeFile(f.T, own, string(program)+repository, 0o755)
	f.Must(viewerimage.Push(f.Context(), shared, own, repository+"/mdbook:v0.5.4"))
}

// handbookWaits waits until a pod of the handbook says why it doesn't run.
func (f *fixture) handbookWaits(reason func(*corev1.Pod) string, words string) {
	f.Helper()
	f.eventually("a pod that waits because of "+words, func() string {
		var said []string
		for _, pod := range f.Pods("handbook") {
			said = append(said, reason(&pod))
			if strings.Contains(said[len(said)-1], words) {
				f.Logf("the pod says: %s", said[len(said)-1])
				return ""
			}
		}
		return fmt.Sprintf("the pods say %q", said)
	})
}

// TestRecipesWorkOnATaintedNode has the only node take nothing but what is pinned to it.
func TestRecipesWorkOnATaintedNode(t *testing.T) {
	clustertest.Need(t, shared, cluster.Node)
	unpinned := newExclusiveFixture(t)
	node := func(args ...string) {
		t.Helper()
		if _, err := kubectl(context.WithoutCancel(t.Context()), args...); err != nil {
			t.Fatal(err)
		}
	}
	node("taint", "nodes", cluster.RealNode, "example.com/pool=docs:NoSchedule")
	t.Cleanup(func() { node("taint", "nodes", cluster.RealNode, "example.com/pool-") })
	t.Cleanup(func() { node("label", "nodes", cluster.RealNode, "example.com/pool-") })

	view, _ := recipe(t, "Certain nodes")
	frontEnds["controller"](unpinned, withPages(withoutPatches(view), "Nowhere"))
	unpinned.handbookWaits(unschedulable, "untolerated taint")

	pinned := map[string]*fixture{}
	for frontEnd, apply := range frontEnds {
		pinned[frontEnd] = newExclusiveFixture(t)
		apply(pinned[frontEnd], withPages(view, "Pinned"))
	}
	for _, f := range pinned {
		f.handbookWaits(unschedulable, "didn't match Pod's node affinity/selector")
	}
	node("label", "nodes", cluster.RealNode, "example.com/pool=docs")
	for frontEnd, f := range pinned {
		t.Run("by the "+frontEnd, func(t *testing.T) { f.in(t).handbookShows(frontEnd, "Pinned") })
	}
	unpinned.handbookWaits(unschedulable, "untolerated taint")
}

func unschedulable(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Message
		}
	}
	return ""
}

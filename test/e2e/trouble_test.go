package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/viewer"
)

// lastWords is what mdBook 0.5.4 says of a preprocessor that isn't installed.
const lastWords = "mdbook-that-is-not-there"

// The image isn't in the registry that exists, and neither is the one it names.
const noImage = "registry.invalid/nobody/mdbook:none"

func TestTheViewSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for what, trouble := range map[string]struct {
		change, fix func(*v1.MarkdownView)
		words       []string
	}{
		"an image that can't be pulled": {
			change: func(view *v1.MarkdownView) { view.Spec.ViewerImage = noImage },
			fix:    func(view *v1.MarkdownView) { view.Spec.ViewerImage = "" },
			words:  []string{"Image", noImage},
		},
		"a crash loop": {
			change: broken,
			fix:    func(view *v1.MarkdownView) { view.Spec.BookToml = "" },
			words:  []string{"exit code", lastWords},
		},
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t)
			view := f.view("docs", map[string]string{"start.md": "# Healed\n"})
			quick(view)
			trouble.change(view)
			f.create(view)
			f.failed(trouble.words...)
			f.change(trouble.fix)
			f.ready()
			f.site().Shows("/", "Healed")
		})
	}
}

func TestTheViewSaysThatTheReadinessProbeFails(t *testing.T) {
	clustertest.Need(t, shared, cluster.Node)
	f := newFixture(t)
	const sleeper = "test/sleeper:1"
	if err := pushSleeper(t.Context(), sleeper); err != nil {
		t.Fatal(err)
	}
	f.serve("Healed", quick)
	f.change(func(view *v1.MarkdownView) { view.Spec.ViewerImage = sleeper })
	f.failed("readiness probe fails")
	f.site().Shows("/", "Healed") // by the pod that was there
	f.change(func(view *v1.MarkdownView) { view.Spec.ViewerImage = "" })
	f.ready()
}

func TestTheViewSaysThatThereIsNoRoom(t *testing.T) {
	clustertest.Need(t, shared, cluster.Node)
	f := newExclusiveFixture(t)
	filler := f.fillNode()
	view := f.view("docs", map[string]string{"start.md": "# Healed\n"})
	quick(view)
	f.create(view)
	f.failed("Unschedulable", "Insufficient cpu")
	if err := admin.Delete(t.Context(), filler); err != nil {
		t.Fatal(err)
	}
	f.ready() // without help
}

// fillNode makes a pod that asks for all CPU time that is left.
func (f *fixture) fillNode() *corev1.Pod {
	f.Helper()
	var nodes corev1.NodeList
	var pods corev1.PodList
	if err := admin.List(f.Context(), &nodes); err != nil {
		f.Fatal(err)
	}
	// No other test runs now: pods elsewhere are being deleted.
	if err := admin.List(f.Context(), &pods, client.InNamespace("markdown-view-system")); err != nil {
		f.Fatal(err)
	}
	left := nodes.Items[0].Status.Allocatable.Cpu().MilliValue()
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil {
			continue // the filler waits until it is gone
		}
		for j := range pods.Items[i].Spec.Containers {
			left -= pods.Items[i].Spec.Containers[j].Resources.Requests.Cpu().MilliValue()
		}
	}
	filler := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "filler"},
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64), Containers: []corev1.Container{{
			Name: "filler", Image: generator.DefaultViewerImage, Command: []string{"sleep", "1000"},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(left, resource.DecimalSI)}},
		}}},
	}
	f.create(filler)
	f.eventually("the filler to be scheduled", func() string {
		if f.get(filler, "filler") && filler.Spec.NodeName != "" {
			return ""
		}
		return "it isn't"
	})
	return filler
}

// The five minutes are longer than the kubelet takes to look at mounts again.
func TestABrokenChangeLeavesTheOldPagesServed(t *testing.T) {
	f := newFixture(t)
	f.serve("The old page", quick)
	site := f.site()
	site.Shows("/", "The old page")
	old := f.pod()

	reader := site.Reader("/")
	f.change(func(view *v1.MarkdownView) { page("The new page")(view); broken(view) })
	f.failed("1 new pod is not available", "exit code", lastWords)
	const fiveMinutes, perSecond = 5 * 60, 10
	clustertest.Eventually(f, 4*patience, clustertest.Often, "five minutes of reading", func() string { return atLeast(reader, fiveMinutes*perSecond) })
	answers := reader.End()
	for _, a := range viewer.Failures(answers) {
		t.Errorf("at %s: %s", a.At, a.Failed)
	}
	for _, a := range answers {
		if !strings.Contains(a.Body, "The old page") {
			t.Fatalf("at %s: not the old page:\n%s", a.At, a.Body)
		}
	}
	t.Logf("%d answers, %d failed, all others the old page", len(answers), len(viewer.Failures(answers)))

	t.Run("also after the old pod's container was killed", func(t *testing.T) {
		clustertest.Need(t, shared, cluster.Node)
		f := f.in(t)
		f.killContainer(old)
		f.site().Shows("/", "The old page")
	})

	f.change(func(view *v1.MarkdownView) { view.Spec.BookToml = "" })
	f.ready()
	site.Shows("/", "The new page")
}

// killContainer kills a pod's mdBook, and waits until the kubelet has started it
// again.
func (f *fixture) killContainer(pod *corev1.Pod) {
	f.Helper()
	if err := shared.KillContainers(string(pod.UID), "mdbook"); err != nil {
		f.Fatal(err)
	}
	f.eventually("the container to be started again", func() string {
		now := &corev1.Pod{}
		if !f.get(now, pod.Name) {
			return "the pod is gone"
		}
		if status := now.Status.ContainerStatuses[0]; status.RestartCount == pod.Status.ContainerStatuses[0].RestartCount || !status.Ready {
			return "it isn't"
		}
		return ""
	})
}

func TestNoPodStartsWithOtherPagesThanItsOwn(t *testing.T) {
	f := newFixture(t)
	before := f.expand(f.view("docs", map[string]string{"start.md": "# The old page\n"}))
	f.kubectlWith(before, "apply", "--server-side", "-f", "-")
	f.kubectl("rollout", "status", "deployment/viewer-docs", "--timeout=2m")
	site := f.site()
	site.Shows("/", "The old page")

	after := f.expand(f.view("docs", map[string]string{"start.md": "# The new page\n"}))
	configMap, others, _ := strings.Cut(after, "\n---\n") // the ConfigMap comes first
	f.kubectlWith(others, "apply", "--server-side", "-f", "-")
	f.eventually("a pod that waits for its pages", func() string {
		if !strings.Contains(f.kubectl("get", "events"), "references non-existent config key") {
			return "no event says so"
		}
		return ""
	})
	for _, pod := range f.pods() {
		text := f.kubectl("get", "pod", pod.Name, "-o", "jsonpath={.status.phase}")
		if strings.Contains(after, pod.Annotations[v1.RevisionAnnotation]) && text != "Pending" {
			t.Errorf("the pod with the new pages' digest is %s before they are there", text)
		}
	}
	site.Shows("/", "The old page")

	f.kubectlWith(configMap, "apply", "--server-side", "-f", "-")
	f.kubectl("rollout", "status", "deployment/viewer-docs", "--timeout=3m")
	site.Shows("/", "The new page")
}

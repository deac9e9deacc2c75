package e2e

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/viewer"
)

func TestAKilledContainerComesBack(t *testing.T) {
	clustertest.Need(t, shared, cluster.Node)
	f := newFixture(t)
	f.serve("Still here")
	f.killContainer(f.pod())
	f.ready()
	f.site().Shows("/", "Still here")
}

func TestViewsRecoverWhenTheNodeWasRestarted(t *testing.T) {
	clustertest.Need(t, shared, cluster.Node)
	f := newExclusiveFixture(t)
	f.serve("Still here")
	pod := f.pod()
	if err := shared.StopNode(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := shared.StartNode(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.eventually("the pod to run again", func() string {
		now := &corev1.Pod{}
		if !f.get(now, pod.Name) {
			return "it is gone"
		}
		if status := now.Status.ContainerStatuses[0]; status.RestartCount == 0 || !status.Ready {
			return "it doesn't"
		}
		return ""
	})
	f.ready()
	f.site().Shows("/", "Still here")
	waitForController(f)

	// And what changes from now on is applied and served.
	f.change(page("Changed afterwards"))
	f.ready()
	f.site().Shows("/", "Changed afterwards")
}

func waitForController(f *fixture) {
	f.Helper()
	if _, err := kubectl(f.Context(), "rollout", "status", "deployment/markdown-view-controller", "-n", "markdown-view-system", "--timeout=3m"); err != nil {
		f.Fatal(err)
	}
}

// TestAnUpgradedControllerRollsTheViewers replaces the controller by one whose
// default viewer is another, and then goes back.
func TestAnUpgradedControllerRollsTheViewers(t *testing.T) {
	if images.next == "" {
		t.Skip("E2E_NEXT_IMAGE and E2E_NEXT_VIEWER_IMAGE name no image with another default viewer")
	}
	f := newExclusiveFixture(t)
	f.serve("Served all the time")
	site := f.site()
	site.Shows("/", "Served all the time")
	reader := site.Reader("/")

	f.upgrade(images.next)
	f.usesViewer(images.nextViewer)
	f.ready()
	f.upgrade(images.product)
	f.usesViewer(generator.DefaultViewerImage)
	f.ready()

	answers := reader.End()
	for _, a := range viewer.Failures(answers) {
		t.Errorf("at %s: %s", a.At, a.Failed)
	}
	if slices.ContainsFunc(answers, func(a viewer.Answer) bool { return !strings.Contains(a.Body, "Served all the time") }) {
		t.Error("something else than the page was served")
	}
	t.Logf("%d answers, %d failed", len(answers), len(viewer.Failures(answers)))
}

func (f *fixture) upgrade(image string) {
	f.Helper()
	if err := install(f.Context(), f.TempDir(), image); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) usesViewer(image string) {
	f.Helper()
	f.eventually("the Deployment to use "+image, func() string {
		deployment := &appsv1.Deployment{}
		if !f.get(deployment, "viewer-docs") {
			return "there is none"
		}
		if got := deployment.Spec.Template.Spec.Containers[0].Image; got != image {
			return "it uses " + got
		}
		return ""
	})
	f.kubectl("rollout", "status", "deployment/viewer-docs", "--timeout=3m")
}

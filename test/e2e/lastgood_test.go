package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/viewer"
)

// TestLostPodsOfTheLastGoodPagesAreReplaced makes an edit that mdBook fails on, and then
// takes pods away and asks for more: they can't start with the pages of the edit.
func TestLostPodsOfTheLastGoodPagesAreReplaced(t *testing.T) {
	t.Parallel()
	t.Run("which mdBook serves", func(t *testing.T) { lostPodsAreReplaced(newFixture(t), quick) })
	t.Run("which a static server serves", func(t *testing.T) {
		f := newFixture(t)
		f.needsGateway() // of which it is the image
		lostPodsAreReplaced(f, quick, static)
	})
}

// static has a view served by a static server.
func static(view *v1.MarkdownView) { view.Spec.StaticServer = &v1.StaticServer{} }

func lostPodsAreReplaced(f *fixture, changes ...func(*v1.MarkdownView)) {
	f.Helper()
	f.serve("The old page", changes...)
	site := f.site()
	site.Shows("/", "The old page")
	only := f.pod()
	revision := only.Annotations[v1.RevisionAnnotation]
	f.change(func(view *v1.MarkdownView) { page("The new page")(view); broken(view) })
	f.failed("exit code", lastWords)

	f.delete(only)
	f.serving(revision, 1)
	site.Shows("/", "The old page")
	f.failed("exit code", lastWords)

	reader := site.Reader("/")
	f.change(func(view *v1.MarkdownView) { view.Spec.Replicas = new(int32(3)) })
	f.serving(revision, 3)
	for _, pod := range f.pods() {
		if pod.Annotations[v1.RevisionAnnotation] == revision {
			f.delete(&pod)
			break
		}
	}
	f.serving(revision, 3)
	f.failed("exit code", lastWords)
	answers := reader.End()
	for _, a := range answers {
		if a.Failed != "" || !strings.Contains(a.Body, "The old page") {
			f.Errorf("at %s: %s%s", a.At, a.Failed, a.Body)
		}
	}
	f.Logf("%d answers, %d failed", len(answers), len(viewer.Failures(answers)))

	f.change(func(view *v1.MarkdownView) { view.Spec.BookToml = "" })
	f.ready()
	site.Shows("/", "The new page")
}

// delete deletes a pod, and waits until it serves no more.
func (f *fixture) delete(pod *corev1.Pod) {
	f.Helper()
	f.Must(client.IgnoreNotFound(admin.Delete(f.Context(), pod)))
	f.eventually("pod "+pod.Name+" to be gone", func() string {
		if f.get(&corev1.Pod{}, pod.Name) {
			return "it is there"
		}
		return ""
	})
}

// serving waits until as many pods of a revision are ready.
func (f *fixture) serving(revision string, want int) {
	f.Helper()
	f.eventually(fmt.Sprintf("%d ready pods of %s", want, revision), func() string {
		ready := 0
		for _, pod := range f.pods() {
			for _, status := range pod.Status.ContainerStatuses {
				if status.Ready && pod.Annotations[v1.RevisionAnnotation] == revision {
					ready++
				}
			}
		}
		if ready != want {
			return fmt.Sprintf("there are %d", ready)
		}
		return ""
	})
}

// TestNoEditedPageIsServedOnceReady has a page edited by hand while the view is
// suspended, until readers get it.
func TestNoEditedPageIsServedOnceReady(t *testing.T) {
	f := newFixture(t)
	f.serve("The right page")
	site := f.site()
	site.Shows("/", "The right page")
	f.change(func(view *v1.MarkdownView) { view.Spec.Suspend = true })
	f.CaughtUp()
	f.kubectl("patch", "configmap", "markdowns-docs", "--type=merge", "-p", `{"data":{"start.md":"# Edited by hand\n"}}`)
	// The kubelet looks at a pod that changes, and at all others about once a minute.
	f.kubectl("annotate", "pod", f.pod().Name, "looked-at=now")
	site.Shows("/", "Edited by hand")

	f.change(func(view *v1.MarkdownView) { view.Spec.Suspend = false })
	f.ready()
	reader := site.Reader("/")
	f.eventually("two seconds of reading", func() string { return atLeast(reader, 20) })
	for _, a := range reader.End() {
		if a.Failed != "" || !strings.Contains(a.Body, "The right page") {
			t.Fatalf("at %s: %s%s", a.At, a.Failed, a.Body)
		}
	}
}

package reconciler

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// copiesWritten counts the writes of copies since it was called last.
func (p *pods) copiesWritten() int {
	return len(slices.DeleteFunc(p.Requests(), func(r string) bool { return r != "apply ConfigMap "+copied }))
}

// editedAgain serves a view and edits a page of it.
func editedAgain(t *testing.T) *pods {
	t.Helper()
	p := &pods{fixture: newFixture(t)}
	p.served("docs")
	p.make(isRunning)
	p.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Next\n" })
	return p
}

// TestARelabelledCopyIsWrittenWhenItIsDue has a webhook take the label off a copy. However
// many events there are meanwhile, it is tried again with back-off.
func TestARelabelledCopyIsWrittenWhenItIsDue(t *testing.T) {
	p := editedAgain(t)
	limiter := &retryLimiter{states: &p.states, min: time.Second, max: time.Hour, now: p.clock.Now}
	due := func() time.Duration {
		return limiter.When(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "docs", Name: "docs"}})
	}
	p.Mutate = func(fields map[string]any) {
		metadata := fields["metadata"].(map[string]any)
		if metadata["name"] == copied {
			metadata["labels"].(map[string]any)["app.kubernetes.io/created-by"] = "mallory"
		}
	}
	for try := range 4 {
		for range 10 {
			if _, err := p.tryReconcile("docs"); err == nil {
				t.Fatal("the queue isn't told to try again")
			}
			due()
		}
		if written := p.copiesWritten(); written != 1 {
			t.Errorf("the copy is written %d times in try %d", written, try)
		}
		view := fakecluster.Get(p.Cluster, &v1.MarkdownView{}, "docs", "docs")
		p.ready(view, metav1.ConditionFalse, v1.ApplyFailedReason, `ConfigMap markdowns-docs.last was written with the label app.kubernetes.io/created-by=markdown-view-controller and came back with "mallory"`)
		p.pass(due())
	}
	p.Mutate = nil
	if p.reconcile("docs"); fakecluster.Get(p.Cluster, &corev1.ConfigMap{}, "docs", original).Data["start.md"] != "# Next\n" {
		t.Error("the edit isn't applied once the webhook is gone")
	}
}

// TestPagesWaitForACopyThatIsFoughtOver has somebody delete the copy as soon as it is there,
// while the pages themselves are refused.
func TestPagesWaitForACopyThatIsFoughtOver(t *testing.T) {
	p := editedAgain(t)
	refuse := func(_ string, object client.Object) error {
		if object.GetName() == original {
			return errAway
		}
		return nil
	}
	p.Refuse = refuse
	for range 60 {
		_, _ = p.tryReconcile("docs")
		_ = p.Admin.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: copied}})
		p.states.of(types.NamespacedName{Namespace: "docs", Name: "docs"}).written.Gone("ConfigMap", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: copied}}, true)
		p.pass(time.Second)
	}
	if written := p.copiesWritten(); written > 8 {
		t.Errorf("the copy is written %d times in a minute", written)
	}
	p.Refuse = nil
	view := p.reconcile("docs")
	if fakecluster.Get(p.Cluster, &corev1.ConfigMap{}, "docs", original).Data["start.md"] == "# Next\n" {
		t.Error("the pages are changed without a copy")
	}
	p.ready(view, metav1.ConditionFalse, v1.ContestedReason, "ConfigMap markdowns-docs.last is changed again and again by somebody else")
	p.pass(5 * time.Minute)
	if p.reconcile("docs"); !p.exists(copied) || fakecluster.Get(p.Cluster, &corev1.ConfigMap{}, "docs", original).Data["start.md"] != "# Next\n" {
		t.Error("it isn't won in the end")
	}
}

package fluxe2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// TestSourcesAreWatchedOnceFluxIsInstalled installs Flux where the controller and a
// view of a source are already.
func TestSourcesAreWatchedOnceFluxIsInstalled(t *testing.T) {
	f := newCluster(t)
	controller, err := f.RunController(t.Context(), "controller")
	f.must(err)
	before, err := controller.State(t.Context())
	f.must(err)

	f.sourceView("handbook", "handbook", "docs")
	f.status("handbook", metav1.ConditionFalse, v1.SourceNotFoundReason, "no GitRepository", "install Flux's source-controller")
	f.create(&v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: "plain"},
		Spec:       v1.MarkdownViewSpec{Markdowns: map[string]string{"SUMMARY.md": "- [Start](start.md)\n", "start.md": "# Start\n"}},
	})
	f.ready("plain")

	f.must(f.flux.Start(t.Context()))
	f.status("handbook", metav1.ConditionFalse, v1.SourceNotFoundReason, "GitRepository "+f.namespace+"/handbook doesn't exist: create it")
	f.gitRepository("handbook", f.repository(example("docs-repository")))
	f.ready("handbook")
	if after, err := controller.State(t.Context()); err != nil || !after.Running || after.PID != before.PID {
		t.Errorf("the controller was restarted: %+v, %v", after, err)
	}
}

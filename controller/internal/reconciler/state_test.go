package reconciler

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// TestAWrittenStatusIsForgottenWhenTheCacheShowsIt: it would stay for as long as nothing
// happens to the view.
func TestAWrittenStatusIsForgottenWhenTheCacheShowsIt(t *testing.T) {
	f := newFixture(t)
	f.view("docs")
	before := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
	now := f.reconcile("docs")
	state := f.states.of(types.NamespacedName{Namespace: "docs", Name: "docs"})
	f.viewSeen(event.UpdateEvent{ObjectOld: before, ObjectNew: before})
	if state.view.Load() == nil {
		t.Error("it is forgotten before the cache shows it")
	}
	if f.viewSeen(event.UpdateEvent{ObjectOld: before, ObjectNew: now}) {
		t.Error("its own status wakes the view")
	}
	if state.view.Load() != nil {
		t.Error("it is remembered")
	}
}

// TestOfAViewAtRestLittleIsRemembered: what is noted on the way to it takes memory.
func TestOfAViewAtRestLittleIsRemembered(t *testing.T) {
	f := newFixture(t)
	f.view("docs")
	f.reconcile("docs")
	state := f.states.of(types.NamespacedName{Namespace: "docs", Name: "docs"})
	if state.unrest == nil {
		t.Error("nothing is noted of a rollout")
	}
	f.rollOut("docs")
	f.reconcile("docs")
	if state.unrest != nil {
		t.Errorf("%+v is noted of a view that is served", *state.unrest)
	}
}

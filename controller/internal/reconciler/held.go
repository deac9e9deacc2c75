package reconciler

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// heldStatus is that of a view that has just been applied, and is rolled out: it isn't
// written for a moment, because a rollout that ends within it needs but one write. Until then
// the status is about an older generation, and kstatus, kubectl wait and Flux take that for a
// change in progress, as they take this. Nil if none is held.
type heldStatus struct {
	view       types.UID
	generation int64
	since      time.Time
	// version is the view's that it was decided on.
	version string
	status  *v1.MarkdownViewStatus
}

// complete gives a view the status that it would have.
func (h *heldStatus) complete(view *v1.MarkdownView) {
	if h != nil && h.view == view.UID && h.version == view.ResourceVersion {
		h.status.DeepCopyInto(&view.Status)
	}
}

// hold returns for how long the status isn't to be written; 0 if it is.
func (r *Reconciler) hold(state *viewState, before, view *v1.MarkdownView, result *result) time.Duration {
	ready := conditions.Get(before, meta.ReadyCondition)
	if !result.rollsOut || before.Status.ObservedGeneration == view.Generation || ready != nil && ready.ObservedGeneration == view.Generation {
		state.held = nil
		return 0
	}
	if state.held == nil || state.held.view != view.UID || state.held.generation != view.Generation {
		state.held = &heldStatus{view: view.UID, generation: view.Generation, since: r.Clock.Now()}
	}
	left := r.QuickRollout - r.Clock.Since(state.held.since)
	if left <= 0 {
		state.held = nil
		return 0
	}
	state.held.version, state.held.status = before.ResourceVersion, view.Status.DeepCopy()
	return left
}

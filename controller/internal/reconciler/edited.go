package reconciler

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
)

// restartEdited has pods replaced that may have mounted pages which somebody had edited,
// once these are repaired. It waits for the end of a fight over them, which is no end of
// restarts otherwise, and for a rollout slot. It returns what a view comes to that has to
// wait for that, or that this fails for; nil if pods have the right pages or get them.
func (r *Reconciler) restartEdited(ctx context.Context, view *v1.MarkdownView, state *viewState, plan *apply.Plan, applied *apply.Report, good lastGood) *result {
	if plan.Settled() {
		return nil // edits are left as they are, and so are the pods
	}
	state.lastApplied.Trust()
	if good.returned || len(applied.Fights) > 0 {
		return nil
	}
	edits, err := r.Applier.Edits(ctx, view, plan.Deployment(), &state.written)
	if err == nil && len(edits) > 0 {
		if inUse, ok := r.limiter.acquire(client.ObjectKeyFromObject(view), state); !ok {
			waiting := waitingForSlot(inUse)
			waiting.message = "pods may serve pages that somebody had edited, and are to be replaced: " + waiting.message
			return &waiting
		}
		err = r.restart(ctx, view, state, plan, edits)
		applied.Written = append(applied.Written, "Deployment "+plan.Deployment().Name+" (restart)")
	}
	if err != nil {
		failed := failure(err)
		return &failed
	}
	return nil
}

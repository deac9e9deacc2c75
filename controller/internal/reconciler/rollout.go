package reconciler

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/jitter"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/health"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// checkRollout reports whether what was applied is served, or still may be in time.
// newRollout means that the status is about another one.
func (r *Reconciler) checkRollout(ctx context.Context, view *v1.MarkdownView, state *viewState, deployment *appsv1.Deployment, newRollout bool, good lastGood) result {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, apply.OfView(view)...); err != nil {
		return failure(err)
	}
	replicas := &deployment.Status.Replicas
	atRest := jitter.JitteredIntervalDuration(view.Spec.Interval.Duration)
	if good.returned {
		return r.checkReturned(view, state, deployment, atRest)
	}
	state.returned = rolloutStart{}
	unavailable := health.UnavailableReason(deployment, pods.Items)
	if unavailable == "" {
		state.rollout, state.served, state.short = rolloutStart{}, state.rendered.revision, shortage{}
		return result{
			state: outcome.Served, reason: v1.HealthyReason, message: health.ServedMessage(deployment, view.Status.LastAppliedRevision),
			requeueAfter: atRest, replicas: replicas,
		}
	}
	timeout := view.Spec.Timeout.Duration
	counts := health.CountsOf(deployment)
	r.limiter.progress(state, counts, r.Clock.Now())
	stuck := state.rollout.begin(view.Generation, state.rendered.revision, counts, r.Clock.Now())
	left := timeout - stuck
	explain := func(failures health.Failures) string {
		whole, err := apply.Unpacked(deployment) // the probe of its pods may be told of
		if err != nil {
			return err.Error()
		}
		return health.Explain(unavailable, whole, pods.Items, failures) + health.LastGoodServing(pods.Items)
	}
	if left <= 0 || health.DeadlineExceeded(deployment, timeout) || !newRollout && !state.rollout.progressed && failedBefore(view) {
		return result{
			state: outcome.Stalled, reason: v1.RolloutFailedReason, message: explain(health.All) + health.LeftBehind(deployment, pods.Items),
			requeueAfter: soonest(atRest, good.recheck), replicas: replicas,
		}
	}
	slot := slotReleased
	switch {
	case health.ReplacesPods(deployment):
		slot = slotHeld
	case deployment.Status.ObservedGeneration < deployment.Generation:
		slot = slotKept // whether it replaces pods isn't known yet
	}
	message := ""
	urgent := !state.rollout.explained && health.Cause(deployment, pods.Items, health.Lasting) != ""
	if urgent || !reportedRecently(view, r.Clock.Now()) { // else it isn't told, and to explain takes reading all of the Deployment
		message = explain(health.Lasting)
		state.rollout.explained = state.rollout.explained || urgent
	}
	return result{
		state: outcome.Progressing, reason: v1.ProgressingReason, message: message, rollsOut: true, urgent: urgent,
		requeueAfter: soonest(min(left, progressRefresh), good.recheck), replicas: replicas, slot: slot,
	}
}

// failedBefore reports whether the status already calls this rollout failed: a
// controller that was restarted doesn't remember when it began.
func failedBefore(view *v1.MarkdownView) bool {
	condition := conditions.Get(view, meta.StalledCondition)
	return condition != nil && condition.Reason == v1.RolloutFailedReason &&
		condition.ObservedGeneration == view.Generation
}

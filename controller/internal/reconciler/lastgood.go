package reconciler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/health"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// lastGood is what becomes of the pages that were served last.
type lastGood struct {
	// objects are what is to be applied.
	objects []apply.Desired
	// served is their revision; empty if none are known.
	served string
	// returned means that objects have their pod template, and returns that the
	// Deployment doesn't have it yet.
	returned, returns bool
	// recheck is when that may change; 0 if it doesn't depend on the time.
	recheck time.Duration
}

// lastGood returns what is to be applied of what is wanted: all of it; or, while the pods
// of that fail and earlier ones are missing, with the pod template of the pages that were
// served last. held means that what is wanted can't be applied now.
func (r *Reconciler) lastGood(ctx context.Context, view *v1.MarkdownView, state *viewState, wanted []apply.Desired, held bool) (lastGood, error) {
	deployment, err := r.Applier.LiveDeployment(ctx, wanted, &state.written)
	if err != nil || deployment == nil {
		return lastGood{objects: wanted}, err
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, apply.OfView(view)...); err != nil {
		return lastGood{}, err
	}
	copied, err := r.Applier.LastServed(ctx, view)
	if err != nil {
		return lastGood{}, err
	}
	served := cmp.Or(health.ServedRevision(deployment, pods.Items), state.served, copied)
	standing := health.StandingOf(deployment, pods.Items, served)
	standing.Held = held
	standing.Changed = !held && (state.rollout.at.IsZero() || state.rollout.generation != view.Generation ||
		apply.RevisionOf(wanted) != deployment.Spec.Template.Annotations[v1.RevisionAnnotation])
	if from := apply.ReturnedFrom(deployment); from != "" {
		name, err := apply.TemplateName(wanted)
		if err != nil {
			return lastGood{}, err
		}
		standing.Returned, standing.Changed = true, name != from
	}
	stranded := false
	if standing.Lacking && !standing.Returned && copied != "" {
		if stranded, err = r.Applier.Stranded(ctx, view, deployment, &state.written); err != nil {
			return lastGood{}, err
		}
	}
	if stranded { // to try what is wanted, as often as it may be, starts no pod
		standing.Short, standing.Failing, standing.Changed = true, true, false
	}
	now := r.Clock.Now()
	standing.ShortFor = state.short.begin(standing.Short && copied != "", now)
	standing.Short = !state.short.since.IsZero()
	standing.Failing = standing.Failing || failedBefore(view)
	standing.StuckFor, standing.ReturnedFor = state.rollout.stuckFor(now), state.returned.stuckFor(now)

	template, recheck := health.Decide(&standing, view.Spec.Timeout.Duration)
	if template == health.LastGood {
		return r.useLastGood(ctx, view, state, wanted, deployment, served, stranded)
	}
	return lastGood{objects: wanted, served: served, recheck: recheck}, nil
}

// useLastGood returns what is wanted with the pod template of the last good pages: that
// which the Deployment has already, or that of the ReplicaSet that has served them. If it is
// stranded, what is wanted is refused: then the rest of the Deployment is as it is, too.
func (r *Reconciler) useLastGood(ctx context.Context, view *v1.MarkdownView, state *viewState, wanted []apply.Desired, deployment *appsv1.Deployment, served string, stranded bool) (lastGood, error) {
	good := lastGood{objects: wanted, served: served}
	var err error
	if apply.ReturnedFrom(deployment) != "" {
		good.returned = true
		good.objects, err = r.Applier.Returned(ctx, wanted, *view.Spec.Replicas, &state.lastApplied, &state.written)
		return good, err
	}
	if view.DriftMode() != v1.DriftDetectionEnabled {
		return good, nil // it may be drift that fails, and is left
	}
	now, log := r.Clock.Now(), ctrl.LoggerFrom(ctx).WithValues("revision", served)
	if good.recheck = state.short.vain.Add(progressRefresh).Sub(now); good.recheck > 0 {
		return good, nil
	}
	from, err := apply.TemplateName(wanted)
	if err != nil {
		return lastGood{}, err
	}
	if stranded {
		if wanted, err = r.Applier.Returned(ctx, apply.WithoutPages(wanted), *deployment.Spec.Replicas, &state.lastApplied, &state.written); err != nil {
			return lastGood{}, err
		}
	}
	objects, ok, err := r.Applier.Return(ctx, view, wanted, deployment, served, from, &state.written)
	if err != nil {
		return lastGood{}, err
	}
	if !ok {
		log.Info("pods of the last good pages are missing, and can't be started again: their ReplicaSet or their pages are gone")
		state.short.vain = now
		good.recheck = progressRefresh
		return good, nil
	}
	log.Info("returning to the last good pages: new pods fail, and earlier ones are missing")
	return lastGood{objects: objects, served: served, returned: true, returns: true}, nil
}

// copyServed copies the pages that were served last before others take their place, and
// returns what it wrote. An account that may not do so is found by the first write. What
// couldn't be copied is tried again when the view is due, whatever wakes it before.
func (r *Reconciler) copyServed(ctx context.Context, view *v1.MarkdownView, state *viewState, planned *apply.Plan, good lastGood, applier *apply.Applier) (written []string, err error) {
	if good.returned || planned.Settled() {
		return nil, nil // other pages aren't wanted than those that failed, or were applied
	}
	if state.notCopied != nil && !r.states.isDue(state, r.Clock.Now()) {
		return nil, state.notCopied
	}
	defer func() { state.notCopied = err }()
	copies, err := r.Applier.Copies(ctx, view, good.objects, good.served, &state.written)
	if err != nil || len(copies) == 0 {
		return nil, err
	}
	plan, err := r.Applier.Plan(ctx, view, copies, &state.lastApplied, &state.written)
	if err != nil {
		return nil, err
	}
	report, err := applier.Execute(ctx, plan)
	if err == nil && len(report.Fights) > 0 {
		err = &outcome.Error{State: outcome.Retrying, Reason: v1.ContestedReason, Message: contested(report.Fights), Retry: report.Recheck}
	}
	return report.Written, r.Accounts.Explain(view, err)
}

// cantPlan is the result of objects that can't be applied. If copies of pages that the last
// good pages need to be mounted from are among them, what is there is kept without them.
func (r *Reconciler) cantPlan(ctx context.Context, view *v1.MarkdownView, state *viewState, good lastGood, err error) result {
	if !good.returns {
		return failure(err)
	}
	state.short.vain = r.Clock.Now()
	return r.keep(ctx, view, state, failure(err))
}

// checkReturned is the result while a Deployment has returned to the last good pages: the
// rollout that failed has still failed.
func (r *Reconciler) checkReturned(view *v1.MarkdownView, state *viewState, deployment *appsv1.Deployment, atRest time.Duration) result {
	state.short = shortage{}
	now := r.Clock.Now()
	if state.rollout.at.IsZero() {
		state.rollout.begin(view.Generation, state.rendered.revision, health.CountsOf(deployment), now)
	}
	state.rollout.absorb(health.CountsOf(deployment))
	state.returned.begin(view.Generation, state.rendered.revision, health.CountsOf(deployment), now)
	returning := result{
		state: outcome.Progressing, reason: v1.ProgressingReason, requeueAfter: progressRefresh, replicas: &deployment.Status.Replicas, slot: slotKept,
		message: fmt.Sprintf("what is wanted fails, and earlier pods were lost: pods with the last good pages are started before that is tried again, of %d replicas %d are available",
			*deployment.Spec.Replicas, deployment.Status.AvailableReplicas),
	}
	if failedBefore(view) || state.rollout.stuckFor(now) >= view.Spec.Timeout.Duration {
		returning.state, returning.reason, returning.slot = outcome.Stalled, v1.RolloutFailedReason, slotReleased
		returning.requeueAfter = soonest(atRest, progressRefresh)
	}
	return returning
}

package reconciler

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fluxcd/pkg/runtime/jitter"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/health"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// keep looks after what was applied last while what is wanted can't be applied: it is
// repaired, has as many replicas as the view says now, and its health is reported beside
// what is wrong.
func (r *Reconciler) keep(ctx context.Context, view *v1.MarkdownView, state *viewState, fault result) result {
	if view.Status.Inventory == nil || ctx.Err() != nil {
		return fault // nothing was applied, or nothing can be
	}
	if err := r.keepObjects(ctx, view, state, &fault); err != nil {
		fault.detail = "what was applied before can't be kept as it was: " + err.Error()
		if known := failure(err); known.state == outcome.Unreported || known.message == fault.message {
			fault.detail = ""
		}
		fault.requeueAfter = soonest(fault.requeueAfter, progressRefresh)
	}
	fault.requeueAfter = soonest(fault.requeueAfter, jitter.JitteredIntervalDuration(view.Spec.Interval.Duration))
	return fault
}

func (r *Reconciler) keepObjects(ctx context.Context, view *v1.MarkdownView, state *viewState, fault *result) error {
	kept, err := r.keepable(ctx, view, state)
	if err != nil {
		return err
	}
	objects := kept.Objects
	if replicas := *view.Spec.Replicas; replicas >= 0 && replicas <= v1.MaxReplicas {
		if objects, err = apply.Scaled(objects, replicas); err != nil {
			return err
		}
	}
	good, err := r.lastGood(ctx, view, state, objects, true)
	if err != nil {
		return err
	}
	plan, err := r.Applier.Plan(ctx, view, good.objects, &state.lastApplied, &state.written)
	if err != nil {
		if good.returns {
			state.short.vain = r.Clock.Now()
		}
		return err
	}
	applied, err := r.execute(ctx, view, plan)
	r.recordCorrections(view, applied.Corrections)
	r.recordDrifts(ctx, view, applied.Drifts)
	fault.written = append(fault.written, applied.Written...)
	fault.requeueAfter = soonest(soonest(fault.requeueAfter, applied.Recheck), good.recheck)
	if err != nil {
		return err
	}
	if state.kept != nil && len(applied.Fights) == 0 { // as it is scaled now: that isn't asked for again
		if state.kept.Objects, err = apply.Packed(objects); err != nil {
			return err
		}
	}
	// Pods of another release serve what is asked for; these wouldn't, or aren't as asked for.
	others := good.returned || len(applied.Fights) > 0 || len(plan.Missing("Deployment", "Service")) > 0
	if plan.Deployment() != nil {
		if waits := r.restartEdited(ctx, view, state, plan, &applied, good); waits != nil {
			fault.requeueAfter = soonest(fault.requeueAfter, progressRefresh)
			others = true
		}
	}
	fault.served = fault.served && !others
	return r.keptHealth(ctx, view, state, plan, kept, applied.Fights, fault)
}

// keepable is what was applied last, packed, since many may wait for their turn. It is
// remembered, but for what caches see once it is applied.
func (r *Reconciler) keepable(ctx context.Context, view *v1.MarkdownView, state *viewState) (*apply.Keepable, error) {
	if state.kept != nil {
		return state.kept, nil
	}
	configMaps := state.rendered.configMaps
	if state.rendered.key == "" {
		configMaps = configMapsIn(view.Status.Inventory)
	}
	kept, err := r.Applier.Kept(ctx, view, configMaps, state.rendered.objects, &state.lastApplied, &state.written)
	if err == nil {
		kept.Objects, err = apply.Packed(kept.Objects)
	}
	if err == nil && !kept.Unseen {
		state.kept = &kept
	}
	return &kept, err
}

// keptHealth adds to a fault what is wrong with what is kept, too.
func (r *Reconciler) keptHealth(ctx context.Context, view *v1.MarkdownView, state *viewState, plan *apply.Plan, kept *apply.Keepable, fights []string, fault *result) error {
	var wrong []string
	if len(fights) > 0 {
		wrong = append(wrong, contested(fights))
	}
	if len(kept.Missing) > 0 {
		wrong = append(wrong, "their ConfigMap "+strings.Join(kept.Missing, ", ")+" is gone, so that no pod of theirs can start")
	}
	if len(kept.Edited) > 0 && view.DriftMode() == v1.DriftDetectionEnabled {
		wrong = append(wrong, "somebody else has edited their ConfigMap "+strings.Join(kept.Edited, ", ")+", and what it held isn't known any more")
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, apply.OfView(view)...); err != nil {
		return err
	}
	if deployment := plan.Deployment(); deployment == nil {
		wrong = append(wrong, "their Deployment is gone, and with it what it was like")
	} else {
		fault.replicas = &deployment.Status.Replicas
		r.limiter.progress(state, health.CountsOf(deployment), r.Clock.Now())
		if unavailable := health.UnavailableReason(deployment, pods.Items); unavailable != "" {
			wrong = append(wrong, health.Explain(unavailable, deployment, pods.Items, health.Lasting))
		}
	}
	switch {
	case len(wrong) > 0:
		fault.detail = strings.Join(wrong, ", and ")
		fault.requeueAfter = soonest(fault.requeueAfter, progressRefresh)
	case fault.served:
		fault.state, fault.reason = outcome.Served, v1.HealthyReason
		fault.message = health.ServedMessage(plan.Deployment(), view.Status.LastAppliedRevision) + waitingAside
	}
	return nil
}

// configMapsIn lists the ConfigMaps of an inventory.
func configMapsIn(inventory *v1.Inventory) []string {
	var names []string
	for _, entry := range inventory.Entries {
		// <namespace>_<name>_<group>_<kind>
		if parts := strings.Split(entry.ID, "_"); len(parts) == 4 && parts[2] == "" && parts[3] == "ConfigMap" {
			names = append(names, parts[1])
		}
	}
	return slices.Compact(names)
}

// detailSeparator stands between what is wrong with what is wanted and with what is kept.
const detailSeparator = "; of the pages of before: "

// waitingAside is said of a view that serves what it asks for with pods of another release.
const waitingAside = "; waiting for a rollout slot to replace its pods"

// withDetail is a message with what is wrong with what is kept, and with drift that is left
// as it is.
func (r *result) withDetail() string {
	message := r.message
	if r.detail != "" {
		message += detailSeparator + r.detail
	}
	if r.drift != "" {
		message += driftSeparator + r.drift
	}
	return message
}

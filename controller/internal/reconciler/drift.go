package reconciler

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/jitter"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// driftSeparator stands between what is said of a view and drift that is left as it is.
const driftSeparator = "; drift is left as it is: "

// withoutAsides returns a message without what is kept meanwhile, why it is, and without
// drift.
func withoutAsides(message string) string {
	message, _, _ = strings.Cut(message, driftSeparator)
	message, _, _ = strings.Cut(message, detailSeparator)
	return strings.TrimSuffix(message, waitingAside)
}

// toldDrift returns the drift that a view's condition tells of.
func toldDrift(view *v1.MarkdownView) string {
	_, drift, _ := strings.Cut(conditions.GetMessage(view, meta.ReadyCondition), driftSeparator)
	return drift
}

// driftOf returns what is known to differ from what was applied for a view, if that is to
// be told. A controller that hasn't looked yet knows it by what was told before.
func driftOf(view *v1.MarkdownView, state *viewState) string {
	switch {
	case view.DriftMode() != v1.DriftDetectionWarn:
		return ""
	case state.lastApplied.IsEmpty():
		return toldDrift(view)
	}
	return state.lastApplied.Drifted()
}

// beside returns the result with the drift that is left as it is.
func (r result) beside(drift string) result {
	r.drift = drift
	return r
}

// recordDrifts emits one event for each object that was found changed and is left so, but
// for what the view's condition tells already: a controller that was started anew finds it
// for the first time.
func (r *Reconciler) recordDrifts(ctx context.Context, view *v1.MarkdownView, drifts []apply.Drift) {
	told := toldDrift(view)
	for _, drift := range drifts {
		if strings.Contains(told, drift.Brief) {
			continue
		}
		r.Metrics.driftDetected(drift.Kind)
		ctrl.LoggerFrom(ctx).Info("drift detected", "message", drift.Message)
		r.Events.AnnotatedEventf(view, drift.Object, eventAnnotations(view), corev1.EventTypeWarning, driftDetectedReason, reconcileAction, "%s", drift.Message)
	}
}

// check reports whether what was applied is served. Where drift is left as it is, what
// serves it may be gone.
func (r *Reconciler) check(ctx context.Context, view *v1.MarkdownView, state *viewState, plan *apply.Plan, newRollout bool, good lastGood) result {
	missing := plan.Missing("Deployment", "Service")
	if len(missing) == 0 {
		return r.checkRollout(ctx, view, state, plan.Deployment(), newRollout, good)
	}
	replicas := plan.Deployment().Status.Replicas
	return result{
		state: outcome.Stalled, reason: v1.ObjectMissingReason, replicas: &replicas,
		message: fmt.Sprintf("%s was deleted, or has lost its labels, and spec.driftDetection.mode is %s: change the view, or set the mode to Enabled, to have it applied again",
			strings.Join(missing, ", "), view.DriftMode()),
		requeueAfter: jitter.JitteredIntervalDuration(view.Spec.Interval.Duration),
	}
}

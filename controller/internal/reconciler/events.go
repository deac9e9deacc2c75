package reconciler

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// Reason and actions of events beside those that conditions have.
const (
	driftCorrectedReason = "DriftCorrected"
	driftDetectedReason  = "DriftDetected"
	pagesWarningReason   = "PagesWarning"
	reconcileAction      = "Reconcile"
)

// recordTransition emits an event when the outcome has changed.
func (r *Reconciler) recordTransition(before, view *v1.MarkdownView) {
	if !outcomeChanged(before, view) {
		return
	}
	eventType := corev1.EventTypeNormal
	ready := conditions.Get(view, meta.ReadyCondition)
	if ready.Status == metav1.ConditionFalse && ready.Reason != v1.ProgressingReason {
		eventType = corev1.EventTypeWarning
	}
	r.Events.AnnotatedEventf(view, nil, eventAnnotations(view), eventType, ready.Reason, reconcileAction, "%s", ready.Message)
}

// outcomeChanged reports whether the Ready condition has changed. The counts of a
// rollout, how what is kept is meanwhile, and drift, which has an event of its own, are no
// change.
func outcomeChanged(was, view *v1.MarkdownView) bool {
	old, now := conditions.Get(was, meta.ReadyCondition), conditions.Get(view, meta.ReadyCondition)
	if now == nil || old == nil || old.Status != now.Status || old.Reason != now.Reason {
		return now != nil
	}
	return withoutAsides(old.Message) != withoutAsides(now.Message) && now.Reason != v1.ProgressingReason
}

// recordCorrections emits one event for each object that was not as it should be.
func (r *Reconciler) recordCorrections(view *v1.MarkdownView, corrections []apply.Correction) {
	for _, correction := range corrections {
		r.Metrics.driftCorrected(correction.Kind)
		r.Events.AnnotatedEventf(view, correction.Object, eventAnnotations(view), corev1.EventTypeNormal, driftCorrectedReason, reconcileAction, "%s", correction.Message)
	}
}

// recordWarnings emits one event for the faults of new pages that mdBook lives with.
func (r *Reconciler) recordWarnings(view *v1.MarkdownView, warnings diagnostic.List) {
	if len(warnings) == 0 {
		return
	}
	r.Events.AnnotatedEventf(view, nil, eventAnnotations(view), corev1.EventTypeWarning, pagesWarningReason, reconcileAction, "%s", warnings.Summary())
}

func eventAnnotations(view *v1.MarkdownView) map[string]string {
	return map[string]string{v1.RevisionAnnotation: view.Status.LastAttemptedRevision}
}

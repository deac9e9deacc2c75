package reconciler

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// Reason and actions of events beside those that conditions have.
const (
	driftCorrectedReason = "DriftCorrected"
	pagesWarningReason   = "PagesWarning"
	reconcileAction      = "Reconcile"
)

// recordTransition emits an event when what the Ready condition says has changed.
// The counts of a rollout are no event.
func (r *Reconciler) recordTransition(before, view *v1.MarkdownView) {
	old, now := conditions.Get(before, meta.ReadyCondition), conditions.Get(view, meta.ReadyCondition)
	if now == nil || old != nil && old.Status == now.Status && old.Reason == now.Reason &&
		(old.Message == now.Message || now.Reason == v1.ProgressingReason) {
		return
	}
	eventType := corev1.EventTypeNormal
	if conditions.IsFalse(view, meta.ReadyCondition) {
		eventType = corev1.EventTypeWarning
	}
	r.Events.AnnotatedEventf(view, nil, eventAnnotations(view), eventType, now.Reason, reconcileAction, "%s", now.Message)
}

// recordDrift emits one event for an object that was not as it should be.
func (r *Reconciler) recordDrift(view *v1.MarkdownView, c *child, found drift) {
	r.Metrics.driftCorrected(c.kind)
	r.Events.AnnotatedEventf(view, c.live, eventAnnotations(view), corev1.EventTypeNormal, driftCorrectedReason, reconcileAction, "%s was changed and is corrected: %s", c, found)
}

// recordMissing emits one event for an object that was there, and wasn't found.
func (r *Reconciler) recordMissing(view *v1.MarkdownView, c *child) {
	r.Metrics.driftCorrected(c.kind)
	r.Events.AnnotatedEventf(view, c.live, eventAnnotations(view), corev1.EventTypeNormal, driftCorrectedReason, reconcileAction, "%s was deleted, or had lost its labels, and is applied again", c)
}

// maxWarnings is how many an event lists.
const maxWarnings = 3

// recordWarnings emits one event for the faults of new pages that mdBook lives with.
func (r *Reconciler) recordWarnings(view *v1.MarkdownView, warnings []generator.Problem) {
	if len(warnings) == 0 {
		return
	}
	lines := make([]string, 0, maxWarnings+1)
	for _, warning := range warnings[:min(len(warnings), maxWarnings)] {
		lines = append(lines, warning.String())
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more", more))
	}
	r.Events.AnnotatedEventf(view, nil, eventAnnotations(view), corev1.EventTypeWarning, pagesWarningReason, reconcileAction, "%s", strings.Join(lines, "; "))
}

func eventAnnotations(view *v1.MarkdownView) map[string]string {
	return map[string]string{v1.RevisionAnnotation: view.Status.LastAttemptedRevision}
}

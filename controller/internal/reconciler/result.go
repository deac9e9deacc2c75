package reconciler

import (
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// result is what a reconciliation came to: what the conditions say, and when it is
// tried again.
type result struct {
	state           outcome.State
	reason, message string
	// detail is what is wrong with what is kept meanwhile; empty if nothing is.
	detail string
	// served means that what is kept is all that the view asks for.
	served bool
	// drift is what differs from what was applied and is left so; empty if nothing does.
	drift string
	// err is returned to the queue, which then tries again with back-off.
	err error
	// requeueAfter is when to look again if no watch wakes the view before; 0
	// means not to.
	requeueAfter time.Duration
	// rollsOut means that what was applied is being rolled out, and urgent that it is known for
	// the first time what stands in its way.
	rollsOut, urgent bool
	// replicas is how many viewers there are; nil if they were not looked at.
	replicas *int32
	// warnings are faults of new pages that mdBook lives with.
	warnings diagnostic.List
	// written are the objects that were written, and how.
	written []string
	// slot is what becomes of the view's rollout slot.
	slot slotUse
}

// slotUse is what becomes of a view's rollout slot.
type slotUse int

const (
	// slotReleased: nothing is rolled out.
	slotReleased slotUse = iota
	// slotHeld: the view is being rolled out.
	slotHeld
	// slotKept: whatever it was, it is still.
	slotKept
)

// refusalRecheck is how soon it is tried again to write what the API server calls
// invalid: a webhook or a quota may have been in the way.
const refusalRecheck = 30 * time.Second

// isUndeclared reports whether the API server doesn't know a field that is applied: only a patch
// can have set that. It gives no reason that tells this from other errors; a webhook's denial
// may hold any words, after its own.
func isUndeclared(err error) bool {
	said := err.Error()
	return strings.Contains(said, "failed to create typed patch object") && strings.HasSuffix(said, "field not declared in schema") &&
		!strings.Contains(said, "admission webhook")
}

// immutableData is what the API server says of a change of a ConfigMap whose field immutable is
// set. Kubelets don't look for another one of the name while they use it.
const immutableData = "field is immutable when `immutable` is set"

// failure is the result of an error. Errors that know their outcome carry it; what is
// left are the API server's own.
func failure(err error) result {
	if known, ok := errors.AsType[*outcome.Error](err); ok {
		return carried(known)
	}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return result{state: outcome.Unreported}
	case apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err):
		message := err.Error()
		if strings.Contains(message, "immutable") {
			message += ": delete the object, and the controller recreates it"
		}
		if strings.Contains(message, immutableData) {
			message += "; nodes go on with the deleted one as long as pods mount it: delete these, too"
		}
		return result{state: outcome.Stalled, reason: v1.ApplyFailedReason, message: message, requeueAfter: refusalRecheck}
	case isUndeclared(err):
		message := err.Error() + ": correct the field's name in spec.patches, or remove it there"
		return result{state: outcome.Stalled, reason: v1.ApplyFailedReason, message: message, requeueAfter: refusalRecheck}
	}
	return result{state: outcome.Retrying, reason: v1.ApplyFailedReason, message: err.Error(), err: err}
}

// carried is the result of an error that carries its outcome.
func carried(e *outcome.Error) result {
	r := result{state: e.State, reason: e.Reason, message: e.Error(), requeueAfter: e.Retry}
	if e.Retry == 0 && e.State != outcome.Stalled {
		r.err = e
	}
	if e.State == outcome.Unreported || e.State == outcome.Progressing || e.Reason == v1.ContestedReason {
		r.slot = slotKept
	}
	return r
}

// fought is the result of a view some of whose objects somebody else keeps changing: what
// is served isn't sure to be what is wanted until that ends.
func fought(checked result, applied apply.Report) result {
	if checked.state == outcome.Served {
		checked.state, checked.reason = outcome.Retrying, v1.ContestedReason
		checked.message = contested(applied.Fights)
	}
	return checked
}

// contested says that somebody else keeps changing objects.
func contested(objects []string) string {
	return strings.Join(objects, ", ") +
		" is changed again and again by somebody else, and corrected with a growing delay: find out who with kubectl get --show-managed-fields, and stop it"
}

// progressRefresh is how often the counts of a rollout are written at most: a
// change of a view is to cost two writes, not one for each pod.
const progressRefresh = 30 * time.Second

// report writes the result into the view's status, as kstatus and Flux read it:
// Reconciling and Stalled are there only while true, and never both;
// observedGeneration moves when the outcome for it is final. postponed means that the
// status says as much already, and that its counts are to be brought up to date later.
func (r result) report(view *v1.MarkdownView, now time.Time) (postponed bool) {
	if r.state == outcome.Unreported {
		return false
	}
	status := &view.Status
	if at, ok := meta.ReconcileAnnotationValue(view.Annotations); ok {
		status.LastHandledReconcileAt = at
	}
	status.Selector = labels.SelectorFromSet(generator.Labels(view.Name)).String()
	if r.state == outcome.Progressing && !r.urgent && reportedRecently(view, now) || r.detail != "" && r.detailedRecently(view, now) || r.failedRecently(view, now) {
		return true
	}
	r.message = r.withDetail()
	if r.replicas != nil {
		status.Replicas = *r.replicas
	}
	switch r.state {
	case outcome.Served:
		conditions.Delete(view, meta.ReconcilingCondition)
		conditions.Delete(view, meta.StalledCondition)
		conditions.MarkTrue(view, meta.ReadyCondition, r.reason, "%s", r.message)
		status.ObservedGeneration = view.Generation
	case outcome.Progressing, outcome.Retrying:
		conditions.Delete(view, meta.StalledCondition)
		conditions.MarkTrue(view, meta.ReconcilingCondition, r.reason, "%s", r.message)
		conditions.MarkFalse(view, meta.ReadyCondition, r.reason, "%s", r.message)
	case outcome.Stalled:
		conditions.Delete(view, meta.ReconcilingCondition)
		conditions.MarkTrue(view, meta.StalledCondition, r.reason, "%s", r.message)
		conditions.MarkFalse(view, meta.ReadyCondition, r.reason, "%s", r.message)
		status.ObservedGeneration = view.Generation
	}
	return false
}

// reportedRecently reports whether the status says already that this generation is
// being rolled out.
func reportedRecently(view *v1.MarkdownView, now time.Time) bool {
	ready := conditions.Get(view, meta.ReadyCondition)
	reconciling := conditions.Get(view, meta.ReconcilingCondition)
	if ready == nil || reconciling == nil || ready.Reason != v1.ProgressingReason || ready.ObservedGeneration != view.Generation {
		return false
	}
	return isRecent(reconciling, now)
}

// detailedRecently reports whether the status tells already what is wrong, and lately what
// of what is kept is: its counts may change with each pod.
func (r *result) detailedRecently(view *v1.MarkdownView, now time.Time) bool {
	ready := conditions.Get(view, meta.ReadyCondition)
	if ready == nil || ready.Reason != r.reason || ready.ObservedGeneration != view.Generation {
		return false
	}
	told, _, _ := strings.Cut(ready.Message, driftSeparator)
	message, detail, _ := strings.Cut(told, detailSeparator)
	return message == r.message && detail != "" && isRecent(ready, now)
}

// failedRecently reports whether the status has said lately that the rollout has failed:
// the counts of pods that come and go are not to be written each time.
func (r *result) failedRecently(view *v1.MarkdownView, now time.Time) bool {
	ready := conditions.Get(view, meta.ReadyCondition)
	return r.reason == v1.RolloutFailedReason && ready != nil && ready.Reason == r.reason &&
		ready.ObservedGeneration == view.Generation && withoutAsides(ready.Message) != r.message && isRecent(ready, now)
}

func isRecent(condition *metav1.Condition, now time.Time) bool {
	// Negative if the clock was put back since.
	age := now.Sub(condition.LastTransitionTime.Time)
	return age >= 0 && age < progressRefresh
}

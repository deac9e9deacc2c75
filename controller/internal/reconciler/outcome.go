package reconciler

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/artifact"
	"github.com/zoetrope/markdown-view/generator"
)

// state is what a reconciliation came to.
type state int

const (
	// served: every replica serves the pages of this generation.
	served state = iota
	// progressing: applied, and being rolled out.
	progressing
	// retrying: failed, and tried again without anyone's help.
	retrying
	// stalled: failed until somebody changes something.
	stalled
	// ignored: nothing to report.
	ignored
)

// outcome is the result of a reconciliation: what the conditions say, and when
// it is tried again.
type outcome struct {
	state           state
	reason, message string
	// err is returned to the queue, which then tries again with back-off.
	err error
	// requeueAfter is when to look again if no watch wakes the view before; 0
	// means not to.
	requeueAfter time.Duration
	// warnings are faults of new pages that mdBook lives with.
	warnings []generator.Problem
	// waits says that nothing is being rolled out yet.
	waits bool
	// replicas is how many viewers there are, and selector selects them; nil if
	// they were not looked at.
	replicas *int32
}

// foreignRecheck is how soon an object that is in the way is looked at again:
// it isn't watched, because it doesn't carry our label.
const foreignRecheck = 30 * time.Second

// busyRecheck is how soon an artifact is looked for again that is being fetched.
const busyRecheck = 2 * time.Second

// failure is the outcome of an error.
func failure(err error) outcome {
	var invalid *generator.InvalidError
	var unsupported *unsupportedError
	var missing *notFoundError
	var source *sourceError
	var race *raceError
	switch {
	case errors.As(err, &invalid):
		return outcome{state: stalled, reason: v1.InvalidReason, message: invalid.Summary()}
	case errors.As(err, &unsupported):
		return outcome{state: stalled, reason: v1.InvalidReason, message: unsupported.Error()}
	case errors.As(err, &missing):
		return outcome{state: retrying, reason: v1.PagesNotFoundReason, message: missing.Error(), err: err}
	case errors.As(err, &race):
		return outcome{state: ignored, err: err}
	case errors.Is(err, artifact.ErrBusy):
		return outcome{state: ignored, requeueAfter: busyRecheck}
	case errors.As(err, &source):
		return source.outcome()
	case errors.Is(err, errForeign):
		return outcome{state: stalled, reason: v1.ConflictReason, message: err.Error(), requeueAfter: foreignRecheck}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return outcome{state: ignored}
	case apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err):
		message := err.Error()
		if strings.Contains(message, "immutable") {
			message += ": delete the object, and it is made anew"
		}
		return outcome{state: stalled, reason: v1.ApplyFailedReason, message: message, requeueAfter: foreignRecheck}
	default:
		return outcome{state: retrying, reason: v1.ApplyFailedReason, message: err.Error(), err: err}
	}
}

// outcome is that of a source that gives no pages. The old ones go on being served.
func (e *sourceError) outcome() outcome {
	o := outcome{state: retrying, reason: e.reason, message: e.Error(), requeueAfter: e.requeueAfter}
	switch {
	case e.stalled:
		o.state = stalled
	case e.requeueAfter == 0:
		o.err = e
	}
	return o
}

// applyError says which object the API server refused.
type applyError struct {
	object string
	err    error
}

func (e *applyError) Error() string {
	return fmt.Sprintf("apply %s: %v", e.object, e.err)
}

func (e *applyError) Unwrap() error {
	return e.err
}

// progressRefresh is how often the counts of a rollout are written at most: a
// change of a view is to cost two writes, not one for each pod.
const progressRefresh = 30 * time.Second

// report writes the outcome into the view's status, as kstatus and Flux read it:
// Reconciling and Stalled are there only while true, and never both;
// observedGeneration moves when the outcome for it is final.
func (o outcome) report(view *v1.MarkdownView, now time.Time) {
	if o.state == ignored {
		return
	}
	status := &view.Status
	if at, ok := meta.ReconcileAnnotationValue(view.Annotations); ok {
		status.LastHandledReconcileAt = at
	}
	status.Selector = selectorOf(view)
	if o.state == progressing && reportedLately(view, now) {
		return
	}
	if o.replicas != nil {
		status.Replicas = *o.replicas
	}
	switch o.state {
	case served:
		conditions.Delete(view, meta.ReconcilingCondition)
		conditions.Delete(view, meta.StalledCondition)
		conditions.MarkTrue(view, meta.ReadyCondition, o.reason, "%s", o.message)
		status.ObservedGeneration = view.Generation
	case progressing:
		conditions.Delete(view, meta.StalledCondition)
		conditions.MarkTrue(view, meta.ReconcilingCondition, o.reason, "%s", o.message)
		conditions.MarkUnknown(view, meta.ReadyCondition, o.reason, "%s", o.message)
	case retrying:
		conditions.Delete(view, meta.StalledCondition)
		conditions.MarkTrue(view, meta.ReconcilingCondition, o.reason, "%s", o.message)
		conditions.MarkFalse(view, meta.ReadyCondition, o.reason, "%s", o.message)
	case stalled:
		conditions.Delete(view, meta.ReconcilingCondition)
		conditions.MarkTrue(view, meta.StalledCondition, o.reason, "%s", o.message)
		conditions.MarkFalse(view, meta.ReadyCondition, o.reason, "%s", o.message)
		status.ObservedGeneration = view.Generation
	}
}

// reportedLately says whether the status says already that this generation is
// being rolled out.
func reportedLately(view *v1.MarkdownView, now time.Time) bool {
	ready := conditions.Get(view, meta.ReadyCondition)
	reconciling := conditions.Get(view, meta.ReconcilingCondition)
	if ready == nil || reconciling == nil || ready.Reason != v1.ProgressingReason || ready.ObservedGeneration != view.Generation {
		return false
	}
	// Negative if the clock was put back since.
	age := now.Sub(reconciling.LastTransitionTime.Time)
	return age >= 0 && age < progressRefresh
}

func statusEqual(a, b *v1.MarkdownViewStatus) bool {
	return equality.Semantic.DeepEqual(a, b)
}

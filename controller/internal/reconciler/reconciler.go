// Package reconciler is the cluster's door to the generator: it applies what a
// MarkdownView expands to, keeps it so, and reports whether it is served.
//
// A reconciliation reads from caches and writes only what differs. It never
// waits: what isn't ready yet is looked at again when a watch says that it has
// changed.
package reconciler

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/runtime/events"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// Reconciler reconciles MarkdownViews. All of its fields are required.
type Reconciler struct {
	// Client reads from caches that hold only what carries this system's label,
	// and must read its own writes: without that a stale cache would be taken for
	// drift.
	client.Client
	// APIReader reads the contents of ConfigMaps that views name.
	APIReader client.Reader
	// Metadata reads the metadata of any ConfigMap and Service from a cache.
	Metadata client.Reader
	// Events records what happened to a view.
	Events events.Recorder
	// Clock measures how long a rollout takes.
	Clock clock.PassiveClock
	// Metrics counts what can't be read off a view's status.
	Metrics *Metrics
	// Sources gives access to Flux's sources.
	Sources *Sources

	contents contentCache
	rollouts rolloutTimes
	settled  settledStates
	memory   memory
	turns    *turns
}

// New returns a Reconciler that remembers nothing yet.
func New(c client.Client, apiReader, metadata client.Reader, recorder events.Recorder, metrics *Metrics, sources *Sources) *Reconciler {
	return &Reconciler{
		Client:    c,
		APIReader: apiReader,
		Metadata:  metadata,
		Events:    recorder,
		Clock:     clock.RealClock{},
		Metrics:   metrics,
		Sources:   sources,
		contents:  newContentCache(),
		turns:     newTurns(0),
	}
}

// Reconcile brings the cluster to what a view wants, as far as can be done now,
// and its status to what is found.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	start := r.Clock.Now()
	view := &v1.MarkdownView{}
	if err := r.Get(ctx, req.NamespacedName, view); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	// Deletion is garbage collection's: there is no finalizer to remove.
	if !view.DeletionTimestamp.IsZero() || view.Spec.Suspend {
		r.turns.note(req.NamespacedName, false)
		return ctrl.Result{}, nil
	}
	defer r.Metrics.recordDuration(view, start)

	before := view.DeepCopy()
	view.Default()
	result := r.reconcile(ctx, view)
	if ctx.Err() != nil {
		// The outcome is that of being stopped, which is nobody's fault.
		return ctrl.Result{}, ctx.Err()
	}
	if result.state != ignored {
		r.turns.note(req.NamespacedName, result.state == progressing && !result.waits)
	}
	result.report(view, r.Clock.Now())
	if err := r.writeStatus(ctx, before, view); err != nil {
		return ctrl.Result{}, err
	}
	r.recordTransition(before, view)
	r.recordWarnings(view, result.warnings)
	return ctrl.Result{RequeueAfter: result.requeueAfter}, result.err
}

func (r *Reconciler) reconcile(ctx context.Context, view *v1.MarkdownView) outcome {
	inputs, err := r.inputs(ctx, view)
	if err != nil {
		return failure(err)
	}
	view.Status.LastAttemptedRevision = cmp.Or(sourceRevision(inputs), view.Status.LastAttemptedRevision)
	wanted, err := r.expand(ctx, view, inputs)
	if err != nil {
		return failure(err)
	}
	view.Status.LastAttemptedRevision = cmp.Or(sourceRevision(inputs), wanted.Revision)

	children := childrenOf(wanted)
	if err := r.readAll(ctx, view, children); err != nil {
		return failure(err)
	}
	if waits, err := r.wait(view, children); err != nil {
		return failure(err)
	} else if waits != "" {
		return outcome{state: progressing, reason: v1.ProgressingReason, message: waits, requeueAfter: progressRefresh, waits: true}
	}
	if err := r.apply(ctx, view, children); err != nil {
		return failure(err)
	}
	// Other pages may have the same revision, and the same pages another.
	news := r.remember(view, inputsKey(view, inputs), wanted, children) ||
		view.Status.LastAppliedRevision != view.Status.LastAttemptedRevision
	view.Status.LastAppliedRevision = view.Status.LastAttemptedRevision
	view.Status.Inventory = inventoryOf(view, wanted)

	result := r.checkHealth(ctx, view, wanted, deploymentOf(children), news)
	if news {
		result.warnings = wanted.Warnings
	}
	return result
}

// sourceRevision is the revision of Flux's sources, of all of them if there are
// several; empty if there is none.
func sourceRevision(inputs []input) string {
	var revisions []string
	for _, in := range inputs {
		if in.revision != "" {
			revisions = append(revisions, in.revision)
		}
	}
	return strings.Join(revisions, ",")
}

// writeStatus writes the status if it changed, in one request.
func (r *Reconciler) writeStatus(ctx context.Context, before, view *v1.MarkdownView) error {
	if statusEqual(&before.Status, &view.Status) {
		return nil
	}
	// Only the status is sent: defaults that the spec got here are nobody's wish.
	target := before.DeepCopy()
	target.Status = view.Status
	err := r.Status().Patch(ctx, target, client.MergeFrom(before), client.FieldOwner(generator.FieldManager))
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of MarkdownView %s/%s: %w", view.Namespace, view.Name, err))
	}
	return nil
}

// forget drops what is remembered of a view that is gone.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.rollouts.forget(key)
	r.settled.forget(key)
	r.memory.forget(key)
	r.turns.note(key, false)
	r.Metrics.forget(key)
}

// timeoutOf and intervalOf are those of a view that was defaulted.
func timeoutOf(view *v1.MarkdownView) time.Duration  { return view.Spec.Timeout.Duration }
func intervalOf(view *v1.MarkdownView) time.Duration { return view.Spec.Interval.Duration }

// Package reconciler is the loop: it has the other packages find a view's pages, apply
// what they expand to and judge whether that is served, and turns what comes of it into
// the view's status, events, metrics and log.
//
// A reconciliation reads from caches and writes only what differs. It never waits: what
// isn't ready yet is looked at again when a watch reports that it has changed.
//
// It is at the top: it may import all other packages of the controller, and only the
// program imports it.
package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/runtime/events"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/controller/internal/pages"
	"github.com/zoetrope/markdown-view/generator"
)

// Reconciler reconciles MarkdownViews. All of its fields are required.
type Reconciler struct {
	// Client reads from caches that hold only what carries this system's label.
	Client client.Client
	// Pages finds what views take their pages from.
	Pages *pages.Finder
	// Applier applies what they expand to.
	Applier *apply.Applier
	// Events records what happened to a view.
	Events events.Recorder
	// Metrics counts what can't be read off a view's status.
	Metrics *Metrics
	// Clock measures how long a rollout takes.
	Clock clock.PassiveClock

	states  viewStates
	limiter rolloutLimiter
	workers *workerShares
}

// Reconcile brings the cluster to what a view wants, as far as can be done now,
// and its status to what is found.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !r.workers.acquire(req.NamespacedName) {
		return ctrl.Result{}, nil // woken when there is one
	}
	defer r.workers.release(req.Namespace)
	start, log := r.Clock.Now(), ctrl.LoggerFrom(ctx)
	state := r.states.of(req.NamespacedName)
	view := &v1.MarkdownView{}
	if err := r.Client.Get(ctx, req.NamespacedName, view); err != nil {
		if apierrors.IsNotFound(err) {
			log.V(1).Info("forgotten", "reason", "the view is gone")
			r.states.forget(req.NamespacedName)
			r.limiter.release(state)
			r.Metrics.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	// Deletion is garbage collection's: there is no finalizer to remove.
	if !view.DeletionTimestamp.IsZero() || view.Spec.Suspend {
		log.V(1).Info("left alone", "suspended", view.Spec.Suspend)
		r.limiter.release(state)
		return ctrl.Result{}, nil
	}
	defer r.Metrics.recordDuration(view, start)
	view = state.view.latest(view, start)
	r.states.prepareRetry(state, view)

	before := view.DeepCopy()
	view.Default()
	result := r.reconcile(ctx, view, state)
	if ctx.Err() != nil {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			// The outcome is that of being stopped, which is nobody's fault.
			return ctrl.Result{}, ctx.Err()
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
		defer cancel()
	}
	switch result.slot {
	case slotHeld:
		r.limiter.hold(state)
	case slotReleased:
		r.limiter.release(state)
	}
	if result.state == outcome.Unreported {
		view.Status = before.Status
	}
	if postponed := result.report(view, r.Clock.Now()); postponed {
		result.requeueAfter = soonest(result.requeueAfter, progressRefresh)
	}
	if err := r.writeStatus(ctx, state, before, view); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: statusRecheck}, nil // the view has just changed
		}
		return ctrl.Result{}, err
	}
	r.recordTransition(before, view)
	r.recordWarnings(view, result.warnings)
	logResult(ctx, before, view, &result)
	if result.err == nil {
		r.states.succeeded(state)
	}
	// What stands in the way of a stalled view doesn't go by itself, and to look may cost requests.
	if result.state != outcome.Served && result.state != outcome.Stalled && result.requeueAfter > 0 {
		result.requeueAfter = min(result.requeueAfter, view.Spec.Interval.Duration)
	}
	return ctrl.Result{RequeueAfter: soonest(result.requeueAfter, state.written.Pending(r.Clock.Now()))}, result.err
}

const (
	// reportTimeout is how long the status of a view may take to write whose
	// reconciliation took too long.
	reportTimeout = 10 * time.Second
	// statusRecheck is how soon a status is written again that was decided on an older
	// version of the view.
	statusRecheck = 500 * time.Millisecond
)

// soonest returns the shorter of two waits, of which 0 is none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func (r *Reconciler) reconcile(ctx context.Context, view *v1.MarkdownView, state *viewState) result {
	inputs, err := r.Pages.Find(ctx, view)
	if err != nil {
		return r.keep(ctx, view, state, failure(err))
	}
	view.Status.LastAttemptedRevision = cmp.Or(pages.Revision(inputs), view.Status.LastAttemptedRevision)
	rendered, fresh, err := r.render(ctx, view, state, inputs)
	if err != nil {
		failed := failure(err)
		if failed.state == outcome.Progressing && servesAll(view) {
			failed.state = outcome.Unreported // what is fetched is what is served: it was lost here
		}
		return r.keep(ctx, view, state, failed)
	}
	view.Status.LastAttemptedRevision = cmp.Or(pages.Revision(inputs), rendered.revision)

	plan, err := r.Applier.Plan(ctx, view, rendered.objects, state.lastApplied, &state.written)
	if err != nil {
		return failure(err)
	}
	if plan.ReplacesPods() {
		if inUse, ok := r.limiter.acquire(state); !ok {
			return r.keep(ctx, view, state, result{
				state: outcome.Progressing, reason: v1.ProgressingReason, message: waitingMessage(inUse), requeueAfter: progressRefresh, slot: slotKept,
			})
		}
	}
	state.kept = nil
	applied, err := r.Applier.Execute(ctx, plan)
	r.recordCorrections(view, applied.Corrections)
	if err != nil {
		failed := failure(err)
		failed.written = applied.Written
		return failed
	}
	otherPages := fresh && state.remember(rendered)
	// The source's revision and the pages' digest change independently: check both.
	newRollout := otherPages || view.Status.LastAppliedRevision != view.Status.LastAttemptedRevision
	view.Status.LastAppliedRevision = view.Status.LastAttemptedRevision
	view.Status.Inventory = inventoryOf(view, &rendered)

	checked := r.checkRollout(ctx, view, state, plan.Deployment(), newRollout)
	if checked.state == outcome.Served {
		pruned, err := r.Applier.Prune(ctx, view, rendered.configMaps, state.lastApplied, &state.written)
		applied.Written = append(applied.Written, pruned...)
		if err != nil {
			checked = failure(err)
		}
	}
	checked.written = applied.Written
	if len(applied.Fights) > 0 {
		checked = fought(checked, applied)
	}
	if newRollout {
		checked.warnings = rendered.warnings
	}
	return checked
}

// servesAll reports whether there is nothing newer than what was applied, of the view and
// of its sources.
func servesAll(view *v1.MarkdownView) bool {
	return view.Status.LastAttemptedRevision == view.Status.LastAppliedRevision && view.Status.ObservedGeneration == view.Generation
}

// writeStatus writes the status if it changed, in one request, which is refused if the
// view isn't any more what that was decided on.
func (r *Reconciler) writeStatus(ctx context.Context, state *viewState, before, view *v1.MarkdownView) error {
	if equality.Semantic.DeepEqual(before.Status, view.Status) {
		return nil
	}
	// Only the status is sent: nobody asked for the defaults that the spec got here.
	target := before.DeepCopy()
	target.Status = view.Status
	err := r.Client.Status().Patch(ctx, target, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(generator.FieldManager))
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of MarkdownView %s/%s: %w", view.Namespace, view.Name, err))
	}
	state.view = writtenView{target, r.Clock.Now()}
	return nil
}

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
	"fmt"

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
}

// Reconcile brings the cluster to what a view wants, as far as can be done now,
// and its status to what is found.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
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

	before := view.DeepCopy()
	view.Default()
	result := r.reconcile(ctx, view, state)
	if ctx.Err() != nil {
		// The outcome is that of being stopped, which is nobody's fault.
		return ctrl.Result{}, ctx.Err()
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
	result.report(view, r.Clock.Now())
	if err := r.writeStatus(ctx, before, view); err != nil {
		return ctrl.Result{}, err
	}
	r.recordTransition(before, view)
	r.recordWarnings(view, result.warnings)
	logResult(ctx, before, view, &result)
	return ctrl.Result{RequeueAfter: result.requeueAfter}, result.err
}

func (r *Reconciler) reconcile(ctx context.Context, view *v1.MarkdownView, state *viewState) result {
	inputs, err := r.Pages.Find(ctx, view)
	if err != nil {
		return failure(err)
	}
	view.Status.LastAttemptedRevision = cmp.Or(pages.Revision(inputs), view.Status.LastAttemptedRevision)
	rendered, fresh, err := r.render(ctx, view, state, inputs)
	if err != nil {
		failed := failure(err)
		if failed.state == outcome.Progressing && servesAll(view) {
			failed.state = outcome.Unreported // what is fetched is what is served: it was lost here
		}
		return failed
	}
	view.Status.LastAttemptedRevision = cmp.Or(pages.Revision(inputs), rendered.revision)

	plan, err := r.Applier.Plan(ctx, view, rendered.objects, state.lastApplied)
	if err != nil {
		return failure(err)
	}
	if plan.ReplacesPods() {
		if inUse, ok := r.limiter.acquire(state); !ok {
			return result{state: outcome.Progressing, reason: v1.ProgressingReason, message: waitingMessage(inUse), requeueAfter: progressRefresh, slot: slotKept}
		}
	}
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
		pruned, err := r.Applier.Prune(ctx, view, rendered.configMaps, state.lastApplied)
		applied.Written = append(applied.Written, pruned...)
		if err != nil {
			checked = failure(err)
		}
	}
	checked.written = applied.Written
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

// writeStatus writes the status if it changed, in one request.
func (r *Reconciler) writeStatus(ctx context.Context, before, view *v1.MarkdownView) error {
	if equality.Semantic.DeepEqual(before.Status, view.Status) {
		return nil
	}
	// Only the status is sent: nobody asked for the defaults that the spec got here.
	target := before.DeepCopy()
	target.Status = view.Status
	err := r.Client.Status().Patch(ctx, target, client.MergeFrom(before), client.FieldOwner(generator.FieldManager))
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of MarkdownView %s/%s: %w", view.Namespace, view.Name, err))
	}
	return nil
}

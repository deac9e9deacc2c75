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
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/fluxcd/pkg/runtime/events"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/account"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/controller/internal/pages"
	"github.com/zoetrope/markdown-view/generator"
)

// Reconciler reconciles MarkdownViews. All of its fields but the last are required.
type Reconciler struct {
	// Client reads from caches that hold only what carries this system's label.
	Client client.Client
	// Pages finds what views take their pages from.
	Pages *pages.Finder
	// Applier applies what they expand to.
	Applier *apply.Applier
	// Accounts has the service accounts with whose rights that is done.
	Accounts *account.Accounts
	// Inline has the pages of views that aren't in their cache, and APIReader reads those
	// that aren't there either.
	Inline    *InlinePages
	APIReader client.Reader
	// Events records what happened to a view.
	Events events.Recorder
	// Metrics counts what can't be read off a view's status.
	Metrics *Metrics
	// Clock measures how long a rollout takes.
	Clock clock.PassiveClock
	// QuickRollout is how long one may take without its beginning being reported; 0 reports
	// each.
	QuickRollout time.Duration

	states  viewStates
	limiter rolloutLimiter
	workers *workerShares
	room    *bookRoom
}

// Reconcile brings the cluster to what a view wants, as far as can be done now,
// and its status to what is found.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !r.workers.acquire(req.NamespacedName, r.states.isNew(req.NamespacedName)) {
		return ctrl.Result{}, nil // woken when there is one
	}
	defer r.workers.release(req.Namespace)
	defer r.room.release(req.NamespacedName)
	start := r.Clock.Now()
	view, state, err := r.fetch(ctx, req.NamespacedName)
	if view == nil || err != nil {
		return ctrl.Result{}, err
	}
	defer r.Metrics.recordDuration(view, start)
	state.begin()
	defer state.end()
	view = state.latest(view, start)
	r.states.prepareRetry(state, view)

	before := view.DeepCopy()
	view.Default()
	state.held.complete(view)
	state.inventory.complete(view)
	result := r.reconcile(ctx, view, state)
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		// The outcome is that of being stopped, which is nobody's fault.
		return ctrl.Result{}, err
	}
	if result.slot == slotHeld {
		r.limiter.hold(state)
	}
	r.limiter.expire(state, r.Clock.Now())
	return r.report(ctx, state, before, view, result)
}

// fetch returns the view and its state, or nil if nothing is to be done for it.
func (r *Reconciler) fetch(ctx context.Context, name types.NamespacedName) (*v1.MarkdownView, *viewState, error) {
	log, view, state := ctrl.LoggerFrom(ctx), &v1.MarkdownView{}, r.states.of(name)
	if err := r.Client.Get(ctx, name, view); err != nil {
		if apierrors.IsNotFound(err) {
			log.V(1).Info("forgotten", "reason", "the view is gone")
			r.forget(name, state)
		}
		return nil, nil, client.IgnoreNotFound(err)
	}
	if state.uid != "" && state.uid != view.UID {
		log.V(1).Info("forgotten", "reason", "the view is another one of the name")
		r.forget(name, state)
		state = r.states.of(name)
	}
	state.uid = view.UID
	// Deletion is garbage collection's: there is no finalizer to remove.
	if !view.DeletionTimestamp.IsZero() || view.Spec.Suspend {
		log.V(1).Info("left alone", "suspended", view.Spec.Suspend)
		r.letGo(name, state)
		state.lastApplied.Distrust()
		return nil, nil, nil
	}
	return view, state, nil
}

// forget drops what is remembered of a view that is gone.
func (r *Reconciler) forget(view types.NamespacedName, state *viewState) {
	r.states.forget(view)
	r.letGo(view, state)
	r.Inline.forget(view, state.uid)
	r.Metrics.forget(view)
}

// letGo gives back what is held for a view that isn't looked after.
func (r *Reconciler) letGo(view types.NamespacedName, state *viewState) {
	r.limiter.release(state, true)
	r.Accounts.Release(view)
	r.Inline.drop(view)
}

// holds reports whether a view has what others wait for.
func (r *Reconciler) holds(view types.NamespacedName) bool {
	return r.limiter.holds(view) || r.room.holds(view)
}

// reconcile applies what a view wants, and checks whether that is served. What was
// applied last is kept while what is wanted can't be had, or has to wait.
func (r *Reconciler) reconcile(ctx context.Context, view *v1.MarkdownView, state *viewState) result {
	if err := r.Accounts.Check(ctx, view); err != nil {
		return r.keep(ctx, view, state, failure(err))
	}
	rendered, fresh, failed := r.wanted(ctx, view, state)
	if failed != nil {
		return r.keep(ctx, view, state, *failed)
	}
	good, err := r.lastGood(ctx, view, state, rendered.objects, false)
	if err != nil {
		return r.keep(ctx, view, state, failure(err))
	}
	plan, err := r.Applier.Plan(ctx, view, good.objects, &state.lastApplied, &state.written)
	if err != nil {
		return r.cantPlan(ctx, view, state, good, err)
	}
	replacesPods, err := plan.ReplacesPods()
	if err != nil {
		return r.keep(ctx, view, state, failure(err))
	}
	if replacesPods && !good.returned {
		if inUse, ok := r.limiter.acquire(client.ObjectKeyFromObject(view), state); !ok {
			waiting := waitingForSlot(inUse)
			waiting.served = servesAll(view) && !failedBefore(view)
			return r.keep(ctx, view, state, waiting)
		}
	}
	applier, err := r.applierOf(ctx, view, plan)
	if err != nil {
		return r.keep(ctx, view, state, failure(err))
	}
	copied, err := r.copyServed(ctx, view, state, plan, good, applier)
	if err != nil {
		return r.keep(ctx, view, state, failure(err))
	}
	state.kept = nil
	applied, err := applier.Execute(ctx, plan)
	applied.Written = append(copied, applied.Written...)
	r.recordCorrections(view, applied.Corrections)
	r.recordDrifts(ctx, view, applied.Drifts)
	if err != nil {
		failed := failure(r.Accounts.Explain(view, err))
		failed.written = applied.Written
		failed.requeueAfter = soonest(failed.requeueAfter, good.recheck)
		return failed
	}
	if fresh {
		r.Inline.done(view)
	}
	newRollout, warnings := noteApplied(view, state, &rendered, fresh, good)
	if waits := r.restartEdited(ctx, view, state, plan, &applied, good); waits != nil {
		waits.written = applied.Written
		return *waits
	}
	checked := r.check(ctx, view, state, plan, newRollout, good)
	checked.written = applied.Written
	checked.requeueAfter = soonest(checked.requeueAfter, applied.Recheck)
	if checked.state == outcome.Served {
		checked = r.prune(ctx, view, state, rendered.configMaps, checked)
	}
	if len(applied.Fights) > 0 {
		checked = fought(checked, applied)
	}
	checked.warnings = warnings
	return checked
}

// wanted finds and renders what a view wants, as render does, or returns why it can't be
// had. The status names what was attempted either way.
func (r *Reconciler) wanted(ctx context.Context, view *v1.MarkdownView, state *viewState) (rendered rendering, fresh bool, failed *result) {
	status := &view.Status
	inputs, err := r.Pages.Find(ctx, view)
	if err != nil {
		return rendering{}, false, new(failure(err))
	}
	revision := pages.Revision(inputs)
	status.LastAttemptedRevision = cmp.Or(revision, status.LastAttemptedRevision)
	rendered, fresh, err = r.render(ctx, view, state, inputs)
	if err != nil {
		failed := new(failure(err))
		if failed.state == outcome.Progressing && servesAll(view) {
			failed.state = outcome.Unreported // what is fetched is what is served: it was lost here
		}
		return rendering{}, false, failed
	}
	status.LastAttemptedRevision = cmp.Or(revision, rendered.revision)
	return rendered, fresh, nil
}

// noteApplied notes what was applied, in the status and in memory, and reports whether
// that is rolled out anew, and what is to be told of it.
func noteApplied(view *v1.MarkdownView, state *viewState, rendered *rendering, fresh bool, good lastGood) (newRollout bool, warnings []generator.Problem) {
	otherWarnings := state.rendered.key != "" && !slices.Equal(state.rendered.warnings, rendered.warnings)
	otherPages := fresh && state.remember(*rendered)
	status := &view.Status
	// The source's revision and the pages' digest change independently: check both.
	newRollout = otherPages || status.LastAppliedRevision != status.LastAttemptedRevision
	status.LastAppliedRevision = status.LastAttemptedRevision
	status.Inventory = inventoryOf(view, rendered)
	state.inventory = appliedInventory{view.UID, status.Inventory.DeepCopy()}
	if status.LastAppliedDigest = rendered.digest; good.returned {
		status.LastAppliedDigest = "" // what is wanted is still to be applied
	}
	if newRollout || otherWarnings {
		warnings = rendered.warnings
	}
	return newRollout, warnings
}

// prune deletes the ConfigMaps that nothing needs any more now that others are served.
func (r *Reconciler) prune(ctx context.Context, view *v1.MarkdownView, state *viewState, configMaps []string, served result) result {
	pruned, recheck, err := r.pruneAs(ctx, view, state, configMaps)
	served.written = append(served.written, pruned...)
	served.requeueAfter = soonest(served.requeueAfter, recheck)
	if err != nil {
		failed := failure(err)
		failed.written = served.written
		return failed
	}
	return served
}

const (
	// reportTimeout is how long the status of a view may take to write whose
	// reconciliation took too long.
	reportTimeout = 10 * time.Second
	// statusRecheck is how soon a status is written again that was decided on an older
	// version of the view.
	statusRecheck = 500 * time.Millisecond
)

// report writes the result into the view's status and, where it is new, into events and
// the log, and returns when the view is to be looked at again.
func (r *Reconciler) report(ctx context.Context, state *viewState, before, view *v1.MarkdownView, result result) (ctrl.Result, error) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
		defer cancel()
	}
	if result.state == outcome.Unreported {
		view.Status = before.Status
	}
	if postponed := result.beside(driftOf(view, state)).report(view, r.Clock.Now()); postponed {
		result.requeueAfter = soonest(result.requeueAfter, progressRefresh)
	}
	told := before
	var err error
	if left := r.hold(state, before, view, &result); left > 0 {
		told, result.requeueAfter = view, soonest(result.requeueAfter, left)
	} else {
		err = r.writeStatus(ctx, state, before, view)
	}
	if apierrors.IsConflict(err) {
		state.refused = before.ResourceVersion
		return ctrl.Result{RequeueAfter: statusRecheck}, nil // the view has just changed
	}
	if before.ResourceVersion != "" && before.ResourceVersion == state.refused {
		// That nothing has changed since a version which isn't the latest says nothing, and
		// if only the status is newer nothing wakes the view when the cache shows it.
		result.requeueAfter = soonest(result.requeueAfter, statusRecheck)
	} else {
		state.refused = ""
	}
	if result.slot == slotReleased {
		// Not before: the status of the next view is to be the later one.
		r.limiter.release(state, result.state == outcome.Served)
	}
	if err != nil {
		return ctrl.Result{Priority: new(handler.LowPriority)}, err
	}
	r.recordTransition(told, view)
	r.recordWarnings(view, result.warnings)
	logResult(ctx, told, view, &result)
	if result.err == nil {
		r.states.succeeded(state)
	}
	// What stands in the way of a stalled view doesn't go by itself, and to look may cost requests.
	if result.state != outcome.Served && result.state != outcome.Stalled && result.requeueAfter > 0 {
		result.requeueAfter = min(result.requeueAfter, view.Spec.Interval.Duration)
	}
	return ctrl.Result{
		RequeueAfter: soonest(result.requeueAfter, state.written.Pending(r.Clock.Now())),
		Priority:     new(handler.LowPriority), // what has changed comes first, however many fail
	}, result.err
}

// soonest returns the shorter of two waits, of which 0 is none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
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
		state.inventory.forgetIfIn(before)
		return nil
	}
	// Only the status is sent, since nobody asked for the defaults that the spec got here, and
	// only metadata comes back: the view may hold large pages.
	patch, err := client.MergeFromWithOptions(statusOf(before, before), client.MergeFromWithOptimisticLock{}).Data(statusOf(before, view))
	if err != nil {
		return fmt.Errorf("encode the status of MarkdownView %s/%s: %w", view.Namespace, view.Name, err)
	}
	answer := &metav1.PartialObjectMetadata{}
	answer.SetGroupVersionKind(v1.GroupVersion.WithKind(v1.Kind))
	answer.Namespace, answer.Name = view.Namespace, view.Name
	err = r.Client.Status().Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(generator.FieldManager))
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of MarkdownView %s/%s: %w", view.Namespace, view.Name, err))
	}
	state.inventory = appliedInventory{} // the status has it
	state.view.Store(&writtenView{answer.UID, answer.ResourceVersion, *view.Status.DeepCopy(), r.Clock.Now()})
	return nil
}

// statusOf is a view's status in a version, and nothing else.
func statusOf(version, view *v1.MarkdownView) *v1.MarkdownView {
	return &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Namespace: version.Namespace, Name: version.Name, ResourceVersion: version.ResourceVersion},
		Status:     view.Status,
	}
}

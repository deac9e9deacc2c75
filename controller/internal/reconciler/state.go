package reconciler

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/health"
)

// viewState is all that is remembered of a view between reconciliations. It is fetched
// once per reconciliation, and dropped in one piece when the view is gone. Its fields
// are the reconciliation's own, of which there is one at a time, but for the last four;
// the writes have a lock of their own, since the watches end expectations.
//
// A restart loses it. What that costs: each view is rendered and compared once more; one
// apply where a webhook changes our fields; a rollout's timeout begins anew, unless the
// status or the Deployment says that it has passed; no event for what drifted meanwhile;
// a rollout that waited for a slot may wait anew.
type viewState struct {
	// uid is the view's: another one of its name may take its place unseen.
	uid types.UID
	// rendered is what was generated and applied last; zero if nothing was.
	rendered rendering
	// lastApplied is what the last apply of each object led to.
	lastApplied apply.LastApplied
	// written are the writes that the cache may not show yet.
	written apply.Expectations
	// served is the revision that was served last; empty if that isn't known.
	served string
	// unrest is nil between reconciliations if all of it is zero.
	*unrest

	// view is the view as its status was written last; nil if the cache has shown that.
	view atomic.Pointer[writtenView]
	// pageBytes is the size of the pages, for the metrics; 0 if it isn't known.
	pageBytes atomic.Int64
	// slot is the view's place among the rollouts, and retry when it is tried again,
	// under the lock of the states.
	slot  rolloutSlot
	retry backOff
}

// unrest is what is remembered of a view that is changed, or can't be as it is wanted.
type unrest struct {
	// invalid is what couldn't be generated; zero if that wasn't so last.
	invalid invalidRendering
	// kept are the objects of before while new ones can't be had; nil while they can.
	kept *apply.Keepable
	// refused is the version of the view for which a status was refused, because there is
	// a newer one, which the cache may show late.
	refused string
	// held is the status that isn't written yet.
	held *heldStatus
	// inventory is that of what was applied last: no status may have been written since.
	inventory appliedInventory
	// rollout is the one that goes on; zero if none does.
	rollout rolloutStart
	// notCopied is why the pages that were served last couldn't be copied; nil if they could.
	notCopied error
	// short is since when pods of it are missing that can't start.
	short shortage
	// returned is since when pods of the last good pages make no progress, to which a
	// Deployment has returned; zero if it hasn't.
	returned rolloutStart
}

// begin has room for what a reconciliation notes.
func (s *viewState) begin() {
	if s.unrest == nil {
		s.unrest = &unrest{}
	}
}

// end drops that room if nothing is noted.
func (s *viewState) end() {
	if s.unrest != nil && *s.unrest == (unrest{}) {
		s.unrest = nil
	}
}

// writtenView is what the API server answered when a view's status was written. Its spec
// is that of the view that this was decided on.
type writtenView struct {
	uid     types.UID
	version string
	status  v1.MarkdownViewStatus
	at      time.Time
}

// latest returns the newer of the cache's view and the written one: the cache may not
// show it yet, and what was reported would be reported again.
func (s *viewState) latest(cached *v1.MarkdownView, now time.Time) *v1.MarkdownView {
	w := s.view.Load()
	if w != nil && w.isNewer(cached) && now.Sub(w.at) < apply.SettleTime {
		latest := cached.DeepCopy()
		latest.ResourceVersion = w.version
		w.status.DeepCopyInto(&latest.Status)
		return latest
	}
	s.view.Store(nil)
	return cached
}

// isNewer reports whether the cache doesn't show yet what was written.
func (w *writtenView) isNewer(cached *v1.MarkdownView) bool {
	order, err := resourceversion.CompareResourceVersion(w.version, cached.ResourceVersion)
	return err == nil && order > 0 && w.uid == cached.UID
}

// appliedInventory is the inventory of a view; zero if nothing was applied.
type appliedInventory struct {
	view      types.UID
	inventory *v1.Inventory
}

// complete gives a view the inventory that its status would have, had it not been refused
// because the view had changed: what was applied is the view's all the same.
func (a *appliedInventory) complete(view *v1.MarkdownView) {
	if a.view == view.UID && a.inventory != nil {
		view.Status.Inventory = a.inventory.DeepCopy()
	}
}

// forgetIfIn forgets the inventory when a view's status has it. That of a view of which
// nothing is reported may not have it yet.
func (a *appliedInventory) forgetIfIn(view *v1.MarkdownView) {
	if equality.Semantic.DeepEqual(a.inventory, view.Status.Inventory) {
		*a = appliedInventory{}
	}
}

// rolloutStart is a rollout that goes on, and since when it has made no progress, on the
// monotonic clock: a clock that jumps fails no rollout.
type rolloutStart struct {
	generation int64
	revision   string
	counts     health.Counts
	at         time.Time
	// progressed means that it has made progress since it is known, and explained that it was
	// reported what stands in its way.
	progressed, explained bool
}

// begin notes the beginning of a rollout, unless it is the one that goes on, and returns
// for how long it has made no progress.
func (s *rolloutStart) begin(generation int64, revision string, counts health.Counts, now time.Time) time.Duration {
	if s.at.IsZero() || s.generation != generation || s.revision != revision {
		*s = rolloutStart{generation: generation, revision: revision, counts: counts, at: now}
	}
	if best, progressed := s.counts.Progress(counts); progressed {
		s.counts, s.at, s.progressed = best, now, true
	}
	return now.Sub(s.at)
}

// absorb takes counts for what the rollout has reached already, not for its progress.
func (s *rolloutStart) absorb(counts health.Counts) {
	s.counts, _ = s.counts.Progress(counts)
}

// stuckFor is for how long the rollout has made no progress; 0 if none goes on.
func (s *rolloutStart) stuckFor(now time.Time) time.Duration {
	if s.at.IsZero() {
		return 0
	}
	return now.Sub(s.at)
}

// shortage is a lack of pods of the last good pages.
type shortage struct {
	// since is when it was seen first; zero if there is none.
	since time.Time
	// vain is when there was nothing to return to.
	vain time.Time
}

// begin notes whether there is one, and returns for how long.
func (s *shortage) begin(is bool, now time.Time) time.Duration {
	switch {
	case !is:
		s.since = time.Time{}
		return 0
	case s.since.IsZero():
		s.since = now
	}
	return now.Sub(s.since)
}

// viewStates holds the state of each view. Its zero value is empty.
type viewStates struct {
	mu     sync.Mutex
	byView map[types.NamespacedName]*viewState
}

// of returns a view's state, a new one if nothing is remembered.
func (s *viewStates) of(view types.NamespacedName) *viewState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, ok := s.byView[view]
	if !ok {
		if s.byView == nil {
			s.byView = map[types.NamespacedName]*viewState{}
		}
		state = &viewState{}
		s.byView[view] = state
	}
	return state
}

// isNew reports whether a view was never looked at, as far as is remembered.
func (s *viewStates) isNew(view types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byView[view] == nil
}

// forget drops the state of a view that is gone.
func (s *viewStates) forget(view types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byView, view)
}

// pageBytes returns the size of a view's pages; 0 if it isn't known.
func (s *viewStates) pageBytes(view types.NamespacedName) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state, ok := s.byView[view]; ok {
		return state.pageBytes.Load()
	}
	return 0
}

// seen tells a view's state what the cache shows of the view.
func (s *viewStates) seen(view *v1.MarkdownView) {
	s.mu.Lock()
	state := s.byView[client.ObjectKeyFromObject(view)]
	s.mu.Unlock()
	if state == nil {
		return
	}
	if written := state.view.Load(); written != nil && !written.isNewer(view) {
		state.view.CompareAndSwap(written, nil)
	}
}

// gone tells a view's state that one of its objects is gone, or has lost our label.
func (s *viewStates) gone(view types.NamespacedName, kind string, object client.Object, unknown bool) {
	s.mu.Lock()
	state := s.byView[view]
	s.mu.Unlock()
	if state != nil {
		state.written.Gone(kind, object, unknown)
	}
}

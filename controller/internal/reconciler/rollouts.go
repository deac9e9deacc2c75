package reconciler

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/health"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// rolloutSlot is a view's place among the rollouts.
type rolloutSlot struct {
	// held means that the view may roll out.
	held bool
	// failed means that it had one when something failed, and rolls out as before once that is
	// over.
	failed bool
	// spent means that it has had one for as long as it might without progress: it gets none
	// again without having asked until it is served.
	spent bool
	// ticket is the view's place in the queue; 0 if it doesn't wait.
	ticket uint64
}

// rolloutLimiter limits how many views replace their pods at once: a release with
// another viewer replaces those of all views. The slots are in the views' states, and a
// slot that becomes free is given to the view that has waited longest, of namespaces in
// turn: one with many views that make no progress holds back another's for one of them at
// a time. It isn't lost if that view has no use for it any more: it is released in its turn.
type rolloutLimiter struct {
	// limit is how many slots there are; 0 means any number, and nobody waits.
	limit  int
	states *viewStates
	// wake has views reconciled that were given a slot.
	wake chan event.GenericEvent

	// What follows is under the lock of states. held and waiting count the views whose
	// slots say so; queues has those that wait in their order, by namespace, and some that
	// don't any more, places counts them, and turns are the namespaces, the next one first.
	held, waiting, places int
	queues                map[string][]queued
	turns                 []string
	tickets               uint64
	// uses has what becomes of each slot that is held, or was when something failed.
	uses map[*viewState]*slotUsed
}

// slotUsed is what a view has made of its slot.
type slotUsed struct {
	// since is when it has come further last, or was looked at first; zero if it wasn't yet.
	since time.Time
	// best is how far it has come, of all that it has rolled out with this slot; nil if that
	// isn't known yet.
	best *health.Counts
}

// slotPatience is how long a view may keep its slot without progress, whatever its timeout
// is, and whatever becomes of it meanwhile: others wait for it.
const slotPatience = 5 * time.Minute

// queued is a place in the queue, which is its view's only as long as that has the ticket.
type queued struct {
	view   types.NamespacedName
	state  *viewState
	ticket uint64
}

func (q *queued) left() bool { return q.state.slot.ticket != q.ticket }

func newRolloutLimiter(limit int, states *viewStates) rolloutLimiter {
	return rolloutLimiter{limit: limit, states: states, wake: make(chan event.GenericEvent, 1024), queues: map[string][]queued{}, uses: map[*viewState]*slotUsed{}}
}

// acquire reports whether a view may replace its pods now. If not, it waits, and inUse
// is how many slots are.
func (l *rolloutLimiter) acquire(view types.NamespacedName, state *viewState) (inUse int, ok bool) {
	if l.limit == 0 {
		return 0, true
	}
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	if state.slot.held {
		return 0, true
	}
	if l.held < l.limit {
		l.set(state, rolloutSlot{held: true})
		return l.held, true
	}
	if state.slot.ticket == 0 {
		l.tickets++
		l.set(state, rolloutSlot{ticket: l.tickets})
		l.enqueue(queued{view, state, l.tickets})
	}
	return l.held, false
}

// hold counts a view that rolls out without having asked, as after a restart of this process,
// or of its pods by its owner: as long as there are slots that nobody waits for, and once. One
// that has asked for the slot that it had when something failed counts in any case.
func (l *rolloutLimiter) hold(state *viewState) {
	if l.limit == 0 {
		return
	}
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	slot := state.slot
	if slot.failed || !slot.held && !slot.spent && l.waiting == 0 && l.held < l.limit {
		l.set(state, rolloutSlot{held: true})
	}
}

// progress notes how far the rollout of a view is.
func (l *rolloutLimiter) progress(state *viewState, counts health.Counts, now time.Time) {
	if l.limit == 0 {
		return
	}
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	use := l.uses[state]
	switch {
	case use == nil:
	case use.best == nil:
		use.best = &counts
	default:
		if best, progressed := use.best.Progress(counts); progressed {
			use.best, use.since = &best, now
		}
	}
}

// expire has a view that was looked at give its slot away if it has had that for too long. What
// rolls out, or waits while it has a slot, is looked at again within a minute, unless its status
// can't be written.
func (l *rolloutLimiter) expire(state *viewState, now time.Time) {
	if l.limit == 0 {
		return
	}
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	switch use := l.uses[state]; {
	case use == nil:
	case use.since.IsZero():
		use.since = now
	case now.Sub(use.since) >= slotPatience:
		l.set(state, rolloutSlot{spent: true})
		l.passAllOn()
	}
}

// release takes a view's slot, or its place in the queue, and passes free slots on. done means
// that the view is served, or isn't looked after any more. It is also for a view that is gone,
// after its state was dropped.
func (l *rolloutLimiter) release(state *viewState, done bool) {
	if l.limit == 0 {
		return
	}
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	slot := rolloutSlot{}
	if !done {
		slot.failed, slot.spent = state.slot.held || state.slot.failed, state.slot.spent
	}
	l.set(state, slot)
	l.passAllOn()
}

// holds reports whether a view has a slot.
func (l *rolloutLimiter) holds(view types.NamespacedName) bool {
	if l.limit == 0 {
		return false
	}
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	state := l.states.byView[view]
	return state != nil && state.slot.held
}

// waits is how many views wait for a slot.
func (l *rolloutLimiter) waits() int {
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	return l.waiting
}

// set changes a view's slot, and counts. The lock is held.
func (l *rolloutLimiter) set(state *viewState, slot rolloutSlot) {
	l.count(state.slot, -1)
	l.count(slot, 1)
	if !slot.held && !slot.failed {
		delete(l.uses, state)
	} else if l.uses[state] == nil {
		l.uses[state] = &slotUsed{}
	}
	state.slot = slot
}

func (l *rolloutLimiter) count(slot rolloutSlot, by int) {
	if slot.held {
		l.held += by
	}
	if slot.ticket != 0 {
		l.waiting += by
	}
}

// enqueue adds a place at the end of its namespace's. Those that were left are dropped once
// they are the most, or a view that comes and goes while no slot becomes free would fill the
// memory. The lock is held.
func (l *rolloutLimiter) enqueue(place queued) {
	namespace := place.view.Namespace
	if len(l.queues[namespace]) == 0 {
		l.turns = append(l.turns, namespace)
	}
	l.queues[namespace] = append(l.queues[namespace], place)
	if l.places++; l.places > 2*l.waiting {
		l.places = 0
		l.turns = slices.DeleteFunc(l.turns, func(namespace string) bool {
			left := slices.DeleteFunc(l.queues[namespace], func(q queued) bool { return q.left() })
			l.places += len(left)
			return l.setQueue(namespace, left)
		})
	}
}

// setQueue notes who waits of a namespace, and reports whether nobody does. The lock is held.
func (l *rolloutLimiter) setQueue(namespace string, queue []queued) (empty bool) {
	if len(queue) == 0 {
		delete(l.queues, namespace)
		return true
	}
	l.queues[namespace] = queue
	return false
}

// passAllOn gives all slots that are free to views that wait. The lock is held.
func (l *rolloutLimiter) passAllOn() {
	for l.held < l.limit && l.passOn() {
	}
}

// passOn gives a free slot to the view that has waited longest of the namespace whose turn
// it is, and wakes it. The lock is held.
func (l *rolloutLimiter) passOn() bool {
	for len(l.turns) > 0 {
		namespace := l.turns[0]
		queue := l.queues[namespace]
		if queue[0].left() {
			l.places--
			if l.setQueue(namespace, queue[1:]) {
				l.turns = l.turns[1:]
			}
			continue
		}
		next := queue[0]
		select {
		case l.wake <- wakeUp(next.view):
		default:
			return false // full: each that is in it has a slot, and passes it on
		}
		l.places--
		l.turns = l.turns[1:]
		if !l.setQueue(namespace, queue[1:]) {
			l.turns = append(l.turns, namespace)
		}
		l.set(next.state, rolloutSlot{held: true})
		return true
	}
	return false
}

// wakeUp is the event that has a view reconciled.
func wakeUp(name types.NamespacedName) event.GenericEvent {
	view := &v1.MarkdownView{}
	view.Namespace, view.Name = name.Namespace, name.Name
	return event.GenericEvent{Object: view}
}

// waitingForSlot is the result of a view that waits for a slot: it is woken.
func waitingForSlot(inUse int) result {
	return result{
		state: outcome.Progressing, reason: v1.ProgressingReason,
		message:      fmt.Sprintf("waiting for a rollout slot (%d in use)", inUse),
		requeueAfter: v1.DefaultInterval, slot: slotKept,
	}
}

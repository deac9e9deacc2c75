package reconciler

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// rolloutSlot is a view's place among the rollouts.
type rolloutSlot struct {
	// held means that the view may roll out.
	held bool
	// ticket is the view's place in the queue; 0 if it doesn't wait.
	ticket uint64
}

// rolloutLimiter limits how many views replace their pods at once: a release with
// another viewer replaces those of all views. The slots are in the views' states, and a
// slot that becomes free is given to the view that has waited longest, so that it isn't
// lost if that view has no use for it any more: it is released in its turn.
type rolloutLimiter struct {
	// limit is how many slots there are; 0 means any number, and nobody waits.
	limit  int
	states *viewStates
	// wake has views reconciled that were given a slot.
	wake chan event.GenericEvent

	tickets uint64 // under the lock of states
}

func newRolloutLimiter(limit int, states *viewStates) rolloutLimiter {
	return rolloutLimiter{limit: limit, states: states, wake: make(chan event.GenericEvent, 1024)}
}

// acquire reports whether a view may replace its pods now. If not, it waits, and inUse
// is how many slots are.
func (l *rolloutLimiter) acquire(state *viewState) (inUse int, ok bool) {
	if l.limit == 0 {
		return 0, true
	}
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	if state.slot.held {
		return 0, true
	}
	if inUse = l.inUse(); inUse < l.limit {
		state.slot = rolloutSlot{held: true}
		return inUse, true
	}
	if state.slot.ticket == 0 {
		l.tickets++
		state.slot.ticket = l.tickets
	}
	return inUse, false
}

// hold counts a view that rolls out without having asked, as after a restart.
func (l *rolloutLimiter) hold(state *viewState) {
	if l.limit == 0 {
		return
	}
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	state.slot = rolloutSlot{held: true}
}

// release takes a view's slot, or its place in the queue, and passes free slots on. It
// is also for a view that is gone, after its state was dropped.
func (l *rolloutLimiter) release(state *viewState) {
	if l.limit == 0 {
		return
	}
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	state.slot = rolloutSlot{}
	for free := l.limit - l.inUse(); free > 0; free-- {
		if !l.passOn() {
			return
		}
	}
}

// inUse counts the slots that are held. The lock is held.
func (l *rolloutLimiter) inUse() int {
	held := 0
	for _, state := range l.states.byView {
		if state.slot.held {
			held++
		}
	}
	return held
}

// passOn gives a free slot to the view that has waited longest, and wakes it. The lock
// is held.
func (l *rolloutLimiter) passOn() bool {
	var next *viewState
	var name types.NamespacedName
	for view, state := range l.states.byView {
		if state.slot.ticket != 0 && (next == nil || state.slot.ticket < next.slot.ticket) {
			next, name = state, view
		}
	}
	if next == nil {
		return false
	}
	next.slot = rolloutSlot{held: true}
	select {
	case l.wake <- wakeUp(name):
	default: // it looks again by itself
	}
	return true
}

// wakeUp is the event that has a view reconciled.
func wakeUp(name types.NamespacedName) event.GenericEvent {
	view := &v1.MarkdownView{}
	view.Namespace, view.Name = name.Namespace, name.Name
	return event.GenericEvent{Object: view}
}

// waitingForSlot is the result of a view that waits for a slot.
func waitingForSlot(inUse int) result {
	return result{
		state: outcome.Progressing, reason: v1.ProgressingReason,
		message:      fmt.Sprintf("waiting for a rollout slot (%d in use)", inUse),
		requeueAfter: progressRefresh, slot: slotKept,
	}
}

package reconciler

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// workerShares keeps one namespace from holding all workers, with views whose writes hang
// in an admission webhook, say: a namespace gets another worker only while more are free
// than it has, so that alone it gets half of them, and there is always one for a namespace
// that has none unless very many are as busy. A view that gets none is parked, which costs
// nothing, and woken when there may be one. Of a namespace's views, new ones come before those
// that are looked at again: their pods can be started while the others wait. First come those
// that hold what nobody else can have meanwhile. nil limits nothing.
type workerShares struct {
	// workers is how many there are.
	workers int
	// wake has views reconciled that were parked.
	wake chan event.GenericEvent
	// holds reports whether a view has a rollout slot, or room for a large book.
	holds func(types.NamespacedName) bool

	mu     sync.Mutex
	busy   int
	held   map[string]int
	parked map[string]*parkedViews
	// woken are views that were woken and haven't come yet, and wokenOf how many of a namespace.
	woken   map[types.NamespacedName]bool
	wokenOf map[string]int
}

// turnsOfNew is how many new views are woken before one that is looked at again.
const turnsOfNew = 3

// parkedViews are those of a namespace, each once, in the order in which they came.
type parkedViews struct {
	first, fresh, again []types.NamespacedName
	known               map[types.NamespacedName]bool
	// turns is how many new ones were woken since the last that is looked at again.
	turns int
}

func (p *parkedViews) add(view types.NamespacedName, holds, isNew bool) {
	switch {
	case holds && !slices.Contains(p.first, view):
		p.remove(view)
		p.first = append(p.first, view)
	case p.known[view]:
	case isNew:
		p.fresh = append(p.fresh, view)
	default:
		p.again = append(p.again, view)
	}
	p.known[view] = true
}

// next is the list whose first view is to be woken next.
func (p *parkedViews) next() *[]types.NamespacedName {
	if len(p.first) > 0 {
		return &p.first
	}
	if len(p.again) == 0 || len(p.fresh) > 0 && p.turns < turnsOfNew {
		return &p.fresh
	}
	return &p.again
}

func (p *parkedViews) removeNext() {
	from := p.next()
	switch from {
	case &p.fresh:
		p.turns++
	case &p.again:
		p.turns = 0
	}
	delete(p.known, (*from)[0])
	*from = (*from)[1:]
}

func (p *parkedViews) remove(view types.NamespacedName) {
	isView := func(other types.NamespacedName) bool { return other == view }
	delete(p.known, view)
	for _, list := range []*[]types.NamespacedName{&p.first, &p.fresh, &p.again} {
		*list = slices.DeleteFunc(*list, isView)
	}
}

func newWorkerShares(workers int, holds func(types.NamespacedName) bool) *workerShares {
	return &workerShares{
		workers: workers, holds: holds, wake: make(chan event.GenericEvent, 1024),
		held: map[string]int{}, parked: map[string]*parkedViews{},
		woken: map[types.NamespacedName]bool{}, wokenOf: map[string]int{},
	}
}

// acquire takes a worker for a view; if it returns false the view is parked.
func (w *workerShares) acquire(view types.NamespacedName, isNew bool) bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	wasWoken := w.woken[view]
	if wasWoken {
		delete(w.woken, view)
		decrement(w.wokenOf, view.Namespace)
	}
	if w.held[view.Namespace] < w.workers-w.busy {
		w.busy++
		w.held[view.Namespace]++
		w.unpark(view)
		return true
	}
	if w.parked[view.Namespace] == nil {
		w.parked[view.Namespace] = &parkedViews{known: map[types.NamespacedName]bool{}}
	}
	w.parked[view.Namespace].add(view, w.holds(view), isNew)
	if wasWoken {
		w.wakeParked() // another namespace may have what this one can't
	}
	return false
}

// unpark has a view not be woken that has come by itself: it couldn't come again before it is
// done, and would hold up those that are to be woken after it. The lock is held.
func (w *workerShares) unpark(view types.NamespacedName) {
	views := w.parked[view.Namespace]
	if views == nil || !views.known[view] {
		return
	}
	if views.remove(view); len(views.known) == 0 {
		delete(w.parked, view.Namespace)
	}
}

// release gives a worker back, and wakes who may have it.
func (w *workerShares) release(namespace string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	decrement(w.held, namespace)
	w.wakeParked()
}

// wakeParked wakes a view of each namespace that may have one more worker, when those that
// were woken before have come: otherwise each worker that is free had one of every namespace
// come, all but one of them to be parked again. The lock is held.
func (w *workerShares) wakeParked() {
	for namespace, views := range w.parked {
		if w.held[namespace]+w.wokenOf[namespace] >= w.workers-w.busy-len(w.woken) {
			continue
		}
		view := (*views.next())[0]
		select {
		case w.wake <- wakeUp(view):
		default:
			return // full: what is in it leads to more releases
		}
		w.woken[view] = true
		w.wokenOf[namespace]++
		if views.removeNext(); len(views.known) == 0 {
			delete(w.parked, namespace)
		}
	}
}

// decrement counts down, and forgets what comes to nothing.
func decrement(counts map[string]int, key string) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

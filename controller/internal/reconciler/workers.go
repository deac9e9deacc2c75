package reconciler

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// workerShares keeps one namespace from holding all workers, with views whose writes hang
// in an admission webhook, say: a namespace gets another worker only while more are free
// than it has, so that alone it gets half of them, and there is always one for a namespace
// that has none unless very many are as busy. A view that gets none is parked, which costs
// nothing, and woken when there may be one. Of a namespace's views, new ones come before those
// that are looked at again: their pods can be started while the others wait. nil limits nothing.
type workerShares struct {
	// workers is how many there are.
	workers int
	// wake has views reconciled that were parked.
	wake chan event.GenericEvent

	mu     sync.Mutex
	busy   int
	held   map[string]int
	parked map[string]*parkedViews
}

// turnsOfNew is how many new views are woken before one that is looked at again.
const turnsOfNew = 3

// parkedViews are those of a namespace, each once, in the order in which they came.
type parkedViews struct {
	fresh, again []types.NamespacedName
	known        map[types.NamespacedName]bool
	// turns is how many new ones were woken since the last that is looked at again.
	turns int
}

func (p *parkedViews) add(view types.NamespacedName, isNew bool) {
	if p.known[view] {
		return
	}
	p.known[view] = true
	if isNew {
		p.fresh = append(p.fresh, view)
	} else {
		p.again = append(p.again, view)
	}
}

// next is the list whose first view is to be woken next.
func (p *parkedViews) next() *[]types.NamespacedName {
	if len(p.again) == 0 || len(p.fresh) > 0 && p.turns < turnsOfNew {
		return &p.fresh
	}
	return &p.again
}

func (p *parkedViews) removeNext() {
	from := p.next()
	if p.turns++; from == &p.again {
		p.turns = 0
	}
	delete(p.known, (*from)[0])
	*from = (*from)[1:]
}

func newWorkerShares(workers int) *workerShares {
	return &workerShares{
		workers: workers, wake: make(chan event.GenericEvent, 1024),
		held: map[string]int{}, parked: map[string]*parkedViews{},
	}
}

// acquire takes a worker for a view; if it returns false the view is parked.
func (w *workerShares) acquire(view types.NamespacedName, isNew bool) bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.available(view.Namespace) {
		if w.parked[view.Namespace] == nil {
			w.parked[view.Namespace] = &parkedViews{known: map[types.NamespacedName]bool{}}
		}
		w.parked[view.Namespace].add(view, isNew)
		return false
	}
	w.busy++
	w.held[view.Namespace]++
	return true
}

// available reports whether a namespace may have one more worker. The lock is held.
func (w *workerShares) available(namespace string) bool {
	return w.held[namespace] < w.workers-w.busy
}

// release gives a worker back, and wakes a view of each namespace that may have it.
func (w *workerShares) release(namespace string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	if w.held[namespace]--; w.held[namespace] == 0 {
		delete(w.held, namespace)
	}
	for waiting, views := range w.parked {
		if !w.available(waiting) {
			continue
		}
		select {
		case w.wake <- wakeUp((*views.next())[0]):
		default:
			return // full: what is in it leads to more releases
		}
		if views.removeNext(); len(views.known) == 0 {
			delete(w.parked, waiting)
		}
	}
}

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
// nothing, and woken when there may be one. nil limits nothing.
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

// parkedViews are those of a namespace, each once, in the order in which they came.
type parkedViews struct {
	order []types.NamespacedName
	known map[types.NamespacedName]bool
}

func (p *parkedViews) add(view types.NamespacedName) {
	if !p.known[view] {
		p.order, p.known[view] = append(p.order, view), true
	}
}

func (p *parkedViews) removeFirst() {
	delete(p.known, p.order[0])
	p.order = p.order[1:]
}

func newWorkerShares(workers int) *workerShares {
	return &workerShares{
		workers: workers, wake: make(chan event.GenericEvent, 1024),
		held: map[string]int{}, parked: map[string]*parkedViews{},
	}
}

// acquire takes a worker for a view; if it returns false the view is parked.
func (w *workerShares) acquire(view types.NamespacedName) bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.available(view.Namespace) {
		if w.parked[view.Namespace] == nil {
			w.parked[view.Namespace] = &parkedViews{known: map[types.NamespacedName]bool{}}
		}
		w.parked[view.Namespace].add(view)
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
		case w.wake <- wakeUp(views.order[0]):
		default:
			return // full: what is in it leads to more releases
		}
		if views.removeFirst(); len(views.order) == 0 {
			delete(w.parked, waiting)
		}
	}
}

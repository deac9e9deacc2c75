package reconciler

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator/book"
)

const (
	// bookRoomBytes is how many bytes of pages are generated at once; it takes about ten
	// times as much memory.
	bookRoomBytes = 2 * book.MaxBookBytes
	// smallBook is how many bytes never wait: workers bound how many of them there are.
	smallBook = 1 << 20
)

// bookRoom bounds how many bytes of pages are read and generated at once, whatever the
// number of workers. A view that gets no room is parked, and woken when there is some that
// is its own; namespaces take turns, and one that has room gets no more than half of it.
// Small views always get room. nil limits nothing.
type bookRoom struct {
	capacity int64
	// wake has views reconciled that were parked.
	wake chan event.GenericEvent

	mu sync.Mutex
	// held is what each view has, or will have when it is woken.
	held   map[types.NamespacedName]int64
	parked []parkedBook
}

type parkedBook struct {
	view  types.NamespacedName
	bytes int64
}

func newBookRoom() *bookRoom {
	return &bookRoom{capacity: bookRoomBytes, wake: make(chan event.GenericEvent, 1024), held: map[types.NamespacedName]int64{}}
}

// acquire takes room for a view's pages, until it is released; if it returns false the
// view is parked.
func (r *bookRoom) acquire(view types.NamespacedName, bytes int64) bool {
	if r == nil || bytes <= smallBook {
		return true
	}
	bytes = min(bytes, r.capacity)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[view] >= bytes {
		return true
	}
	delete(r.held, view)
	r.park(view, bytes)
	r.grant(view)
	return r.held[view] > 0
}

// shrink gives back what of a view's room its pages don't need, once they are read.
func (r *bookRoom) shrink(view types.NamespacedName, bytes int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	held := r.held[view]
	switch {
	case bytes >= held:
		return
	case bytes <= smallBook:
		delete(r.held, view)
	default:
		r.held[view] = bytes
	}
	r.grant(types.NamespacedName{})
}

// holds reports whether a view has room.
func (r *bookRoom) holds(view types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[view] > 0
}

// release gives room back, and forgets a view that was parked.
func (r *bookRoom) release(view types.NamespacedName) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, held := r.held[view]; !held {
		return
	}
	delete(r.held, view)
	r.grant(types.NamespacedName{})
}

// park has a view wait. The lock is held.
func (r *bookRoom) park(view types.NamespacedName, bytes int64) {
	if i := slices.IndexFunc(r.parked, func(p parkedBook) bool { return p.view == view }); i >= 0 {
		r.parked[i].bytes = bytes
		return
	}
	// After all that are as many turns away.
	turn, place := 0, len(r.parked)
	turns := map[string]int{}
	for _, p := range r.parked {
		if p.view.Namespace == view.Namespace {
			turn++
		}
	}
	for i, p := range r.parked {
		if turns[p.view.Namespace] > turn {
			place = i
			break
		}
		turns[p.view.Namespace]++
	}
	r.parked = slices.Insert(r.parked, place, parkedBook{view, bytes})
}

// grant gives free room to those who wait, and wakes them, but for the one that asks now.
// The lock is held.
func (r *bookRoom) grant(asking types.NamespacedName) {
	var used int64
	byNamespace, passed := map[string]int64{}, map[string]bool{}
	for view, bytes := range r.held {
		used += bytes
		byNamespace[view.Namespace] += bytes
	}
	r.parked = slices.DeleteFunc(r.parked, func(p parkedBook) bool {
		namespace := p.view.Namespace
		// Nobody overtakes, of a namespace or of all: else a large book might wait indefinitely.
		if passed[namespace] || byNamespace[namespace] > 0 && byNamespace[namespace]+p.bytes > r.capacity/2 {
			passed[namespace] = true
			return false
		}
		if used+p.bytes > r.capacity {
			used = r.capacity
			return false
		}
		if p.view != asking {
			select {
			case r.wake <- wakeUp(p.view):
			default:
				return false // full: what is in it leads to more releases
			}
		}
		r.held[p.view] = p.bytes
		used += p.bytes
		byNamespace[namespace] += p.bytes
		return true
	})
}

// roomRecheck is when a view that waits for room looks again without having been woken.
const roomRecheck = 30 * time.Second

// errNoRoom is the outcome of a view that waits for room.
func errNoRoom(bytes int64) error {
	return &outcome.Error{State: outcome.Unreported, Retry: roomRecheck,
		Message: fmt.Sprintf("its pages, up to %d bytes, wait until those of others are generated", bytes)}
}

// errTooManyPages is the outcome of a view whose sources hold more than is read at once.
func errTooManyPages(bytes int64) error {
	return &outcome.Error{State: outcome.Stalled, Reason: v1.InvalidReason, Message: fmt.Sprintf(
		"spec.contentFrom names %d bytes of pages and files, of which at most %d are read, and a book may have at most %d: name less, or make several views of it",
		bytes, int64(bookRoomBytes), book.MaxBookBytes)}
}

// bytesOfBook counts the bytes of pages and files.
func bytesOfBook(b book.Book) int64 {
	bytes := len(b.Toml)
	for _, page := range b.Pages {
		bytes += len(page)
	}
	for _, file := range b.Files {
		bytes += len(file)
	}
	return int64(bytes)
}

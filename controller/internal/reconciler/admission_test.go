package reconciler

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/zoetrope/markdown-view/generator/book"
)

const largeBook = 31 << 20

func viewIn(namespace string, i int) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: fmt.Sprint("view-", i)}
}

// usedRoom is how many bytes are taken.
func (r *bookRoom) usedRoom() (used int64) {
	for _, bytes := range r.held {
		used += bytes
	}
	return used
}

// wokenView is the view that was woken; empty if none was.
func (r *bookRoom) wokenView() types.NamespacedName {
	select {
	case e := <-r.wake:
		return types.NamespacedName{Namespace: e.Object.GetNamespace(), Name: e.Object.GetName()}
	default:
		return types.NamespacedName{}
	}
}

func TestLargeBooksWaitForRoom(t *testing.T) {
	r := newBookRoom(bookRoomBytes)
	if !r.acquire(viewIn("a", 0), largeBook) || r.acquire(viewIn("a", 1), largeBook) || r.acquire(viewIn("a", 2), largeBook) {
		t.Fatal("a namespace doesn't get half of the room")
	}
	if !r.acquire(viewIn("b", 0), largeBook) || r.acquire(viewIn("c", 0), largeBook) {
		t.Fatal("two namespaces don't share the room")
	}
	for i := range 20 {
		if !r.acquire(viewIn("a", 10+i), smallBook) {
			t.Error("a small one waits")
		}
	}
	if used := r.usedRoom(); used > r.capacity {
		t.Errorf("%d bytes are taken of %d", used, r.capacity)
	}
	// Namespaces take turns.
	r.release(viewIn("b", 0))
	if woken := r.wokenView(); woken != viewIn("c", 0) {
		t.Errorf("woken: %v", woken)
	}
	if r.acquire(viewIn("d", 0), largeBook) {
		t.Error("the room of what was woken is given away")
	}
	if !r.acquire(viewIn("c", 0), largeBook) {
		t.Error("what was woken doesn't get its room")
	}
}

func TestNoLargeBookIsLostOrStarved(t *testing.T) {
	r := newBookRoom(bookRoomBytes)
	var running, done []types.NamespacedName
	for i := range 50 {
		view := viewIn(fmt.Sprint("namespace-", i%3), i)
		bytes := int64(largeBook)
		if i == 25 {
			bytes = 64 * book.MaxBookBytes // takes all there is
		}
		if r.acquire(view, bytes) {
			running = append(running, view)
		}
	}
	for len(running) > 0 {
		if used := r.usedRoom(); used > r.capacity {
			t.Fatalf("%d bytes are taken of %d", used, r.capacity)
		}
		r.release(running[0])
		done, running = append(done, running[0]), running[1:]
		for view := r.wokenView(); view != (types.NamespacedName{}); view = r.wokenView() {
			running = append(running, view)
		}
	}
	if len(done) != 50 || len(r.held) > 0 || len(r.parked) > 0 {
		t.Errorf("%d were generated; left: %v, %v", len(done), r.held, r.parked)
	}
}

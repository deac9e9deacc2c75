package reconciler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/pages"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
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
	r := newBookRoom()
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

// TestWhoMayNotHaveRoomBlocksNobody has a namespace that has room ask for more than its share.
func TestWhoMayNotHaveRoomBlocksNobody(t *testing.T) {
	r := newBookRoom()
	if !r.acquire(viewIn("a", 0), 20<<20) || r.acquire(viewIn("a", 1), bookRoomBytes) {
		t.Fatal("a namespace gets more than half of the room")
	}
	if !r.acquire(viewIn("b", 0), 2<<20) {
		t.Error("another namespace waits, though there is room")
	}
	if r.acquire(viewIn("a", 2), 2<<20) {
		t.Error("one that came later overtakes it, as others might without end")
	}
	r.release(viewIn("b", 0))
	r.release(viewIn("a", 0))
	if woken := r.wokenView(); woken != viewIn("a", 1) {
		t.Errorf("woken: %v", woken)
	}
}

// TestRoomIsForWhatWasRead has a view name many ConfigMaps whose sizes aren't known.
func TestRoomIsForWhatWasRead(t *testing.T) {
	r := newBookRoom()
	if !r.acquire(viewIn("a", 0), bookRoomBytes) || r.acquire(viewIn("b", 0), largeBook) {
		t.Fatal("it doesn't take all of the room")
	}
	r.shrink(viewIn("a", 0), 2<<20)
	if woken := r.wokenView(); woken != viewIn("b", 0) || r.usedRoom() != largeBook+2<<20 {
		t.Errorf("woken: %v, %d bytes are taken", woken, r.usedRoom())
	}
	r.shrink(viewIn("a", 0), largeBook) // it never grows
	r.shrink(viewIn("b", 0), smallBook)
	if r.usedRoom() != 2<<20 || r.holds(viewIn("b", 0)) || !r.holds(viewIn("a", 0)) {
		t.Errorf("%d bytes are taken", r.usedRoom())
	}
	r.shrink(viewIn("c", 0), 0) // it has none
	r.release(viewIn("a", 0))
	if len(r.held) > 0 {
		t.Errorf("held: %v", r.held)
	}
}

// TestRoomIsGivenBackBeforeAnythingIsWritten: to write may take as long as a webhook hangs.
func TestRoomIsGivenBackBeforeAnythingIsWritten(t *testing.T) {
	f := newFixture(t)
	f.room = newBookRoom()
	f.view("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		for _, name := range []string{"a", "b", "c"} {
			f.Must(f.Admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: name}, Data: map[string]string{name + ".md": ""}}))
			v.Spec.ContentFrom = append(v.Spec.ContentFrom, v1.ContentSource{ConfigMapRef: &v1.ConfigMapSource{Name: name}})
		}
	})
	var took []int64
	f.Refuse = func(string, client.Object) error {
		took = append(took, f.room.usedRoom())
		return nil
	}
	f.reconcile("docs")
	if len(took) < 3 || slices.Max(took) > 0 {
		t.Errorf("bytes that were taken at each write: %v", took)
	}
}

// TestRoomIsGivenBackIfPagesCantBeRead has what is served be repaired then.
func TestRoomIsGivenBackIfPagesCantBeRead(t *testing.T) {
	f := newFixture(t)
	f.room = newBookRoom()
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.Markdowns["start.md"] = strings.Repeat("x", smallBook+1)
		for _, name := range []string{"a", "b"} {
			f.Must(f.Admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: name}, Data: map[string]string{name + ".md": ""}}))
			v.Spec.ContentFrom = append(v.Spec.ContentFrom, v1.ContentSource{ConfigMapRef: &v1.ConfigMapSource{Name: name}})
		}
	})
	f.Must(f.Admin.Delete(t.Context(), fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-docs")))
	held := int64(0)
	f.Pages.APIReader = unreadable{f.Admin, func() { held = f.room.usedRoom() }}
	writes := 0
	f.Refuse = func(string, client.Object) error {
		if writes++; f.room.usedRoom() > 0 {
			t.Errorf("%d bytes are taken while something is written", f.room.usedRoom())
		}
		return nil
	}
	if _, err := f.tryReconcile("docs"); err == nil || held == 0 || writes < 2 {
		t.Errorf("%v; %d bytes were taken for what was read, and then %d writes", err, held, writes)
	}
}

// TestWhatIsFetchedMeanwhileNeedsRoom has an artifact arrive after a view was taken for a small one.
func TestWhatIsFetchedMeanwhileNeedsRoom(t *testing.T) {
	large := book.Book{Pages: map[string][]byte{"large.md": make([]byte, largeBook)}}
	for name, test := range map[string]struct {
		known int64 // once it has arrived
		reads bool
	}{
		"its size is known before it is read": {largeBook, false},
		"it arrives while it is read":         {0, true},
	} {
		f := newFixture(t)
		f.room = newBookRoom()
		f.room.held[viewIn("docs", 1)] = largeBook // all that a namespace gets
		known, read := int64(0), false
		inputs := []pages.Input{
			{Bytes: func() int64 { return 0 }, Read: func(context.Context) (book.Book, error) {
				known = test.known
				return book.Book{}, nil
			}},
			{Bytes: func() int64 { return known }, Read: func(context.Context) (book.Book, error) {
				read = true
				return large, nil
			}},
		}
		view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "docs"}}
		if _, _, err := f.read(t.Context(), view, inputs); err == nil || read != test.reads || len(f.room.parked) != 1 {
			t.Errorf("%s: %v; read: %t; %d views wait", name, err, read, len(f.room.parked))
		}
		f.room.release(viewIn("docs", 1))
		if _, _, err := f.read(t.Context(), view, inputs); err != nil || f.room.usedRoom() != largeBook {
			t.Errorf("%s: once there is room: %v, %d bytes are taken", name, err, f.room.usedRoom())
		}
	}
}

// unreadable fails to read anything.
type unreadable struct {
	client.Reader
	asked func()
}

func (u unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	u.asked()
	return errForbidden
}

func TestNoLargeBookIsLostOrStarved(t *testing.T) {
	r := newBookRoom()
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

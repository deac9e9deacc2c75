package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

func holdsNothing(types.NamespacedName) bool { return false }

// TestWhoHoldsWhatOthersNeedComesFirst has a rollout slot be given to a view that is parked.
func TestWhoHoldsWhatOthersNeedComesFirst(t *testing.T) {
	view := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "docs", Name: name} }
	holds := map[types.NamespacedName]bool{}
	w := newWorkerShares(2, func(view types.NamespacedName) bool { return holds[view] })
	w.acquire(view("busy"), true)
	for _, name := range []string{"a", "b", "c"} {
		w.acquire(view(name), name == "a")
	}
	holds[view("c")] = true
	for range 2 { // it is woken by who has given it that
		if w.acquire(view("c"), false) {
			t.Fatal("c has a worker")
		}
	}
	var order []string
	for range 3 {
		w.release("docs")
		name := (<-w.wake).Object.GetName()
		order = append(order, name)
		if !w.acquire(view(name), false) {
			t.Fatalf("%s was woken, and gets no worker", name)
		}
	}
	if got := strings.Join(order, " "); got != "c a b" {
		t.Errorf("woken: %s", got)
	}
	if len(w.parked) > 0 {
		t.Errorf("parked: %v", w.parked)
	}
}

func TestWorkersAreShared(t *testing.T) {
	view := func(namespace string, i int) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("docs-%d", i)}
	}
	w := newWorkerShares(8, holdsNothing)
	take := func(namespace string, views int) (got int) {
		for i := range views {
			if w.acquire(view(namespace, i), true) {
				got++
			}
		}
		return got
	}
	woken := func() (names []string) {
		for {
			select {
			case e := <-w.wake:
				names = append(names, e.Object.GetNamespace()+"/"+e.Object.GetName())
			default:
				return names
			}
		}
	}
	if got := take("hostile", 30); got != 4 {
		t.Errorf("a namespace alone gets %d of 8 workers", got)
	}
	if got := take("also-hostile", 30); got != 2 {
		t.Errorf("the second one gets %d of the 4 that are left", got)
	}
	if got := take("quiet", 1); got != 1 {
		t.Error("a third one gets none")
	}
	w.release("quiet")
	if got := woken(); len(got) != 0 {
		t.Errorf("woken, and can't have it: %v", got)
	}
	w.release("hostile")
	if got := woken(); len(got) != 1 || got[0] != "also-hostile/docs-2" {
		t.Errorf("woken: %v, want that of the namespace with fewer workers", got)
	}
	if !w.acquire(view("also-hostile", 2), true) {
		t.Error("who was woken gets none")
	}
	for range 3 {
		w.release("hostile")
		w.release("also-hostile")
	}
	woken()
	if len(w.held) != 0 || w.busy != 0 {
		t.Errorf("at rest %d are busy: %v", w.busy, w.held)
	}
}

func TestParkedViewsAllGetTheirTurn(t *testing.T) {
	w := newWorkerShares(4, holdsNothing)
	queue := []types.NamespacedName{}
	for i := range 50 {
		queue = append(queue, types.NamespacedName{Namespace: "docs", Name: fmt.Sprint(i)})
	}
	done, busy := map[string]bool{}, 0
	for steps := 0; len(done) < 50 && steps < 1000; steps++ {
		if len(queue) > 0 {
			if next := queue[0]; w.acquire(next, true) {
				busy++
				done[next.Name] = true
			}
			queue = queue[1:]
		} else if busy > 0 {
			busy--
			w.release("docs")
		}
		select {
		case e := <-w.wake:
			queue = append(queue, client.ObjectKeyFromObject(e.Object))
		default:
		}
	}
	if len(done) != 50 {
		t.Errorf("%d of 50 views were reconciled", len(done))
	}
}

// TestNoMoreAreWokenThanHaveAWorker has views of many namespaces wait for the same worker.
func TestNoMoreAreWokenThanHaveAWorker(t *testing.T) {
	w := newWorkerShares(2, holdsNothing)
	name := func(namespace int) types.NamespacedName {
		return types.NamespacedName{Namespace: fmt.Sprint(namespace), Name: "docs"}
	}
	for i := range 20 {
		w.acquire(name(i), true)
	}
	if w.busy != 2 || len(w.parked) != 18 {
		t.Fatalf("%d are busy, and %d namespaces wait", w.busy, len(w.parked))
	}
	w.release("0")
	if len(w.wake) != 1 {
		t.Fatalf("%d views are woken for one worker", len(w.wake))
	}
	w.release("1")
	if len(w.wake) != 2 {
		t.Fatalf("%d views are woken for two workers", len(w.wake))
	}
	// Others were quicker than those that were woken, and are done before these come.
	first, second := client.ObjectKeyFromObject((<-w.wake).Object), client.ObjectKeyFromObject((<-w.wake).Object)
	for i := range 2 {
		w.acquire(name(i), true)
	}
	w.acquire(first, true)
	if len(w.wake) != 0 {
		t.Error("one is woken while there is no worker")
	}
	w.release("0")
	if len(w.wake) != 0 {
		t.Error("one is woken for the worker that another one comes for")
	}
	// That one's namespace has as many as it may have.
	w.acquire(types.NamespacedName{Namespace: second.Namespace, Name: "other"}, true)
	w.release("1")
	w.acquire(second, true)
	if len(w.wake) != 1 {
		t.Errorf("%d are woken for the worker that who was woken may not have", len(w.wake))
	}
	if len(w.woken) != 1 || len(w.wokenOf) != 1 {
		t.Errorf("noted as woken: %v, %v", w.woken, w.wokenOf)
	}
}

// TestWhoIsAtWorkIsNotWoken has a parked view come by itself, and still be at work when the next
// one is to be woken.
func TestWhoIsAtWorkIsNotWoken(t *testing.T) {
	w := newWorkerShares(4, holdsNothing)
	come := func(name string, want bool) {
		t.Helper()
		if got := w.acquire(types.NamespacedName{Namespace: "docs", Name: name}, true); got != want {
			t.Fatalf("%s gets a worker: %t", name, got)
		}
	}
	come("first", true)
	come("second", true)
	come("third", false)
	come("fourth", false)
	w.release("docs")
	if got := (<-w.wake).Object.GetName(); got != "third" {
		t.Fatalf("%s is woken", got)
	}
	come("fourth", true)
	w.release("docs")
	come("third", true)
	w.release("docs")
	if len(w.wake) > 0 || len(w.woken) > 0 || len(w.parked) > 0 {
		t.Errorf("%d are woken, noted as woken: %v, parked: %v", len(w.wake), w.woken, w.parked)
	}
}

// TestWhoIsWokenCountsForItsNamespace has a view be on its way to the worker that it was woken for.
func TestWhoIsWokenCountsForItsNamespace(t *testing.T) {
	w := newWorkerShares(2, holdsNothing)
	for i := range 3 {
		w.acquire(types.NamespacedName{Namespace: "hostile", Name: fmt.Sprint(i)}, true)
	}
	w.release("hostile")
	w.acquire(types.NamespacedName{Namespace: "quiet", Name: "docs"}, true)
	w.release("quiet")
	if len(w.wake) != 1 {
		t.Errorf("%d views of a namespace are woken, which would have all workers", len(w.wake))
	}
}

// TestNewViewsComeFirst parks views that were looked at before and then new ones.
func TestNewViewsComeFirst(t *testing.T) {
	w := newWorkerShares(2, holdsNothing)
	park := func(names ...string) {
		for _, name := range names {
			w.acquire(types.NamespacedName{Namespace: "docs", Name: name}, strings.HasPrefix(name, "new"))
		}
	}
	park("busy", "old-1", "old-2", "new-1", "new-2", "new-3", "new-4", "new-5", "new-6", "new-7", "new-1", "old-1")
	var got []string
	for len(w.parked) > 0 {
		w.release("docs")
		next := client.ObjectKeyFromObject((<-w.wake).Object)
		got = append(got, next.Name)
		w.acquire(next, false)
	}
	want := []string{"new-1", "new-2", "new-3", "old-1", "new-4", "new-5", "new-6", "old-2", "new-7"}
	if !slices.Equal(got, want) {
		t.Errorf("woken: %v, want %v", got, want)
	}
}

func TestRetriesBackOff(t *testing.T) {
	f := newFixture(t)
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "docs", Name: "docs"}}
	limiter := &retryLimiter{states: &f.states, min: time.Second, max: time.Hour, now: f.clock.Now}
	view := f.view("docs")
	view.Spec.Interval = &metav1.Duration{Duration: 20 * time.Second}
	state := f.states.of(request.NamespacedName)
	f.states.prepareRetry(state, view)
	wait := func(want time.Duration) {
		t.Helper()
		if got := limiter.When(request); got != want {
			t.Errorf("it waits %s, want %s", got, want)
		}
	}
	wait(time.Second)
	for range 100 {
		wait(time.Second) // failures in between, because of events
	}
	for _, want := range []time.Duration{2, 4, 8, 16, 20, 20, 20} {
		f.clock.SetTime(f.clock.Now().Add(20 * time.Second))
		limiter.Forget(request)
		wait(want * time.Second)
	}
	view.Generation++
	f.states.prepareRetry(state, view)
	wait(time.Second)
	f.clock.SetTime(f.clock.Now().Add(time.Second))
	f.states.succeeded(state)
	wait(time.Second)
}

// TestHangingWriteIsReported has the API server not answer until the reconciliation has
// taken too long.
func TestHangingWriteIsReported(t *testing.T) {
	f := newFixture(t)
	f.view("docs")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	f.Refuse = func(verb string, object client.Object) error {
		if verb == "apply" && object.GetName() == "viewer-docs" {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "docs", Name: "docs"}}
	if _, err := f.Reconcile(ctx, request); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	view := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
	f.ready(view, metav1.ConditionFalse, v1.ApplyFailedReason, "apply Deployment viewer-docs: context deadline exceeded")

	stopped, stop := context.WithCancel(t.Context())
	stop()
	f.Refuse = func(string, client.Object) error { return stopped.Err() }
	if _, err := f.Reconcile(stopped, request); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	after := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
	if after.ResourceVersion != view.ResourceVersion {
		t.Error("to be stopped is called a failure")
	}
}

package reconciler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// flood is how many views one namespace has.
const flood = 5000

func keyOf(namespace string, i int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("docs-%d", i)}}
}

// TestAFloodOfChangesDelaysNobody has all views of a namespace change at once, and each of
// them take a worker for as long as the test.
func TestAFloodOfChangesDelaysNobody(t *testing.T) {
	queue := priorityqueue.New[reconcile.Request](t.Name())
	defer queue.ShutDown()
	shares := newWorkerShares(20, holdsNothing)
	for i := range flood {
		queue.Add(keyOf("busy", i))
	}
	queue.Add(keyOf("quiet", 0))
	atWork := 0
	for handedOut := 1; ; handedOut++ {
		request, _ := queue.Get()
		acquired := shares.acquire(request.NamespacedName, true)
		queue.Done(request)
		if request.Namespace == "quiet" {
			if !acquired {
				t.Error("it gets no worker")
			}
			break
		}
		if acquired {
			atWork++
		}
	}
	if atWork != 10 {
		t.Errorf("%d views of the other namespace are worked on before it, want their share of the 20 workers", atWork)
	}
	shares.acquire(keyOf("busy", flood-1).NamespacedName, true) // changed once more, and parked already
	for turn := range flood - atWork {
		shares.release("busy")
		if got, want := client.ObjectKeyFromObject((<-shares.wake).Object), keyOf("busy", atWork+turn).NamespacedName; got != want {
			t.Fatalf("woken: %s, want %s", got, want)
		}
		if !shares.acquire(keyOf("busy", atWork+turn).NamespacedName, true) {
			t.Fatal("who is woken gets no worker")
		}
	}
	shares.release("busy")
	if len(shares.wake) > 0 || len(shares.parked) > 0 {
		t.Errorf("%d are woken and %d parked in the end", len(shares.wake), len(shares.parked))
	}
}

// TestFailingViewsComeAfterNewOnes has all views of a namespace be due to be tried again
// when another view is made.
func TestFailingViewsComeAfterNewOnes(t *testing.T) {
	const failing = 50
	for name, refusal := range map[string]error{
		"that are tried again with back-off": errors.New("a webhook says no"),
		"that are looked at again":           apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "docs", nil),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.Refuse = func(string, client.Object) error { return refusal }
			queue := priorityqueue.New[reconcile.Request](t.Name(), func(o *priorityqueue.Opts[reconcile.Request]) {
				o.RateLimiter = atOnce{}
			})
			defer queue.ShutDown()
			for i := range failing {
				f.view(keyOf("docs", i).Name)
				queue.Add(keyOf("docs", i))
			}
			for range failing {
				f.work(queue)
			}
			queue.Add(keyOf("quiet", 0))
			if got, _ := queue.Get(); got.Namespace != "quiet" {
				t.Errorf("%s comes before the new view", got)
			}
		})
	}
}

// work does what the controller does with what the queue hands out, but waits for nothing.
func (f *fixture) work(queue priorityqueue.PriorityQueue[reconcile.Request]) {
	f.Helper()
	request, priority, _ := queue.GetWithPriority()
	result, err := f.Reconcile(f.Context(), request)
	if result.Priority != nil {
		priority = *result.Priority
	}
	if err == nil && result.RequeueAfter == 0 {
		f.Fatalf("%s isn't tried again", request)
	}
	queue.AddWithOpts(priorityqueue.AddOpts{RateLimited: err != nil, Priority: &priority}, request)
	queue.Done(request)
}

// atOnce is a rate limiter that has everything tried again at once.
type atOnce struct{}

func (atOnce) When(ctrl.Request) time.Duration { return 0 }
func (atOnce) Forget(ctrl.Request)             {}
func (atOnce) NumRequeues(ctrl.Request) int    { return 0 }

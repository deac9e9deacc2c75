package reconciler

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// limited returns a limiter of views.
func limited(limit int) *limitedViews {
	l := &limitedViews{}
	l.rolloutLimiter = newRolloutLimiter(limit, &l.states)
	return l
}

type limitedViews struct {
	rolloutLimiter
	states viewStates
}

func (l *limitedViews) state(name string) *viewState {
	return l.states.of(types.NamespacedName{Name: name})
}

// acquire asks for a slot for a view.
func (l *limitedViews) acquire(name string) (inUse int, ok bool) {
	return l.rolloutLimiter.acquire(types.NamespacedName{Name: name}, l.state(name))
}

func (l *limitedViews) release(name string) { l.rolloutLimiter.release(l.state(name), true) }

// woken returns the view that was woken; empty if none was.
func (l *rolloutLimiter) woken() string {
	select {
	case woken := <-l.wake:
		return woken.Object.GetName()
	default:
		return ""
	}
}

func TestRolloutSlotIsPassedOn(t *testing.T) {
	l := limited(1)
	a, b, c := "a", "b", "c"
	if _, ok := l.acquire(a); !ok {
		t.Error("a waits for a free slot")
	}
	if _, ok := l.acquire(a); !ok {
		t.Error("a waits for its own slot")
	}
	for _, waiting := range []string{b, c, b} {
		if inUse, ok := l.acquire(waiting); ok || inUse != 1 {
			t.Errorf("acquired: %t, in use: %d", ok, inUse)
		}
	}
	l.release(a)
	if got := l.woken(); got != "b" {
		t.Fatalf("woken: %q, want b, which has waited longest", got)
	}
	if _, ok := l.acquire(c); ok {
		t.Error("c doesn't wait for b")
	}
	if _, ok := l.acquire(b); !ok {
		t.Error("b has to wait")
	}
	l.release(b)
	if got := l.woken(); got != "c" {
		t.Errorf("woken: %q, want c", got)
	}
}

// TestViewsStayReadyUntilTheirRolloutOfAnotherRelease: what a view serves is still what it
// asks for.
func TestViewsStayReadyUntilTheirRolloutOfAnotherRelease(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"a", "b", "c"} {
		f.served(name)
		f.asOfTheLastRelease(name)
	}
	f.states = viewStates{}
	f.limiter = newRolloutLimiter(1, &f.states)
	f.Metrics.rolloutsWaiting = f.limiter.waits
	f.reconcile("a")
	f.stopRollout("a")
	f.ready(f.reconcile("a"), metav1.ConditionFalse, v1.ProgressingReason, "0 of 1 replicas")
	f.events.GetEvents()
	f.Requests()
	for range 2 {
		view := f.reconcile("b")
		f.ready(view, metav1.ConditionTrue, v1.HealthyReason, "1 replica serves revision "+view.Status.LastAppliedRevision[:len("sha256:")+12]+"; waiting for a rollout slot to replace its pods")
	}
	if got := f.Requests(); len(got) != 1 {
		t.Errorf("to wait costs %v", got)
	}
	if got := f.eventMessages(); len(got) > 0 {
		t.Errorf("events: %v", got)
	}
	if got := series(t, f.Metrics); !slices.Contains(got, "markdownview_rollouts_waiting{} 1") {
		t.Errorf("metrics: %v", got)
	}
	// One whose pods fail, or that asks for something else, isn't Ready.
	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-b")
	deployment.Status.AvailableReplicas = 0
	f.Must(f.Admin.Status().Update(t.Context(), deployment))
	f.ready(f.reconcile("b"), metav1.ConditionFalse, v1.ProgressingReason, "waiting for a rollout slot (1 in use); of the pages of before: 0 of 1")
	f.rollOut("b") // a pod was lost, and is there again: its slot may be hours away
	f.ready(f.reconcile("b"), metav1.ConditionTrue, v1.HealthyReason, "; waiting for a rollout slot to replace its pods")
	f.update("c", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Next\n" })
	f.ready(f.reconcile("c"), metav1.ConditionFalse, v1.ProgressingReason, "waiting for a rollout slot")
}

// asOfTheLastRelease has a view's Deployment be as a release with another default viewer
// has applied it.
func (f *fixture) asOfTheLastRelease(name string) {
	f.Helper()
	live := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-"+name)
	deployment, err := appsv1ac.ExtractDeployment(live, generator.FieldManager)
	f.Must(err)
	deployment.Spec.Template.Spec.Containers[0].WithImage("example.com/viewer:last")
	f.Must(f.Admin.Apply(f.Context(), deployment, client.FieldOwner(generator.FieldManager), client.ForceOwnership))
}

// servedWithAnotherViewer creates views and has them served, and then want another viewer.
func (f *fixture) servedWithAnotherViewer(names ...string) {
	f.Helper()
	for _, name := range names {
		f.served(name)
		f.update(name, func(v *v1.MarkdownView) { v.Spec.ViewerImage = "example.com/viewer:2" })
	}
}

// TestUnusedRolloutSlotIsPassedOn: a view that is given a slot may have been suspended,
// deleted, or changed back meanwhile. The others must not wait on.
func TestUnusedRolloutSlotIsPassedOn(t *testing.T) {
	l := limited(1)
	a, b, c := "a", "b", "c"
	for _, s := range []string{a, b, c} {
		l.acquire(s)
	}
	l.release(a)
	if got := l.woken(); got != "b" {
		t.Fatalf("woken: %q", got)
	}
	l.release(b)
	if got := l.woken(); got != "c" {
		t.Errorf("woken: %q, want c", got)
	}
}

// TestNamespacesTakeTurnsAtRollouts has a tenant with many views, whose rollouts each take as
// long as they may.
func TestNamespacesTakeTurnsAtRollouts(t *testing.T) {
	l := limited(1)
	ask := func(namespace, name string) {
		view := types.NamespacedName{Namespace: namespace, Name: name}
		l.rolloutLimiter.acquire(view, l.states.of(view))
	}
	for i := range 100 {
		ask("hostile", fmt.Sprint("docs-", i))
	}
	ask("other", "first")
	ask("other", "second")
	holds := types.NamespacedName{Namespace: "hostile", Name: "docs-0"}
	var order []string
	for range 5 {
		l.rolloutLimiter.release(l.states.of(holds), true)
		woken := <-l.wake
		holds = client.ObjectKeyFromObject(woken.Object)
		order = append(order, holds.String())
	}
	want := []string{"hostile/docs-1", "other/first", "hostile/docs-2", "other/second", "hostile/docs-3"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

func TestRolloutSlotsWithoutLimit(t *testing.T) {
	l := limited(0)
	for _, name := range []string{"a", "b"} {
		if _, ok := l.acquire(name); !ok {
			t.Errorf("%s waits", name)
		}
	}
	l.hold(l.state("a"))
	l.release("a")
	if got := l.woken(); got != "" {
		t.Errorf("woken: %q", got)
	}
}

// TestManyWaitForARolloutSlot has ten thousand views wait, and a hostile one come and go.
func TestManyWaitForARolloutSlot(t *testing.T) {
	const views, slots = 10000, 50
	l := limited(slots)
	name := func(i int) string { return fmt.Sprintf("docs-%d", i) }
	for i := range views {
		l.acquire(name(i))
	}
	if got, want := l.waits(), views-slots; got != want {
		t.Errorf("%d wait, want %d", got, want)
	}
	for range 5 * views {
		l.acquire("hostile")
		l.release("hostile")
	}
	if places := len(l.queues[""]); places > 3*views || places != l.places {
		t.Errorf("the queue has %d places, or %d, for %d views", places, l.places, l.waits())
	}
	for i := range views {
		if i >= slots {
			if got := l.woken(); got != name(i) {
				t.Fatalf("woken: %q, want %s", got, name(i))
			}
		}
		l.release(name(i))
		if l.held > slots {
			t.Fatalf("%d slots of %d are held", l.held, slots)
		}
	}
	if l.held != 0 || l.waits() != 0 || l.woken() != "" || len(l.queues)+len(l.turns)+l.places != 0 {
		t.Errorf("at rest %d slots are held, and %d views wait", l.held, l.waits())
	}
}

// TestNoRolloutSlotIsLostToAFullChannel has nobody look at the views that were woken.
func TestNoRolloutSlotIsLostToAFullChannel(t *testing.T) {
	l := limited(2)
	l.wake = make(chan event.GenericEvent, 1)
	for _, name := range []string{"a", "b", "c", "d"} {
		l.acquire(name)
	}
	l.release("a")
	l.release("b")
	if l.held != 1 || l.waits() != 1 {
		t.Errorf("%d have a slot and %d wait, of whom one could be woken", l.held, l.waits())
	}
	if got := l.woken(); got != "c" {
		t.Fatalf("woken: %q", got)
	}
	l.release("c")
	if got := l.woken(); got != "d" {
		t.Errorf("woken: %q, want d", got)
	}
}

// TestRolloutsOneAfterAnother has three views replace their pods, of which the one that
// waits longest goes away.
func TestRolloutsOneAfterAnother(t *testing.T) {
	for name, leave := range map[string]func(*fixture, string){
		"is suspended": func(f *fixture, name string) { f.update(name, func(v *v1.MarkdownView) { v.Spec.Suspend = true }) },
		"is deleted": func(f *fixture, name string) {
			f.Must(f.Admin.Delete(f.Context(), &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: name}}))
		},
		"becomes invalid": func(f *fixture, name string) { f.update(name, func(v *v1.MarkdownView) { v.Spec.Markdowns = nil }) },
		"is changed back": func(f *fixture, name string) { f.update(name, func(v *v1.MarkdownView) { v.Spec.ViewerImage = "" }) },
	} {
		for _, when := range []string{"while it waits", "when it is woken"} {
			t.Run(name+" "+when, func(t *testing.T) {
				f := newFixture(t)
				f.limiter = newRolloutLimiter(1, &f.states)
				f.servedWithAnotherViewer("a", "b", "c")
				f.stopRollout("a")
				f.ready(f.reconcile("a"), metav1.ConditionFalse, v1.ProgressingReason, "0 of 1 replicas")
				for _, name := range []string{"b", "c"} {
					f.ready(f.reconcile(name), metav1.ConditionFalse, v1.ProgressingReason, "waiting for a rollout slot (1 in use)")
				}
				leave(f, "b")
				if when == "while it waits" {
					_, err := f.tryReconcile("b")
					f.Must(err)
				}
				f.rollOut("a")
				f.ready(f.reconcile("a"), metav1.ConditionTrue, v1.HealthyReason, "")
				next := f.limiter.woken()
				if when == "when it is woken" {
					if next != "b" {
						t.Fatalf("woken: %q, want b", next)
					}
					_, err := f.tryReconcile("b")
					f.Must(err)
					next = f.limiter.woken()
				}
				if next != "c" {
					t.Fatalf("woken: %q, want c", next)
				}
				f.reconcile("c")
				f.ready(f.reconcile("c"), metav1.ConditionTrue, v1.HealthyReason, "") // the fake's replicas stay as they are
			})
		}
	}
}

// TestRolloutSlotIsPassedOnWhenTheStatusSaysSo: whoever watches the views sees one of them
// Ready before the next begins.
func TestRolloutSlotIsPassedOnWhenTheStatusSaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		answer error
		want   string
	}{
		"the status is written": {nil, "b"},
		"the view has just changed, and its status is written soon": {apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("changed")), ""},
		"the status can't be written":                               {errForbidden, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.limiter = newRolloutLimiter(1, &f.states)
			f.servedWithAnotherViewer("a", "b")
			f.stopRollout("a")
			f.reconcile("a")
			f.reconcile("b")
			f.rollOut("a")
			asked := false
			f.Refuse = func(string, client.Object) error {
				asked = true
				if got := f.limiter.woken(); got != "" {
					t.Errorf("woken before the status is written: %q", got)
				}
				return test.answer
			}
			if _, err := f.tryReconcile("a"); !errors.Is(err, errForbidden) && err != nil || !asked {
				t.Fatalf("asked to write: %t, error: %v", asked, err)
			}
			if got := f.limiter.woken(); got != test.want {
				t.Errorf("woken: %q, want %q", got, test.want)
			}
			f.Refuse = nil
			f.ready(f.reconcile("a"), metav1.ConditionTrue, v1.HealthyReason, "")
			if got := test.want + f.limiter.woken(); got != "b" {
				t.Errorf("woken in the end: %q, want b", got)
			}
		})
	}
}

var errForbidden = apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("not you"))

package reconciler

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// limited returns the states of views that share slots.
func limited(limit int) (l *rolloutLimiter, state func(name string) *viewState) {
	states := &viewStates{}
	limiter := newRolloutLimiter(limit, states)
	return &limiter, func(name string) *viewState { return states.of(types.NamespacedName{Name: name}) }
}

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
	l, state := limited(1)
	a, b, c := state("a"), state("b"), state("c")
	if _, ok := l.acquire(a); !ok {
		t.Error("a waits for a free slot")
	}
	if _, ok := l.acquire(a); !ok {
		t.Error("a waits for its own slot")
	}
	for _, waiting := range []*viewState{b, c, b} {
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
	l.hold(a) // a rollout that nobody asked for
	l.release(b)
	if got := l.woken(); got != "" {
		t.Errorf("woken: %q, though a rolls out", got)
	}
	l.release(a)
	if got := l.woken(); got != "c" {
		t.Errorf("woken: %q, want c", got)
	}
}

// TestUnusedRolloutSlotIsPassedOn: a view that is given a slot may have been suspended,
// deleted, or changed back meanwhile. The others must not wait on.
func TestUnusedRolloutSlotIsPassedOn(t *testing.T) {
	l, state := limited(1)
	a, b, c := state("a"), state("b"), state("c")
	for _, s := range []*viewState{a, b, c} {
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

func TestRolloutSlotsWithoutLimit(t *testing.T) {
	l, state := limited(0)
	for _, name := range []string{"a", "b"} {
		if _, ok := l.acquire(state(name)); !ok {
			t.Errorf("%s waits", name)
		}
	}
	l.hold(state("a"))
	l.release(state("a"))
	if got := l.woken(); got != "" {
		t.Errorf("woken: %q", got)
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
				for _, name := range []string{"a", "b", "c"} {
					f.served(name)
					f.update(name, func(v *v1.MarkdownView) { v.Spec.ViewerImage = "example.com/viewer:2" })
				}
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
			for _, name := range []string{"a", "b"} {
				f.served(name)
				f.update(name, func(v *v1.MarkdownView) { v.Spec.ViewerImage = "example.com/viewer:2" })
			}
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

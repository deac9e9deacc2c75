package reconciler

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/health"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// TestWhoRollsOutWithoutHavingAskedTakesNobodysSlot has the owner of a view restart its pods.
func TestWhoRollsOutWithoutHavingAskedTakesNobodysSlot(t *testing.T) {
	l := limited(2)
	unasked := l.state("unasked")
	held := func(when string, want bool) {
		t.Helper()
		if got := unasked.slot.held; got != want {
			t.Errorf("%s, it has a slot: %t", when, got)
		}
	}
	l.acquire("a")
	l.hold(unasked)
	held("while one is free", true)
	if _, ok := l.acquire("b"); ok {
		t.Error("it doesn't count")
	}
	l.release("unasked")
	l.hold(unasked)
	held("while all are in use", false)
	l.acquire("c") // waits
	l.release("a")
	l.woken() // c
	l.acquire("d")
	l.wake = nil // d can't be woken
	l.release("b")
	l.hold(unasked)
	held("while somebody waits", false)
}

// TestSlotIsKeptByProgressOnly: whatever a view does with it.
func TestSlotIsKeptByProgressOnly(t *testing.T) {
	l := limited(1)
	now := time.Unix(0, 0)
	after := func(d time.Duration, held bool, counts ...health.Counts) {
		t.Helper()
		now = now.Add(d)
		for _, c := range counts {
			l.progress(l.state("a"), c, now)
		}
		if l.expire(l.state("a"), now); l.state("a").slot.held != held {
			t.Errorf("it has its slot: %t", !held)
		}
	}
	const nearly = slotPatience - time.Second
	rolled := func(updated int32) health.Counts {
		return health.Counts{Updated: updated, Available: 3, Old: 3 - updated}
	}
	after(0, false) // it has none
	l.acquire("a")
	l.acquire("b")
	after(time.Hour, true) // it wasn't looked at before
	after(nearly, true, rolled(0))
	after(0, true, rolled(1))
	after(nearly, true, rolled(1), rolled(0)) // another one begins
	l.acquire("a")
	after(0, true, rolled(1), rolled(2))
	after(nearly, true, rolled(2))
	if got := l.woken(); got != "" {
		t.Fatalf("woken: %q", got)
	}
	after(time.Second, false, rolled(0))
	if got := l.woken(); got != "b" {
		t.Fatalf("woken: %q", got)
	}
	l.release("b")
	l.hold(l.state("a"))
	if l.state("a").slot.held {
		t.Error("it has taken a slot again, without having asked")
	}
	l.rolloutLimiter.release(l.state("a"), false)
	l.hold(l.state("a"))
	if l.state("a").slot.held {
		t.Error("it has taken a slot again after it has failed")
	}
	if _, ok := l.acquire("a"); !ok {
		t.Error("it gets none, though it has asked")
	}
	after(0, true)
	after(slotPatience, false)
	l.release("a") // served
	l.hold(l.state("a"))
	if !l.state("a").slot.held || len(l.uses) != 1 {
		t.Errorf("it has a slot: %t, %d are in use", l.state("a").slot.held, len(l.uses))
	}
}

// TestWhoCantUseASlotGivesItAway has the pages of a view that is given one wait for room.
func TestWhoCantUseASlotGivesItAway(t *testing.T) {
	f := newFixture(t)
	f.limiter = newRolloutLimiter(1, &f.states)
	f.room = newBookRoom()
	f.room.acquire(viewIn("other", 0), bookRoomBytes)
	other := f.states.of(viewIn("other", 0))
	f.limiter.hold(other)
	for _, name := range []string{"a", "b"} {
		f.served(name)
		f.update(name, func(v *v1.MarkdownView) { v.Spec.ViewerImage = "example.com/viewer:2" })
		f.ready(f.reconcile(name), metav1.ConditionFalse, v1.ProgressingReason, "waiting for a rollout slot (1 in use)")
	}
	f.limiter.release(other, true)
	if got := f.limiter.woken(); got != "a" {
		t.Fatalf("woken: %q, want a", got)
	}
	if a := (types.NamespacedName{Namespace: "docs", Name: "a"}); !f.holds(a) || !f.holds(viewIn("other", 0)) || f.holds(viewIn("docs", 1)) {
		t.Error("whoever has a slot or room isn't known")
	}
	f.update("a", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = strings.Repeat("x", smallBook+1) })
	for range 2 {
		if got := f.limiter.woken(); got != "" {
			t.Fatalf("woken: %q", got)
		}
		f.reconcile("a")
		f.clock.SetTime(f.clock.Now().Add(slotPatience))
	}
	if got := f.limiter.woken(); got != "b" {
		t.Fatalf("woken: %q, want b", got)
	}
}

// TestWhoFailsWhileItRollsOutCounts has a write of it fail, and its slot be passed on.
func TestWhoFailsWhileItRollsOutCounts(t *testing.T) {
	l := limited(1)
	now := time.Unix(0, 0)
	a := l.state("a")
	for _, name := range []string{"a", "b", "c"} {
		l.acquire(name)
	}
	l.expire(a, now)
	l.rolloutLimiter.release(a, false)
	if got := l.woken(); got != "b" {
		t.Fatalf("woken: %q", got)
	}
	l.hold(a) // its pods are being replaced all the same
	if l.release("b"); l.held != 1 || l.woken() != "" {
		t.Errorf("%d slots of 1 are in use", l.held)
	}
	l.rolloutLimiter.release(a, false)
	l.woken() // c
	if l.expire(a, now.Add(slotPatience)); len(l.uses) != 1 {
		t.Error("its time begins anew when it fails")
	}
	if l.hold(a); a.slot.held {
		t.Error("it has a slot again that it has had for too long")
	}
}

// TestChangesDontRenewASlot has the pods of a view fail, whose spec changes again and again.
func TestChangesDontRenewASlot(t *testing.T) {
	f := newFixture(t)
	f.limiter = newRolloutLimiter(1, &f.states)
	f.servedWithAnotherViewer("a", "b")
	f.stopRollout("a")
	f.reconcile("a")
	f.ready(f.reconcile("b"), metav1.ConditionFalse, v1.ProgressingReason, "waiting for a rollout slot (1 in use)")
	for minutes := range 5 {
		if got := f.limiter.woken(); got != "" {
			t.Fatalf("woken after %d minutes: %q", minutes, got)
		}
		f.clock.SetTime(f.clock.Now().Add(time.Minute))
		f.update("a", func(v *v1.MarkdownView) {
			v.Spec.Interval = &metav1.Duration{Duration: time.Duration(minutes+1) * time.Minute}
		})
		f.reconcile("a")
	}
	if got := f.limiter.woken(); got != "b" {
		t.Fatalf("woken: %q, want b", got)
	}
	f.reconcile("b")
	f.rollOut("b")
	f.ready(f.reconcile("b"), metav1.ConditionTrue, v1.HealthyReason, "")
	changed := func(state readiness, held int) {
		t.Helper()
		f.update("a", func(v *v1.MarkdownView) { v.Spec.Interval.Duration += time.Minute })
		f.ready(f.reconcile("a"), state.status, state.reason, "")
		if f.limiter.held != held {
			t.Errorf("%d slots are in use when it is %s, want %d", f.limiter.held, state.reason, held)
		}
	}
	progressing := readiness{metav1.ConditionFalse, v1.ProgressingReason}
	changed(progressing, 0)
	f.clock.SetTime(f.clock.Now().Add(time.Hour))
	f.ready(f.reconcile("a"), metav1.ConditionFalse, v1.RolloutFailedReason, "")
	changed(progressing, 0) // it has failed, but wasn't served
	f.rollOut("a")
	changed(readiness{metav1.ConditionTrue, v1.HealthyReason}, 0)
	f.stopRollout("a") // as when somebody restarts its pods
	changed(progressing, 1)
}

type readiness struct {
	status metav1.ConditionStatus
	reason string
}

// TestProgressKeepsASlot has the pods of a view become ready every four minutes, also while its
// next pages wait for room.
func TestProgressKeepsASlot(t *testing.T) {
	f := newFixture(t)
	f.limiter = newRolloutLimiter(1, &f.states)
	f.room = newBookRoom()
	f.room.acquire(viewIn("other", 0), bookRoomBytes)
	f.servedWithAnotherViewer("a")
	for updated := range int32(8) {
		if updated == 4 {
			f.update("a", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = strings.Repeat("x", smallBook+1) })
		}
		deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-a")
		deployment.Status.Replicas, deployment.Status.UpdatedReplicas = 9, updated
		f.Must(f.Admin.Status().Update(t.Context(), deployment))
		f.reconcile("a")
		f.clock.SetTime(f.clock.Now().Add(4 * time.Minute))
	}
	if f.limiter.held != 1 {
		t.Error("it has lost its slot")
	}
}

package reconciler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// These are about which pods of the last good pages are missing, and what is said of them.

// TestWhatHasReturnedIsNotServed has no slot for another try of what failed, which was applied,
// and may be by its name what the view asks for.
func TestWhatHasReturnedIsNotServed(t *testing.T) {
	p, old := badEdit(t)
	for range 3 {
		p.pass(5 * time.Minute)
		p.reconcile("docs")
	}
	p.lose(old)
	p.reconcile("docs")
	p.pass(3 * time.Second)
	p.reconcile("docs")
	p.replaced()
	p.states = viewStates{}
	p.limiter = newRolloutLimiter(1, &p.states)
	p.limiter.hold(p.states.of(client.ObjectKey{Namespace: "docs", Name: "other"}))
	for range 3 {
		p.pass(time.Minute)
		p.ready(p.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "waiting for a rollout slot")
		if diff := cmp.Diff([]string{copied}, p.mounts()); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestWhatIsRefusedStrandsNoPod has the API server refuse the Deployment of an edit, whose pages
// are applied already, for as long as it isn't that of the pages before.
func TestWhatIsRefusedStrandsNoPod(t *testing.T) {
	for _, invalid := range []bool{false, true} {
		t.Run(fmt.Sprintf("followed by an invalid edit: %t", invalid), func(t *testing.T) {
			f := newFixture(t)
			p := &pods{fixture: f}
			f.served("docs")
			old := p.make(isRunning)
			refuses := true
			f.Refuse = func(_ string, object client.Object) error {
				if _, is := object.(*appsv1.Deployment); is && refuses {
					return errors.New("denied")
				}
				return nil
			}
			f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Next\n" })
			if _, err := p.tryReconcile("docs"); err == nil {
				t.Fatal("it isn't refused")
			}
			for range 3 { // nothing is missing
				p.pass(time.Minute)
				_, _ = p.tryReconcile("docs")
			}
			p.states = viewStates{}
			if invalid {
				f.update("docs", func(v *v1.MarkdownView) { delete(v.Spec.Markdowns, "start.md") })
			}
			p.lose(old)
			_, _ = p.tryReconcile("docs")
			if diff := cmp.Diff([]string{original}, p.mounts()); diff != "" {
				t.Fatalf("it returns at once: %s", diff)
			}
			p.pass(3 * time.Second)
			refuses = false
			_, _ = p.tryReconcile("docs")
			if diff := cmp.Diff([]string{copied}, p.mounts()); diff != "" {
				t.Fatalf("it hasn't returned: %s", diff)
			}
		})
	}
}

// TestWhatARolloutTakesAwayIsNotMissing has one of two pods be away while new ones start slowly.
func TestWhatARolloutTakesAwayIsNotMissing(t *testing.T) {
	for strategy, mount := range map[string]string{
		"rollingUpdate: {maxUnavailable: 0}":   copied, // one was lost
		"rollingUpdate: {maxUnavailable: 1}":   original,
		"rollingUpdate: {maxUnavailable: 50%}": original,
		"type: Recreate, rollingUpdate: null":  original,
	} {
		t.Run(strategy, func(t *testing.T) {
			p := &pods{fixture: newFixture(t)}
			p.served("docs")
			p.update("docs", func(v *v1.MarkdownView) {
				v.Spec.Replicas, v.Spec.Patches = new(int32(2)), []v1.Patch{patch("Deployment", "spec: {strategy: {"+strategy+"}}")}
			})
			p.reconcile("docs")
			p.make(isRunning)
			p.rollOut("docs")
			p.ready(p.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
			p.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Slow\n" })
			p.reconcile("docs")
			p.make(isPending)
			p.status(2, 1)
			for range 4 {
				p.reconcile("docs")
				p.pass(10 * time.Second)
			}
			if diff := cmp.Diff([]string{mount}, p.mounts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWhatIsWantedIsTriedAgainWhereNothingStarts has the last good pages not start any more, as
// when their image is gone, and what is wanted be mended elsewhere.
func TestWhatIsWantedIsTriedAgainWhereNothingStarts(t *testing.T) {
	p := returned(t)
	p.make(isPending)
	for _, step := range []struct {
		after time.Duration
		mount string
	}{{0, copied}, {v1.DefaultTimeout - time.Minute, copied}, {2 * time.Minute, original}} {
		p.pass(step.after)
		p.status(2, 0)
		p.reconcile("docs")
		if diff := cmp.Diff([]string{step.mount}, p.mounts()); diff != "" {
			t.Fatalf("after another %s: %s", step.after, diff)
		}
	}
	p.replaced()
	p.ready(p.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
}

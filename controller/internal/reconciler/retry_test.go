package reconciler

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// TestASuccessEndsTheBackOff has the API server refuse a view's Service for a while, twice.
func TestASuccessEndsTheBackOff(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	limiter := &retryLimiter{states: &f.states, min: time.Second, max: time.Hour, now: f.clock.Now}
	failsAndWaits := func(want ...time.Duration) {
		t.Helper()
		f.clock.SetTime(f.clock.Now().Add(apply.SettleTime))
		f.Must(f.Admin.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}))
		f.Refuse = func(_ string, object client.Object) error {
			if _, ok := object.(*corev1.Service); ok {
				return errAway
			}
			return nil
		}
		for _, want := range want {
			if _, err := f.tryReconcile("docs"); err == nil {
				t.Fatal("it doesn't fail")
			}
			got := limiter.When(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "docs", Name: "docs"}})
			if got != want {
				t.Errorf("it is tried again after %s, want %s", got, want)
			}
			f.clock.SetTime(f.clock.Now().Add(got))
		}
		f.Refuse = nil
	}
	failsAndWaits(time.Second, 2*time.Second, 4*time.Second)
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
	failsAndWaits(time.Second, 2*time.Second)
}

// TestTheNextLookIsNoLaterThanTheInterval, also while a view is rolled out.
func TestTheNextLookIsNoLaterThanTheInterval(t *testing.T) {
	const interval = 10 * time.Second
	f := newFixture(t)
	f.view("docs")
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Interval = &metav1.Duration{Duration: interval} })
	for range 3 {
		result, err := f.tryReconcile("docs")
		f.Must(err)
		if result.RequeueAfter == 0 || result.RequeueAfter > interval {
			t.Errorf("it is looked at again after %s", result.RequeueAfter)
		}
		f.clock.SetTime(f.clock.Now().Add(time.Second))
	}
}

// TestAPostponedReportIsMadeUpFor: the counts of a rollout that has failed aren't written each
// time, but they are written, though nothing more happens.
func TestAPostponedReportIsMadeUpFor(t *testing.T) {
	f := newFixture(t)
	f.clock.SetTime(f.clock.Now().Add(-v1.DefaultTimeout)) // or it would be put back below
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Replicas, v.Spec.ViewerImage = new(int32(3)), "example.com/none" })
	f.reconcile("docs")
	updated := func(replicas int32) {
		deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
		deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: 3, UpdatedReplicas: replicas, AvailableReplicas: 1}
		f.Must(f.Admin.Status().Update(t.Context(), deployment))
	}
	updated(2)
	f.reconcile("docs")
	f.clock.SetTime(f.clock.Now().Add(v1.DefaultTimeout))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.RolloutFailedReason, "2 of 3 replicas are up to date")
	f.clock.SetTime(time.Now()) // not before that of the condition
	updated(1)
	f.Requests()
	result, err := f.tryReconcile("docs")
	f.Must(err)
	if got := f.Requests(); len(got) > 0 {
		t.Errorf("it is written at once: %v", got)
	}
	if result.RequeueAfter == 0 || result.RequeueAfter > progressRefresh {
		t.Fatalf("it is looked at again after %s", result.RequeueAfter)
	}
	f.clock.SetTime(f.clock.Now().Add(progressRefresh))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.RolloutFailedReason, "1 of 3 replicas are up to date")
}

// TestALateCacheIsLookedAtAgain: a status was refused, so there is a newer view, which the
// cache shows late, as after an outage of the API server. By then nothing may wake the view.
func TestALateCacheIsLookedAtAgain(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.stopRollout("docs")
	f.Refuse = func(_ string, object client.Object) error {
		if isView(object) {
			return apierrors.NewConflict(schema.GroupResource{}, "docs", errors.New("changed"))
		}
		return nil
	}
	look := func() time.Duration {
		t.Helper()
		result, err := f.tryReconcile("docs")
		f.Must(err)
		return result.RequeueAfter
	}
	if after := look(); after != statusRecheck {
		t.Fatalf("a refused status is written again after %s, want %s", after, statusRecheck)
	}
	f.Refuse = nil
	f.rollOut("docs") // what the cache shows of the status is right again
	if after := look(); after != statusRecheck {
		t.Errorf("with a late cache it is looked again after %s, want %s", after, statusRecheck)
	}
	f.update("docs", func(v *v1.MarkdownView) { v.Annotations = map[string]string{"a": "b"} })
	if after := look(); after <= statusRecheck {
		t.Errorf("once the cache has caught up it is looked again after %s", after)
	}
	if unrest := f.states.of(types.NamespacedName{Namespace: "docs", Name: "docs"}).unrest; unrest != nil {
		t.Errorf("once the cache has caught up %+v is noted of the view", *unrest)
	}
}

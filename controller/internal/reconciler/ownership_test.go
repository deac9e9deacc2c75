package reconciler

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// TestSuccessorWaitsForGarbageCollection has a view deleted and created again.
func TestSuccessorWaitsForGarbageCollection(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.Must(f.Admin.Delete(t.Context(), &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "docs"}}))
	_, err := f.tryReconcile("docs")
	f.Must(err)
	successor := &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: "docs", UID: "uid-of-its-successor", Generation: 1, CreationTimestamp: metav1.NewTime(f.clock.Now())},
		Spec:       v1.MarkdownViewSpec{Markdowns: map[string]string{"SUMMARY.md": "- [Start](start.md)\n", "start.md": "# Start\n"}},
	}
	f.Must(f.Admin.Create(t.Context(), successor))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "waiting for the garbage collection of ConfigMap markdowns-docs")
	f.clock.SetTime(f.clock.Now().Add(2 * time.Minute))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ConflictReason, "is controlled by MarkdownView docs")
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "markdowns-docs"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}},
	} {
		f.Must(f.Admin.Delete(t.Context(), object))
	}
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "0 of 1 replicas")
}

func TestForeignServiceIsLeftAlone(t *testing.T) {
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}
	f := newFixture(t, foreign)
	f.view("docs")
	view := f.reconcile("docs")
	f.ready(view, metav1.ConditionFalse, v1.ConflictReason, "Service viewer-docs exists and was not generated from this view")
	if view.Status.ObservedGeneration != 1 {
		t.Errorf("observedGeneration is %d, of 1", view.Status.ObservedGeneration)
	}
	if got := fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-docs"); len(got.Labels) > 0 || len(got.Spec.Ports) > 0 {
		t.Errorf("it is changed: %v", got)
	}
	f.Must(f.Admin.Delete(t.Context(), foreign))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "")
}

// TestConflictIsLookedAtSeldom, whatever the interval: it may cost requests, because what has
// the name need not be in a cache.
func TestConflictIsLookedAtSeldom(t *testing.T) {
	f := newFixture(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}})
	f.view("docs")
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Interval = &metav1.Duration{Duration: time.Second} })
	result, err := f.tryReconcile("docs")
	f.Must(err)
	f.ready(fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs"), metav1.ConditionFalse, v1.ConflictReason, "Service viewer-docs exists")
	if result.RequeueAfter < 10*time.Second {
		t.Errorf("it is looked at again after %s", result.RequeueAfter)
	}
}

package reconciler

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// succeeded has a served view deleted and created again, without its objects being
// collected.
func succeeded(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.served("docs")
	f.Must(f.Admin.Delete(t.Context(), &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "docs"}}))
	_, err := f.tryReconcile("docs")
	f.Must(err)
	f.Must(f.Admin.Create(t.Context(), successor(f, "uid-of-its-successor")))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "waiting for the garbage collection of ConfigMap markdowns-docs")
	return f
}

func successor(f *fixture, uid types.UID) *v1.MarkdownView {
	return &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: "docs", UID: uid, Generation: 1, CreationTimestamp: metav1.NewTime(f.clock.Now())},
		Spec:       v1.MarkdownViewSpec{Markdowns: map[string]string{"SUMMARY.md": "- [Start](start.md)\n", "start.md": "# Start again\n"}},
	}
}

// generated are the objects of the view docs.
func (f *fixture) generated() []client.Object {
	f.Helper()
	return []client.Object{
		fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs"),
		fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-docs"),
		fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs"),
	}
}

func TestSuccessorWaitsForGarbageCollection(t *testing.T) {
	f := succeeded(t)
	f.clock.SetTime(f.clock.Now().Add(apply.SettleTime))
	for _, object := range f.generated() {
		f.Must(f.Admin.Delete(t.Context(), object))
	}
	view := f.reconcile("docs")
	for _, object := range f.generated() {
		if !metav1.IsControlledBy(object, view) {
			t.Errorf("%T is controlled by %v", object, object.GetOwnerReferences())
		}
	}
}

// TestSuccessorTakesOverWhatIsNeverCollected: the garbage collector may have missed that
// the view was another one meanwhile.
func TestSuccessorTakesOverWhatIsNeverCollected(t *testing.T) {
	f := succeeded(t)
	shard := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs")
	shard.Name, shard.UID, shard.ResourceVersion = "markdowns-docs.1", "uid-of-a-shard", ""
	f.Must(f.Admin.Create(t.Context(), shard))
	fakecluster.Edit(f.Cluster, "mallory", &corev1.Service{}, "docs", "viewer-docs", func(s *corev1.Service) { s.Labels = nil })
	before := f.generated()
	f.Requests()
	f.clock.SetTime(f.clock.Now().Add(time.Minute))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ConflictReason, "Service viewer-docs exists and was not generated from this view")
	fakecluster.Edit(f.Cluster, "mallory", &corev1.Service{}, "docs", "viewer-docs", func(s *corev1.Service) { s.Labels = generator.Labels("docs") })
	f.reconcile("docs")
	f.rollOut("docs")
	view := f.reconcile("docs")
	f.ready(view, metav1.ConditionTrue, v1.HealthyReason, "")
	for i, object := range f.generated() {
		if !metav1.IsControlledBy(object, view) || len(object.GetOwnerReferences()) != 1 || object.GetUID() != before[i].GetUID() {
			t.Errorf("%T is controlled by %v, and has the UID %s", object, object.GetOwnerReferences(), object.GetUID())
		}
	}
	if f.exists("markdowns-docs.1") {
		t.Error("what the successor has no pages for is still there")
	}
}

// TestSuccessorBeginsAnew: no reconciliation has seen that its predecessor was gone, as when
// the watch was interrupted, so that nothing has forgotten that yet.
func TestSuccessorBeginsAnew(t *testing.T) {
	f := newFixture(t)
	first := f.view("docs")
	f.reconcile("docs")
	f.clock.SetTime(f.clock.Now().Add(time.Hour))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.RolloutFailedReason, "")
	for _, object := range append(f.generated(), first) {
		f.Must(f.Admin.Delete(t.Context(), object))
	}
	again := successor(f, "uid-of-its-successor")
	again.Spec = first.Spec
	f.Must(f.Admin.Create(t.Context(), again))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "")
}

// TestSuccessorThatIsSucceededTakesNothingOver: the cache is behind, and the objects are
// those of the view that has the name now.
func TestSuccessorThatIsSucceededTakesNothingOver(t *testing.T) {
	f := succeeded(t)
	f.clock.SetTime(f.clock.Now().Add(time.Minute))
	before := f.generated()
	f.Requests()
	f.Applier.APIReader = interceptor.NewClient(f.Admin.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if metadata, ok := list.(*metav1.PartialObjectMetadataList); ok && metadata.Kind == v1.Kind+"List" {
				metadata.Items[0].UID = "uid-of-another-one"
			}
			return err
		},
	})
	result, err := f.tryReconcile("docs")
	f.Must(err)
	if result.RequeueAfter == 0 {
		t.Error("it isn't looked at again")
	}
	if diff := cmp.Diff(before, f.generated()); diff != "" {
		t.Errorf("objects changed (-before +after):\n%s", diff)
	}
	if got := f.Requests(); len(got) > 0 {
		t.Errorf("it has written: %v", got)
	}
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

// TestConflictAsksNothingOfTheAPIServer, also where the view has had the name.
func TestConflictAsksNothingOfTheAPIServer(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	asked := 0
	f.Applier.APIReader = interceptor.NewClient(f.Admin.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			asked++
			return c.List(ctx, list, options...)
		},
	})
	f.Applier.Metadata = interceptor.NewClient(f.Admin.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := c.Get(ctx, key, object, options...); err != nil {
				return err
			}
			_, err := stripMetadata(object)
			return err
		},
	})
	f.clock.SetTime(f.clock.Now().Add(apply.SettleTime))
	meta := metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}
	for _, kind := range []client.Object{&corev1.Service{ObjectMeta: meta}, &appsv1.Deployment{ObjectMeta: meta}} {
		f.Must(f.Admin.Delete(t.Context(), kind))
		f.Must(f.Admin.Create(t.Context(), kind))
		f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ConflictReason, "exists and was not generated from this view")
		if asked > 0 {
			t.Errorf("%T: the API server was asked %d times", kind, asked)
		}
		f.Must(f.Admin.Delete(t.Context(), kind))
		f.reconcile("docs")
		f.clock.SetTime(f.clock.Now().Add(apply.SettleTime))
	}
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

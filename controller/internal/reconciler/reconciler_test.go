package reconciler

import (
	"context"
	"strings"
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
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

func TestViewBecomesServed(t *testing.T) {
	f := newFixture(t)
	f.view("docs")
	view := f.reconcile("docs")
	f.ready(view, metav1.ConditionFalse, v1.ProgressingReason, "0 of 1 replicas")
	want := []string{
		"apply ConfigMap markdowns-docs", "apply Deployment viewer-docs", "apply Service viewer-docs",
		"write the status of MarkdownView docs",
	}
	if diff := cmp.Diff(want, f.Requests()); diff != "" {
		t.Error(diff)
	}
	f.rollOut("docs")
	view = f.reconcile("docs")
	f.ready(view, metav1.ConditionTrue, v1.HealthyReason, "1 replica serves revision sha256:")
	if view.Status.ObservedGeneration != 1 || view.Status.Replicas != 1 || view.Status.Selector == "" || len(view.Status.Inventory.Entries) != 3 {
		t.Errorf("the status is %+v", view.Status)
	}
	if diff := cmp.Diff([]string{"write the status of MarkdownView docs"}, f.Requests()); diff != "" {
		t.Error(diff)
	}
	if got := f.eventMessages(); len(got) != 2 || !strings.HasPrefix(got[0], "Normal Progressing: ") || !strings.HasPrefix(got[1], "Normal Healthy: ") {
		t.Errorf("the events are %q", got)
	}
}

func TestViewAtRestCostsNothing(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	for _, later := range []time.Duration{0, time.Second, time.Hour} {
		f.clock.SetTime(f.clock.Now().Add(later))
		f.reconcile("docs")
	}
	if got := f.Requests(); len(got) > 0 {
		t.Errorf("requests: %v", got)
	}
	if got := f.logged(); len(got) > 0 {
		t.Errorf("logged: %v", got)
	}
	if got := f.eventMessages(); len(got) > 0 {
		t.Errorf("events: %v", got)
	}
}

func TestDriftIsRepaired(t *testing.T) {
	tests := map[string]struct {
		edit  func(*fixture)
		want  string
		event string
	}{
		"the view's pages are edited, within the interval": {
			func(f *fixture) {
				fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "" })
			},
			"apply ConfigMap markdowns-docs", "/data/start.md",
		},
		"a foreign key is added to the pages": {
			func(f *fixture) {
				fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["foreign.md"] = "" })
			},
			"merge into ConfigMap markdowns-docs", "/data/foreign.md",
		},
		"the pages are deleted": {
			func(f *fixture) {
				f.Must(f.Admin.Delete(f.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "markdowns-docs"}}))
			},
			"apply ConfigMap markdowns-docs", "ConfigMap markdowns-docs was deleted",
		},
		"the pages lose their labels and their owner": {
			func(f *fixture) {
				fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Labels, c.OwnerReferences = nil, nil })
			},
			"apply ConfigMap markdowns-docs", "had lost its labels",
		},
		"the Deployment loses the name of the view and its owner": {
			func(f *fixture) {
				fakecluster.Edit(f.Cluster, "anyone", &appsv1.Deployment{}, "docs", "viewer-docs", func(d *appsv1.Deployment) {
					delete(d.Labels, generator.InstanceLabel)
					d.OwnerReferences = nil
				})
			},
			"apply Deployment viewer-docs", "/metadata/labels",
		},
		"the Deployment is scaled": {
			func(f *fixture) {
				fakecluster.Edit(f.Cluster, "anyone", &appsv1.Deployment{}, "docs", "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(7)) })
			},
			"apply Deployment viewer-docs", "/spec/replicas",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.served("docs")
			test.edit(f)
			f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
			if diff := cmp.Diff([]string{test.want}, f.Requests()); diff != "" {
				t.Error(diff)
			}
			if got := f.eventMessages(); len(got) != 1 || !strings.Contains(got[0], driftCorrectedReason) || !strings.Contains(got[0], test.event) {
				t.Errorf("the events are %q", got)
			}
		})
	}
}

// TestFightIsAConditionAndOneEvent has somebody edit a page whenever it is corrected.
func TestFightIsAConditionAndOneEvent(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	fights := 0
	for range 60 {
		fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "theirs" })
		if _, err := f.tryReconcile("docs"); err != nil {
			t.Fatal(err)
		}
		f.clock.SetTime(f.clock.Now().Add(time.Second))
	}
	view := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
	f.ready(view, metav1.ConditionFalse, v1.ContestedReason, "ConfigMap markdowns-docs is changed again and again")
	for _, message := range f.eventMessages() {
		if strings.Contains(message, v1.ContestedReason) {
			fights++
		}
	}
	if requests := f.Requests(); fights != 1 || len(requests) > 10 {
		t.Errorf("%d events, and in a minute %v", fights, requests)
	}
	for range 10 {
		result, err := f.tryReconcile("docs")
		f.Must(err)
		f.clock.SetTime(f.clock.Now().Add(result.RequeueAfter))
	}
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
	if got := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs").Data["start.md"]; got != "# Start\n" {
		t.Errorf("in the end the page is %q", got)
	}
}

// TestUnchangedInputCostsNothing has the shortest interval there is, and pages that aren't
// in the controller's memory.
func TestUnchangedInputCostsNothing(t *testing.T) {
	f := newFixture(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "more", UID: "more", ResourceVersion: "7"}, Data: map[string]string{"more.md": "# More\n"}})
	reads := 0
	f.Pages.APIReader = interceptor.NewClient(f.Admin.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			reads++
			err := c.Get(ctx, key, object, options...)
			object.SetUID("another") // so that what was read isn't remembered
			return err
		},
	})
	f.view("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.Interval = &metav1.Duration{Duration: time.Second}
		v.Spec.ContentFrom = []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: "more"}}}
	})
	f.reconcile("docs")
	f.rollOut("docs")
	f.reconcile("docs")
	f.Requests()
	before := reads
	for range 100 {
		f.clock.SetTime(f.clock.Now().Add(time.Second))
		f.reconcile("docs")
	}
	if writes := f.Requests(); reads != before || len(writes) > 0 {
		t.Errorf("%d reads and %v in a hundred seconds at rest", reads-before, writes)
	}
}

// TestSurplusConfigMapIsPruned shrinks a book of two shards to one.
func TestSurplusConfigMapIsPruned(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.Markdowns["SUMMARY.md"] += "- [A](a.md)\n- [B](b.md)\n"
		v.Spec.Markdowns["a.md"], v.Spec.Markdowns["b.md"] = strings.Repeat("a", 600_000), strings.Repeat("b", 600_000)
	})
	f.reconcile("docs")
	if !f.exists("markdowns-docs.1") {
		t.Fatal("the book fits into one ConfigMap")
	}
	f.rollOut("docs")
	f.reconcile("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.Markdowns = map[string]string{"SUMMARY.md": "- [A](a.md)\n", "a.md": "# A\n"}
	})
	f.stopRollout("docs")
	f.Requests()
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "")
	if !f.exists("markdowns-docs.1") {
		t.Error("it is gone while pods may mount it")
	}
	f.rollOut("docs")
	f.logged()
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
	if f.exists("markdowns-docs.1") {
		t.Errorf("it is still there, after %v", f.Requests())
	}
	if got := f.logged(); len(got) != 1 || !strings.Contains(got[0], "ConfigMap markdowns-docs.1 (delete)") {
		t.Errorf("logged: %q", got)
	}
}

func TestInvalidViewIsStalled(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) { delete(v.Spec.Markdowns, "start.md") })
	view := f.reconcile("docs")
	f.ready(view, metav1.ConditionFalse, v1.InvalidReason, "start.md")
	if view.Status.ObservedGeneration != 2 {
		t.Errorf("observedGeneration is %d, of 2: the outcome is final", view.Status.ObservedGeneration)
	}
	if diff := cmp.Diff([]string{"write the status of MarkdownView docs"}, f.Requests()); diff != "" {
		t.Errorf("what is served is touched: %s", diff)
	}
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Back\n" })
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
}

func TestMissingPagesAreWaitedFor(t *testing.T) {
	f := newFixture(t)
	f.view("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.ContentFrom = []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: "more"}}}
	})
	if _, err := f.tryReconcile("docs"); err == nil {
		t.Error("the queue isn't told to try again")
	}
	f.ready(fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs"), metav1.ConditionFalse, v1.PagesNotFoundReason, "ConfigMap more doesn't exist")
	f.Must(f.Admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "more"}, Data: map[string]string{"start.md": "# More\n"}}))
	f.reconcile("docs")
	f.rollOut("docs")
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
}

// TestRolloutFailsInTime has the image of a view's pods not be there.
func TestRolloutFailsInTime(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.ViewerImage = "example.com/none" })
	f.stopRollout("docs")
	f.reconcile("docs")
	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
	f.Must(f.Admin.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "pod", Labels: generator.Labels("docs"), Annotations: deployment.Spec.Template.Annotations},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "mdbook", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}},
		}}},
	}))
	f.clock.SetTime(f.clock.Now().Add(time.Second)) // what is wrong is told as soon as it is known
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "0 of 1 replicas are up to date: pod ErrImagePull: no such image")
	pod := fakecluster.Get(f.Cluster, &corev1.Pod{}, "docs", "pod")
	pod.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "back-off"}
	f.Must(f.Admin.Status().Update(t.Context(), pod))
	f.Requests()
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "0 of 1 replicas are up to date: pod ErrImagePull: no such image")
	if got := f.Requests(); len(got) > 0 {
		t.Errorf("each time that pods fail in other words it writes %v", got)
	}
	f.clock.SetTime(f.clock.Now().Add(progressRefresh))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "0 of 1 replicas are up to date: pod ImagePullBackOff: back-off")
	f.clock.SetTime(f.clock.Now().Add(v1.DefaultTimeout))
	view := f.reconcile("docs")
	f.ready(view, metav1.ConditionFalse, v1.RolloutFailedReason, "0 of 1 replicas are up to date: pod ImagePullBackOff: back-off")
	if view.Status.ObservedGeneration != 2 {
		t.Errorf("observedGeneration is %d, of 2", view.Status.ObservedGeneration)
	}
	f.states.forget(types.NamespacedName{Namespace: "docs", Name: "docs"})
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.RolloutFailedReason, "") // also after a restart
	f.rollOut("docs")
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
}

func TestSuspendedViewIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.Suspend = true
		v.Spec.Markdowns["start.md"] = "# Changed\n"
	})
	if _, err := f.tryReconcile("docs"); err != nil {
		t.Fatal(err)
	}
	if got := f.Requests(); len(got) > 0 {
		t.Errorf("requests: %v", got)
	}
}

func TestDeletedViewIsForgotten(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.Must(f.Admin.Delete(t.Context(), &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "docs"}}))
	if _, err := f.tryReconcile("docs"); err != nil {
		t.Fatal(err)
	}
	if len(f.states.byView) > 0 {
		t.Errorf("remembered: %v", f.states.byView)
	}
	if got := f.states.pageBytes(types.NamespacedName{Namespace: "docs", Name: "docs"}); got != 0 {
		t.Errorf("its pages are %d bytes", got)
	}
}

func TestRestartCostsNoRequest(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.states = viewStates{}
	f.reconcile("docs")
	if got := f.Requests(); len(got) > 0 {
		t.Errorf("requests: %v", got)
	}
}

func TestWarningsAreAnEventOnce(t *testing.T) {
	f := newFixture(t)
	f.view("docs")
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Start\n\n[broken](missing.md)\n" })
	f.reconcile("docs")
	f.reconcile("docs")
	warnings := 0
	for _, message := range f.eventMessages() {
		if strings.HasPrefix(message, "Warning PagesWarning: spec.markdowns: start.md:3:") {
			warnings++
		}
	}
	if warnings != 1 {
		t.Errorf("there are %d events", warnings)
	}
}

func TestRefusedObjectIsReported(t *testing.T) {
	f := newFixture(t)
	f.view("docs")
	f.Refuse = func(verb string, object client.Object) error {
		if _, ok := object.(*corev1.Service); ok && verb == "apply" {
			return errAway
		}
		return nil
	}
	if _, err := f.tryReconcile("docs"); err == nil {
		t.Error("the queue isn't told to try again")
	}
	f.ready(fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs"), metav1.ConditionFalse, v1.ApplyFailedReason, "apply Service viewer-docs: ")
}

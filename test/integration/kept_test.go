package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// TestABadEditAbandonsNothing has everything deleted that a view serves while its last
// edit is invalid, and the controller started again in between.
func TestABadEditAbandonsNothing(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted %t", restart), func(t *testing.T) {
			f := newCluster(t)
			controller := f.controller("controller")
			f.create(f.view("docs"))
			f.ready("docs")
			pages, template := f.configMap().Data, f.deployment().Spec.Template
			update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
				delete(v.Spec.Markdowns, "next.md")
				v.Spec.Replicas = new(int32(2))
			})
			f.status("docs", metav1.ConditionFalse, v1.InvalidReason)
			if restart {
				f.must(controller.Stop(t.Context()))
				f.must(controller.Start(t.Context()))
			}
			f.eventually("the view to be scaled", func() string {
				return differs(fmt.Sprint(f.deployment().Status.AvailableReplicas), "2")
			})
			for _, lost := range []client.Object{
				&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", Namespace: f.namespace}},
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "markdowns-docs", Namespace: f.namespace}},
				&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", Namespace: f.namespace}},
			} {
				f.must(f.Client.Delete(t.Context(), lost))
				f.eventually(fmt.Sprintf("the %T to be restored", lost), func() string {
					if !f.get(lost.DeepCopyObject().(client.Object), lost.GetName()) {
						return "it is gone"
					}
					return ""
				})
			}
			if got := f.configMap().Data; fmt.Sprint(got) != fmt.Sprint(pages) {
				t.Errorf("the pages are %v", got)
			}
			if got := f.deployment().Spec.Template; got.Annotations[v1.RevisionAnnotation] != template.Annotations[v1.RevisionAnnotation] {
				t.Errorf("the template is %v", got.Annotations)
			}
			update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Back\n" })
			f.ready("docs")
		})
	}
}

// TestHealingIsNoLaterThanTheInterval has a webhook refuse Deployments for a while in
// which many events come, and go away without one.
func TestHealingIsNoLaterThanTheInterval(t *testing.T) {
	f := newFixture(t)
	var refused atomic.Int32
	remove := f.webhook(func(_ *http.Request, response *admissionv1.AdmissionResponse) {
		refused.Add(1)
		response.Allowed = false
		response.Result = &metav1.Status{Message: "not now"}
	})
	f.inForce("refused", func(*appsv1.Deployment) bool { return false })
	view := f.view("docs")
	view.Spec.Interval = &metav1.Duration{Duration: 5 * time.Second}
	f.create(view)
	f.status("docs", metav1.ConditionFalse, v1.ApplyFailedReason)
	for i := range 40 {
		update(f, &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Annotations = map[string]string{"event": fmt.Sprint(i)} })
	}
	before := refused.Load()
	f.eventually("failures that no event leads to", func() string {
		if again := refused.Load() - before; again < 3 {
			return fmt.Sprintf("it was tried %d times", again)
		}
		return ""
	})
	remove()
	took := f.seconds("the Deployment to be applied", func() bool { return f.get(&appsv1.Deployment{}, "viewer-docs") })
	if took > 12*time.Second {
		t.Errorf("it took %s, the interval is 5s", took)
	}
	f.ready("docs")
}

// TestASuccessorIsNeverStalled deletes a view and creates it again, as kubectl replace
// --force and Flux do.
func TestASuccessorIsNeverStalled(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	for range 5 {
		f.must(f.Client.Delete(t.Context(), &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: f.namespace}}))
		f.eventually("the successor", func() string {
			if err := f.Client.Create(t.Context(), f.view("docs")); err != nil {
				return err.Error()
			}
			return ""
		})
		view := &v1.MarkdownView{}
		f.eventually("it to be Ready", func() string {
			f.get(view, "docs")
			for _, condition := range view.Status.Conditions {
				if condition.Type == "Stalled" {
					t.Errorf("it is stalled: %s", condition.Message)
				}
			}
			if len(view.Status.Conditions) == 1 && view.Status.Conditions[0].Status == metav1.ConditionTrue && view.Status.ObservedGeneration == view.Generation {
				return ""
			}
			return "it isn't"
		})
	}
}

// TestLabelsAndOwnersTakenOffComeBack takes off all that says whose an object is.
func TestLabelsAndOwnersTakenOffComeBack(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	objects := []client.Object{&corev1.ConfigMap{}, &corev1.Service{}, &appsv1.Deployment{}}
	for i, name := range []string{"markdowns-docs", "viewer-docs", "viewer-docs"} {
		object := objects[i]
		update(f, object, name, func(o client.Object) {
			o.SetLabels(nil)
			o.SetOwnerReferences(nil)
		})
		f.eventually(fmt.Sprintf("the labels and owner of %T", object), func() string {
			f.get(object, name)
			if len(object.GetLabels()) != 3 || len(object.GetOwnerReferences()) != 1 {
				return fmt.Sprintf("they are %v, %v", object.GetLabels(), object.GetOwnerReferences())
			}
			return ""
		})
	}
	f.ready("docs")
}

// TestWhatLostItsLabelsWhileAwayComesBack has no controller run while labels are taken off, and
// the view be invalid from then on, so that nothing but the API server knows what was served.
func TestWhatLostItsLabelsWhileAwayComesBack(t *testing.T) {
	f := newCluster(t)
	controller := f.controller("controller")
	f.create(f.view("docs"))
	f.ready("docs")
	f.must(controller.Stop(t.Context()))
	before := f.configMap()
	for _, object := range []client.Object{before.DeepCopy(), f.deployment()} {
		f.must(f.Client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": null}}`)), client.FieldOwner("anyone")))
	}
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { delete(v.Spec.Markdowns, "start.md") })
	f.must(controller.Start(t.Context()))
	for name, object := range map[string]client.Object{"markdowns-docs": &corev1.ConfigMap{}, "viewer-docs": &appsv1.Deployment{}} {
		f.eventually(name+" to have its labels", func() string {
			f.get(object, name)
			return gocmp.Diff(before.Labels, object.GetLabels())
		})
	}
	if diff := gocmp.Diff(before.Data, f.configMap().Data); diff != "" {
		t.Errorf("the pages are others: %s", diff)
	}
	if message := readyMessage(f.status("docs", metav1.ConditionFalse, v1.InvalidReason)); strings.Contains(message, "gone") {
		t.Errorf("the message is %s", message)
	}
}

package reconciler

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// TestInventoryIsKnownBeforeItIsWritten has the first status be refused, because the view
// has changed meanwhile. What was applied is the view's all the same.
func TestInventoryIsKnownBeforeItIsWritten(t *testing.T) {
	docs := client.ObjectKey{Namespace: "docs", Name: "docs"}
	lose := func(f *fixture) {
		fakecluster.Edit(f.Cluster, "anyone", &corev1.Service{}, "docs", "viewer-docs", func(s *corev1.Service) {
			s.Labels, s.OwnerReferences = nil, nil
			f.states.gone(docs, "Service", s, true)
		})
	}
	remove := func(f *fixture, kind string, object client.Object) {
		f.Must(f.Admin.Delete(f.Context(), object))
		f.states.gone(docs, kind, object, true)
	}
	for name, test := range map[string]struct {
		then            func(*fixture)
		ready           metav1.ConditionStatus
		reason, message string
	}{
		"labels and owner are taken off": {lose, metav1.ConditionTrue, v1.HealthyReason, ""},
		"labels and owner are taken off after somebody was quicker with another change": {
			func(f *fixture) {
				fakecluster.Edit(f.Cluster, "anyone", &corev1.Service{}, "docs", "viewer-docs", func(s *corev1.Service) { s.Spec.Selector = nil })
				f.Refuse = func(_ string, object client.Object) error {
					return apierrors.NewConflict(schema.GroupResource{Resource: "services"}, object.GetName(), errors.New("modified"))
				}
				f.reconcile("docs") // nothing is reported
				f.Refuse = nil
				lose(f)
			},
			metav1.ConditionTrue, v1.HealthyReason, "",
		},
		"what is there is of a view of the name that was deleted": {
			func(f *fixture) {
				lose(f)
				remove(f, "ConfigMap", fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs"))
				remove(f, "Deployment", fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs"))
				f.Must(f.Admin.Delete(f.Context(), &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "docs"}}))
				another := f.view("docs")
				another.UID = "uid-of-another"
				f.Must(f.Admin.Update(f.Context(), another))
			},
			metav1.ConditionFalse, v1.ConflictReason, "Service viewer-docs exists and was not generated from this view",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.view("docs")
			f.Refuse = func(_ string, object client.Object) error {
				if isView(object) {
					f.Refuse = nil
					f.update("docs", func(v *v1.MarkdownView) { v.Annotations = map[string]string{"team": "docs"} })
				}
				return nil
			}
			if _, err := f.tryReconcile("docs"); err != nil || f.Refuse != nil {
				t.Fatalf("not tried to write a status, or %v", err)
			}
			if view := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs"); view.Status.Inventory != nil {
				t.Fatalf("the status was written: %v", view.Status)
			}
			f.rollOut("docs")
			test.then(f)
			f.ready(f.reconcile("docs"), test.ready, test.reason, test.message)
		})
	}
}

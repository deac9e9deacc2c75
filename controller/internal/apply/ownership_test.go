package apply

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator"
)

func TestNamesField(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "viewer-docs", field.ErrorList{field.Required(field.NewPath("spec", "ports").Index(0).Child("name"), "")})
	policy := apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "viewer-docs", nil)
	policy.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "this image isn't allowed"}}
	for want, err := range map[bool]error{true: invalid, false: policy} {
		if got := namesField(fmt.Errorf("apply Deployment viewer-docs: %w", err)); got != want {
			t.Errorf("%v: got %t", err, got)
		}
	}
}

const notGenerated = `Service viewer-docs exists and was not generated from this view: rename the view, delete the object, or set the view's annotation view.zoetrope.github.io/adopt to "true" to take it over`

func TestCheckOwnership(t *testing.T) {
	view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", UID: "ours"}}
	adopting := view.DeepCopy()
	adopting.Annotations = map[string]string{v1.AdoptAnnotation: "true"}
	owned := func(uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: "App", Name: "theirs", UID: uid, Controller: new(true)}}
	}
	applied := []metav1.ManagedFieldsEntry{{Manager: "markdown-view-controller", Operation: metav1.ManagedFieldsOperationApply}}
	listed := view.DeepCopy()
	listed.Status.Inventory = &v1.Inventory{Entries: []v1.InventoryEntry{{ID: "_viewer-docs__Service"}}}
	predecessors := []metav1.OwnerReference{{APIVersion: "view.zoetrope.github.io/v1", Kind: "MarkdownView", Name: "docs", UID: "before", Controller: new(true)}}
	tests := map[string]struct {
		view *v1.MarkdownView
		live metav1.ObjectMeta
		want string
	}{
		"the view's own, that lost labels and owner":                 {listed, metav1.ObjectMeta{ManagedFields: applied}, ""},
		"another one of its name, made since":                        {listed, metav1.ObjectMeta{}, notGenerated},
		"one that we applied for another view":                       {view, metav1.ObjectMeta{ManagedFields: applied}, notGenerated},
		"one that we applied, and that another controller has taken": {listed, metav1.ObjectMeta{ManagedFields: applied, OwnerReferences: owned("theirs")}, "Service viewer-docs exists and is controlled by App theirs: rename the view, or delete the object"},
		"one of a deleted view of the name":                          {view, metav1.ObjectMeta{OwnerReferences: predecessors}, "waiting for the garbage collection of Service viewer-docs, which belongs to a deleted view of the same name"},
		"the view's own":                                             {view, metav1.ObjectMeta{OwnerReferences: owned("ours")}, ""},
		"the function's output":                                      {view, metav1.ObjectMeta{Labels: generator.Labels("docs")}, ""},
		"a foreign object, to be adopted":                            {adopting, metav1.ObjectMeta{}, ""},
		"another controller's, with our labels": {
			view, metav1.ObjectMeta{Labels: generator.Labels("docs"), OwnerReferences: owned("theirs")},
			"Service viewer-docs exists and is controlled by App theirs: rename the view, or delete the object",
		},
		"another controller's is never adopted": {
			adopting, metav1.ObjectMeta{OwnerReferences: owned("theirs")},
			"Service viewer-docs exists and is controlled by App theirs: rename the view, or delete the object",
		},
		"another view's": {
			view, metav1.ObjectMeta{Labels: generator.Labels("other")},
			notGenerated,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			test.live.Name = "viewer-docs"
			if err := checkOwnership(test.view, corev1.SchemeGroupVersion.WithKind("Service"), &test.live, isCollected); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestCheckOwnershipOfOrphans(t *testing.T) {
	const controlled = "Service viewer-docs exists and is controlled by MarkdownView docs: rename the view, or delete the object"
	view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", UID: "ours"}}
	of := func(apiVersion, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "viewer-docs", Labels: generator.Labels("docs"), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: apiVersion, Kind: "MarkdownView", Name: name, UID: "before", Controller: new(true)},
		}}
	}
	unlabelled := of("view.zoetrope.github.io/v1", "docs")
	unlabelled.Labels = nil
	tests := map[string]struct {
		live        metav1.ObjectMeta
		predecessor predecessor
		want        string
	}{
		"one of a view of the name that is gone":                  {of("view.zoetrope.github.io/v1", "docs"), isGone, ""},
		"one of an older version of the API":                      {of("view.zoetrope.github.io/v1beta1", "docs"), isGone, ""},
		"one of a view of the name of which nothing is known":     {of("view.zoetrope.github.io/v1", "docs"), isUnknown, controlled},
		"one of a view of the name that is gone, without labels":  {unlabelled, isGone, notGenerated},
		"one of a view of another name":                           {of("view.zoetrope.github.io/v1", "other"), isGone, strings.Replace(controlled, "MarkdownView docs", "MarkdownView other", 1)},
		"one of somebody else's kind of the name":                 {of("example.com/v1", "docs"), isGone, controlled},
		"one of somebody else's kind, while a view is waited for": {of("example.com/v1", "docs"), isCollected, controlled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := checkOwnership(view, corev1.SchemeGroupVersion.WithKind("Service"), &test.live, test.predecessor); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestWhatAppearsDuringCreationIsNotTaken has somebody make an object of the name after the
// controller has looked what has it, and before it creates its own.
func TestWhatAppearsDuringCreationIsNotTaken(t *testing.T) {
	theirs := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "docs", Name: name, Labels: map[string]string{"team": "theirs"}}
	}
	for _, foreign := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: theirs("markdowns-docs"), Data: map[string]string{"theirs": "x"}},
		&appsv1.Deployment{ObjectMeta: theirs("viewer-docs"), Spec: appsv1.DeploymentSpec{MinReadySeconds: 7}},
		&corev1.Service{ObjectMeta: theirs("viewer-docs"), Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}},
	} {
		t.Run(fmt.Sprintf("%T", foreign), func(t *testing.T) {
			f := newFixture(t)
			f.Must(f.Admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "first"}})) // has the version of nothing here
			f.Refuse = func(_ string, written client.Object) error {
				if reflect.TypeOf(written) == reflect.TypeOf(foreign) && foreign.GetResourceVersion() == "" {
					f.Must(f.Admin.Create(t.Context(), foreign))
				}
				return nil
			}
			plan, err := f.Plan(t.Context(), f.view, f.desired(), &f.last, &f.wrote)
			f.Must(err)
			_, err = f.Execute(t.Context(), plan)
			if known, ok := errors.AsType[*outcome.Error](err); !ok || known.Reason != v1.ConflictReason {
				t.Errorf("got %v", err)
			}
			after := foreign.DeepCopyObject().(client.Object)
			f.Must(f.Admin.Get(t.Context(), client.ObjectKeyFromObject(foreign), after))
			if after.GetResourceVersion() != foreign.GetResourceVersion() {
				t.Errorf("it was written: %v", after)
			}
		})
	}
}

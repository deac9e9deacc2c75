package apply

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

const compactBytes = 2 << 10

func TestCompactLeavesLittleOfWhatAnyoneLabels(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	ours := []metav1.OwnerReference{{APIVersion: "v1", Kind: v1.Kind, Name: "docs", UID: "1", Controller: new(true)}}
	others := map[string]string{}
	for i := range 1000 {
		others[fmt.Sprint("example.com/", i)] = strings.Repeat("x", 250)
	}
	for what, object := range map[string]client.Object{
		"pages":                     &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{OwnerReferences: ours}, Data: map[string]string{"a.md": large}, BinaryData: map[string][]byte{"a.png": []byte(large)}},
		"annotations":               &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{OwnerReferences: ours, Annotations: maps.Clone(others)}},
		"labels":                    &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: ours, Labels: maps.Clone(others)}},
		"a last-applied page":       &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{OwnerReferences: ours, Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: large}}},
		"others' fields":            &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{OwnerReferences: ours, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x", FieldsV1: metav1.NewFieldsV1(`{"f:` + large + `":{}}`)}}}},
		"forged fields of ours":     &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: generator.FieldManager, Operation: "Apply", FieldsV1: metav1.NewFieldsV1(`{"f:` + large + `":{}}`)}}}},
		"keys of no view's":         &corev1.ConfigMap{Data: map[string]string{large: ""}},
		"a template of no view's":   &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"x": large}}}}},
		"a Service of no view's":    &corev1.Service{Spec: corev1.ServiceSpec{ExternalName: large}},
		"a Service of another name": &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "docs", OwnerReferences: ours}, Spec: corev1.ServiceSpec{ExternalName: large}},
		"a template of another name": &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "viewer-other", OwnerReferences: ours}, Spec: appsv1.DeploymentSpec{
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"x": large}}},
		}},
		"keys of another name":     &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "markdowns-docs.x", OwnerReferences: ours}, Data: map[string]string{large: ""}},
		"finalizers, and managers": &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: ours, Finalizers: []string{large}}},
	} {
		t.Run(what, func(t *testing.T) {
			if sizeOf(object) < 200<<10 {
				t.Fatalf("it has only %d bytes before", sizeOf(object))
			}
			Compact(object)
			if left := sizeOf(object); left > compactBytes {
				t.Errorf("%d bytes are left", left)
			}
			again := object.DeepCopyObject().(client.Object)
			Compact(again)
			if diff := cmp.Diff(object, again); diff != "" {
				t.Errorf("it changes when it is made compact again: %s", diff)
			}
		})
	}
}

// TestPageLikeADigestIsNoDigest has a page replaced by what the cache holds of it, as
// somebody would who knew how digests are made.
func TestPageLikeADigestIsNoDigest(t *testing.T) {
	f := newFixture(t)
	f.applied()
	f.seen()
	other := digestPrefix + strings.Repeat("0", 64)
	edit(f, "anyone", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = other })
	if got := f.applied().corrections(); len(got) != 1 || !strings.Contains(got[0], "start.md") {
		t.Errorf("corrected: %v", got)
	}
}

// TestPagesThatCantBeHadAreReported has the API server not know any more what they were.
func TestPagesThatCantBeHadAreReported(t *testing.T) {
	f := newFixture(t)
	f.applied()
	f.seen()
	kept, _, err := f.Kept(t.Context(), f.view, []string{"markdowns-docs"}, f.desired()[1:], &f.last, &f.wrote)
	f.Must(err)
	kept[0].recollection.version = ""
	// Not by the Admin, who remembers: it was changed long ago.
	f.Must(f.Cached.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "markdowns-docs"}},
		client.RawPatch("application/merge-patch+json", []byte(`{"data":{"start.md":"edited"}}`))))
	for range 2 {
		plan, err := f.Plan(t.Context(), f.view, kept, &f.last, &f.wrote)
		f.Must(err)
		if _, err := f.Execute(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "what it held isn't known any more") {
			t.Errorf("the error is %v", err)
		}
	}
	if !kept[0].recollection.gone {
		t.Error("it is asked for again")
	}
}

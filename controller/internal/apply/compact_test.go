package apply

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

const compactBytes = 2 << 10

func TestCompactLeavesLittleOfWhatAnyoneLabels(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	ours := []metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: v1.Kind, Name: "docs", UID: "1", Controller: new(true)}}
	others, views := map[string]string{}, slices.Clone(ours)
	for i := range 1000 {
		others[fmt.Sprint("example.com/", i)] = strings.Repeat("x", 250)
		views = append(views, metav1.OwnerReference{Kind: v1.Kind, Name: fmt.Sprint("docs-", i), UID: "1"}, metav1.OwnerReference{Kind: v1.Kind, Name: strings.Repeat("x", 1000)})
	}
	owner := func(apiVersion, kind, name, uid string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true)}}
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
		"an owner's name":          &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: owner("example.com/v1", "Other", large, "1")}},
		"an owner's UID":           &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{OwnerReferences: owner("example.com/v1", "Other", "docs", large)}},
		"an owner's kind":          &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{OwnerReferences: owner("example.com/v1", large, "docs", "1")}},
		"an owner's group":         &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", OwnerReferences: owner(large, v1.Kind, "docs", "1")}},
		"many views that own it":   &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", OwnerReferences: views}},
		"an owner of none":         &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "Other", Name: large}}}},
		"keys of another group's":  &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "markdowns-docs", OwnerReferences: owner("example.com/v1", v1.Kind, "docs", "1")}, Data: map[string]string{large: ""}},
		"a selector of no view's":  &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: maps.Clone(others)}}},
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

// TestWhatIsAViewsIsKept, whatever the number that pages have got.
func TestWhatIsAViewsIsKept(t *testing.T) {
	large := strings.Repeat("x", maxForeignBytes)
	for _, name := range []string{"markdowns-docs", "markdowns-docs.1", "markdowns-docs.70517", "markdowns-docs.last", "markdowns-docs.last.70517"} {
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: v1.Kind, Name: "docs", UID: "1", Controller: new(true)}}},
			Data:       map[string]string{large: ""},
		}
		if Compact(object); object.Data[large] == "" {
			t.Errorf("%s is forgotten", name)
		}
	}
}

func TestWhatIsTooLongForAMarkIsNone(t *testing.T) {
	for mark, want := range map[string]string{"": "", "123": "123", strings.Repeat("1", maxMark): strings.Repeat("1", maxMark), strings.Repeat("1", maxMark+1): ""} {
		if got := markOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.EditedAnnotation: mark}}}); got != want {
			t.Errorf("%q is the mark %q", mark, got)
		}
	}
}

func TestBoundedOwnerIsText(t *testing.T) {
	long := strings.Repeat("x", maxWord-1) + "é"
	owner := BoundedOwner(&metav1.OwnerReference{APIVersion: long, Kind: long, Name: long, UID: types.UID(long)})
	if want := strings.Repeat("x", maxWord-1); owner.Name != want || owner.Kind != want || owner.APIVersion != want || string(owner.UID) != want {
		t.Errorf("got %+v", owner)
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
	kept, err := f.Kept(t.Context(), f.view, []string{"markdowns-docs"}, f.desired()[1:], &f.last, &f.wrote)
	f.Must(err)
	kept.Objects[0].recollection.version = ""
	// Not by the Admin, who remembers: it was changed long ago.
	f.Must(f.Cached.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "markdowns-docs"}},
		client.RawPatch("application/merge-patch+json", []byte(`{"data":{"start.md":"edited"}}`))))
	for range 2 {
		plan, err := f.Plan(t.Context(), f.view, kept.Objects, &f.last, &f.wrote)
		f.Must(err)
		if _, err := f.Execute(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "what it held isn't known any more") {
			t.Errorf("the error is %v", err)
		}
	}
	if !kept.Objects[0].recollection.gone {
		t.Error("it is asked for again")
	}
}

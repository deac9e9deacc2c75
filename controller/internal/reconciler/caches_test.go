package reconciler

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/generator"
)

func TestCacheHoldsOnlyWhatCarriesOurLabel(t *testing.T) {
	shard := labels.SelectorFromSet(labels.Set{"shard": "a"})
	options := CacheOptions(shard, []string{"docs"})
	if _, ok := options.DefaultNamespaces["docs"]; !ok || len(options.DefaultNamespaces) != 1 {
		t.Errorf("the namespaces are %v", options.DefaultNamespaces)
	}
	for object, by := range options.ByObject {
		want := "app.kubernetes.io/created-by=markdown-view-controller"
		if _, ok := object.(*v1.MarkdownView); ok {
			want = shard.String()
		}
		if by.Label.String() != want {
			t.Errorf("%T is selected by %s, want %s", object, by.Label, want)
		}
	}
	if all := CacheOptions(nil, nil); all.DefaultNamespaces != nil {
		t.Errorf("the namespaces are %v, want all", all.DefaultNamespaces)
	}
}

func TestMetadataCacheKeepsWhoseAnObjectIs(t *testing.T) {
	owners := []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "App", Name: "x", UID: "1", Controller: new(true), BlockOwnerDeletion: new(true)},
		{APIVersion: "v1", Kind: "Other", Name: "y", UID: "2"},
	}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "docs", ResourceVersion: "7", OwnerReferences: owners,
		Labels:      map[string]string{"app.kubernetes.io/instance": "docs", "large": "x"},
		Annotations: map[string]string{"large": "x"}, Finalizers: []string{"x"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}},
	}}
	want := metav1.ObjectMeta{
		Name: "docs", ResourceVersion: "7",
		OwnerReferences: []metav1.OwnerReference{{Kind: "App", Name: "x", UID: "1", Controller: new(true)}},
	}
	strip := func() {
		t.Helper()
		if _, err := MetadataCacheOptions(nil).DefaultTransform(object); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, object.ObjectMeta); diff != "" {
			t.Error(diff)
		}
	}
	strip()
	object.Labels, object.OwnerReferences = generator.Labels("docs"), nil
	want.Labels, want.OwnerReferences = generator.Labels("docs"), nil
	strip()
	ours := metav1.ManagedFieldsEntry{Manager: "markdown-view-controller", Operation: metav1.ManagedFieldsOperationApply}
	object.ManagedFields = []metav1.ManagedFieldsEntry{ours}
	strip() // the labels are enough
	object.ManagedFields, object.Labels = []metav1.ManagedFieldsEntry{ours}, nil
	object.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1("{}")
	want.ManagedFields, want.Labels = []metav1.ManagedFieldsEntry{ours}, nil
	strip()
	object.Labels, want.Labels, want.ManagedFields = generator.Labels("docs"), generator.Labels("docs"), nil
	strip()
	if !apply.CarriesLabels(object, "docs") {
		t.Error("it isn't recognized any more")
	}
	if _, err := MetadataCacheOptions(nil).DefaultTransform(cache.DeletedFinalStateUnknown{}); err != nil {
		t.Errorf("a tombstone: %v", err)
	}
}

func TestCacheKeepsOfPodsWhatHealthIsReadOff(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Annotations: map[string]string{v1.RevisionAnnotation: "r"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Spec:       corev1.PodSpec{NodeName: "node"},
		Status:     corev1.PodStatus{PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{}}, ContainerStatuses: []corev1.ContainerStatus{{Name: "mdbook"}}},
	}
	if _, err := stripPod(pod); err != nil {
		t.Fatal(err)
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Annotations: map[string]string{v1.RevisionAnnotation: "r"}},
		Status:     corev1.PodStatus{PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{{Name: "mdbook"}}},
	}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Error(diff)
	}
}

func TestCacheKeepsOfViewsWhatIsRead(t *testing.T) {
	view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{
		Name: "docs", Labels: map[string]string{"large": "x"}, Finalizers: []string{"x"}, ManagedFields: []metav1.ManagedFieldsEntry{{}},
		Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: "its pages", "large": "x",
			v1.AdoptAnnotation: "true", "reconcile.fluxcd.io/requestedAt": "now", "event.toolkit.fluxcd.io/team": "a",
		},
	}}
	for object, by := range CacheOptions(nil, nil).ByObject {
		if _, ok := object.(*v1.MarkdownView); !ok {
			continue
		}
		if _, err := by.Transform(view); err != nil {
			t.Fatal(err)
		}
	}
	want := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", Annotations: map[string]string{
		v1.AdoptAnnotation: "true", "reconcile.fluxcd.io/requestedAt": "now", "event.toolkit.fluxcd.io/team": "a",
	}}}
	if diff := cmp.Diff(want, view); diff != "" {
		t.Error(diff)
	}
}

// TestCacheKeepsNoPages has a ConfigMap, as a watch delivers it, go into the cache.
func TestCacheKeepsNoPages(t *testing.T) {
	const marker = "the words of a page"
	for object, by := range CacheOptions(nil, nil).ByObject {
		if _, ok := object.(*corev1.ConfigMap); !ok {
			continue
		}
		kept, err := by.Transform(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "markdowns-docs", Labels: generator.Labels("docs")},
			Data:       map[string]string{"a.md": marker}, BinaryData: map[string][]byte{"b.md": []byte(marker)},
		})
		if err != nil {
			t.Fatal(err)
		}
		configMap := kept.(*corev1.ConfigMap)
		if strings.Contains(configMap.Data["a.md"]+string(configMap.BinaryData["b.md"]), marker) {
			t.Error("it holds a page")
		}
		if len(configMap.Data) != 1 || len(configMap.BinaryData) != 1 {
			t.Errorf("its keys are gone: %v", configMap)
		}
	}
}

package reconciler

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/generator"
)

func TestCacheHoldsOnlyWhatCarriesOurLabel(t *testing.T) {
	shard := labels.SelectorFromSet(labels.Set{"shard": "a"})
	options := CacheOptions(shard, []string{"docs"}, NewInlinePages())
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
	if all := CacheOptions(nil, nil, NewInlinePages()); all.DefaultNamespaces != nil {
		t.Errorf("the namespaces are %v, want all", all.DefaultNamespaces)
	}
}

// TestNoObjectIsInTwoCaches has the cache of metadata leave out what the manager's has.
func TestNoObjectIsInTwoCaches(t *testing.T) {
	others := MetadataCacheOptions(nil).ByObject
	if len(others) != 3 {
		t.Fatalf("there are %d kinds, want ConfigMaps, Services and Deployments", len(others))
	}
	for object, by := range others {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		if by.Label.Matches(labels.Set(generator.Labels("docs"))) {
			t.Errorf("%ss of views are in it", kind)
		}
		if !by.Label.Matches(labels.Set{}) || !by.Label.Matches(labels.Set{"app.kubernetes.io/created-by": "somebody"}) {
			t.Errorf("other %ss aren't", kind)
		}
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
	large := strings.Repeat("x", 1<<20)
	object.OwnerReferences = []metav1.OwnerReference{{APIVersion: large, Kind: large, Name: large, UID: types.UID(large), Controller: new(true)}}
	if _, err := MetadataCacheOptions(nil).DefaultTransform(object); err != nil || object.Size() > 2<<10 {
		t.Errorf("%v, %d bytes are left of an owner's", err, object.Size())
	}
	if _, err := MetadataCacheOptions(nil).DefaultTransform(cache.DeletedFinalStateUnknown{}); err != nil {
		t.Errorf("a tombstone: %v", err)
	}
}

func TestCacheKeepsOfPodsWhatHealthIsReadOff(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "pod", Annotations: map[string]string{v1.RevisionAnnotation: "r"}, Labels: generator.Labels("docs")}
	set := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "viewer-docs-1", UID: "1", Controller: new(true)}
	meta.OwnerReferences = []metav1.OwnerReference{set}
	full := meta
	full.OwnerReferences = append([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "x", UID: "2"}}, set)
	full.Annotations = map[string]string{v1.RevisionAnnotation: "r", "other": "x"}
	full.ManagedFields, full.GenerateName = []metav1.ManagedFieldsEntry{{}}, "p"
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "m"}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	for name, test := range map[string]struct{ status, want corev1.PodStatus }{
		"of one that is ready, that it is": {
			corev1.PodStatus{
				Phase: "Running", PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{}}, Message: "x",
				Conditions:            []corev1.PodCondition{{Type: "PodScheduled", Status: "True"}, {Type: "Ready", Status: "True", Reason: "r"}, {Type: "Initialized", Status: "True"}},
				ContainerStatuses:     []corev1.ContainerStatus{{Name: "mdbook", Ready: true, Image: "x", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
				InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", Ready: true, State: ended}},
			},
			corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}}},
		},
		"of one that isn't, why": {
			corev1.PodStatus{
				Phase:                 "Pending",
				Conditions:            []corev1.PodCondition{{Type: "PodScheduled", Status: "False", Reason: "r", Message: "m"}},
				ContainerStatuses:     []corev1.ContainerStatus{{Name: "mdbook", Image: "x", State: waiting, LastTerminationState: ended, RestartCount: 3}},
				InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", Ready: true, State: waiting}},
			},
			corev1.PodStatus{
				Phase:                 "Pending",
				Conditions:            []corev1.PodCondition{{Type: "PodScheduled", Status: "False", Reason: "r", Message: "m"}},
				ContainerStatuses:     []corev1.ContainerStatus{{Name: "mdbook", State: waiting, LastTerminationState: ended}},
				InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", Ready: true, State: waiting}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: *full.DeepCopy(), Spec: corev1.PodSpec{NodeName: "node"}, Status: test.status}
			if _, err := stripPod(pod); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&corev1.Pod{ObjectMeta: meta, Status: test.want}, pod); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCacheKeepsOfPodsAnnotationsThatAreRead(t *testing.T) {
	large := strings.Repeat("x", 100<<10)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		v1.RevisionAnnotation: "r", v1.LastPagesAnnotation: "true", v1.RestartedForAnnotation: large, v1.GroupVersion.Group + "/other": "x",
	}}}
	if _, err := stripPod(pod); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{v1.RevisionAnnotation: "r", v1.LastPagesAnnotation: "true"}, pod.Annotations); diff != "" {
		t.Error(diff)
	}
}

func TestCacheKeepsOfViewsWhatIsRead(t *testing.T) {
	view := &v1.MarkdownView{Spec: v1.MarkdownViewSpec{Markdowns: map[string]string{"a.md": "text"}}, ObjectMeta: metav1.ObjectMeta{
		Name: "docs", GenerateName: "docs-", Labels: map[string]string{"large": "x"}, Finalizers: []string{"x"}, ManagedFields: []metav1.ManagedFieldsEntry{{}},
		Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: "its pages", "large": "x",
			v1.AdoptAnnotation: "true", "reconcile.fluxcd.io/requestedAt": "now", "event.toolkit.fluxcd.io/team": "a",
			"event.toolkit.fluxcd.io/large": strings.Repeat("x", 100<<10),
		},
	}}
	for object, by := range CacheOptions(nil, nil, NewInlinePages()).ByObject {
		if _, ok := object.(*v1.MarkdownView); !ok {
			continue
		}
		if _, err := by.Transform(view); err != nil {
			t.Fatal(err)
		}
	}
	want := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", Annotations: map[string]string{
		v1.AdoptAnnotation: "true", "reconcile.fluxcd.io/requestedAt": "now", "event.toolkit.fluxcd.io/team": "a",
	}, GenerateName: inlineMark + "8"}}
	if diff := cmp.Diff(want, view); diff != "" {
		t.Error(diff)
	}
}

// TestObjectsMayPassTheCachesTwice does what client-go does with the first list of a watch.
func TestObjectsMayPassTheCachesTwice(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "docs", Labels: generator.Labels("docs"), Annotations: map[string]string{v1.AdoptAnnotation: "true"}}
	for object, by := range CacheOptions(nil, nil, NewInlinePages()).ByObject {
		object.SetLabels(meta.Labels)
		object.SetAnnotations(meta.Annotations)
		if view, ok := object.(*v1.MarkdownView); ok {
			view.Spec.Markdowns = map[string]string{"a.md": "text"}
		}
		once, err := by.Transform(object)
		if err != nil {
			t.Fatal(err)
		}
		want := once.(client.Object).DeepCopyObject()
		twice, err := by.Transform(once)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, twice); diff != "" {
			t.Errorf("%T: %s", object, diff)
		}
	}
}

// TestCacheKeepsNoPages has objects, as watches deliver them, go into the caches: with a page
// that can't be compressed.
func TestCacheKeepsNoPages(t *testing.T) {
	var random strings.Builder
	source := rand.NewChaCha8([32]byte{})
	for random.Len() < 100<<10 {
		fmt.Fprintf(&random, "%016x", source.Uint64())
	}
	page := random.String()
	const atMost = 2 << 10
	meta := metav1.ObjectMeta{Name: "markdowns-docs", Labels: generator.Labels("docs"), Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: page}}
	for object, by := range CacheOptions(nil, nil, NewInlinePages()).ByObject {
		switch object := object.(type) {
		case *corev1.ConfigMap:
			object.ObjectMeta = *meta.DeepCopy()
			object.Data, object.BinaryData = map[string]string{"a.md": page}, map[string][]byte{"b.md": []byte(page)}
			if _, err := by.Transform(object); err != nil {
				t.Fatal(err)
			}
			if object.Size() > atMost {
				t.Errorf("of a ConfigMap there are %d bytes", object.Size())
			}
		case *v1.MarkdownView:
			object.ObjectMeta = *meta.DeepCopy()
			object.Spec.Markdowns = map[string]string{"a.md": page}
			if _, err := by.Transform(object); err != nil {
				t.Fatal(err)
			}
			if left, err := json.Marshal(object); err != nil || len(left) > atMost {
				t.Errorf("of a view there are %d bytes: %v", len(left), err)
			}
		}
	}
}

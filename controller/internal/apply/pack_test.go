package apply

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// packedBytes is how long what is packed of an object of a small view may be.
const packedBytes = 450

func TestPackedObjectIsAllThereWhenUnpacked(t *testing.T) {
	f := newFixture(t)
	f.applied()
	edit(f, "somebody", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{"a": "b"}
		d.Status = appsv1.DeploymentStatus{Replicas: 3, Conditions: []appsv1.DeploymentCondition{{Type: "Available"}}}
	})
	for kind, live := range map[string]client.Object{
		"markdowns-docs": &corev1.ConfigMap{}, "viewer-docs": &corev1.Service{}, "Deployment": &appsv1.Deployment{},
	} {
		name := strings.Replace(kind, "Deployment", "viewer-docs", 1)
		t.Run(fmt.Sprintf("%T", live), func(t *testing.T) {
			fakecluster.Get(f.Cluster, live, "docs", name)
			want := live.DeepCopyObject().(client.Object)
			Compact(want)
			before := liveDigest(want)
			Pack(live)
			once := live.DeepCopyObject().(client.Object)
			Pack(live)
			if diff := cmp.Diff(once, live); diff != "" {
				t.Errorf("it changes when it is packed again: %s", diff)
			}
			if liveDigest(live) != before {
				t.Error("it isn't known for what it was any more")
			}
			if !appliedByUs(live) || !CarriesLabels(live, "docs") || checkOwnership(f.view, corev1.SchemeGroupVersion.WithKind("any"), live, isUnknown) != nil {
				t.Error("it isn't ours any more")
			}
			if length := len(live.GetSelfLink()); length > packedBytes {
				t.Errorf("it takes %d bytes", length)
			}
			f.Must(unpack(live))
			if diff := cmp.Diff(want, live); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLargeObjectsArePackedWhole: anyone may write a Deployment of a megabyte, of what can't be
// compressed, or of the same again and again, also beyond what a dictionary reaches.
func TestLargeObjectsArePackedWhole(t *testing.T) {
	f := newFixture(t)
	f.applied()
	for _, bytes := range []int{1, 64<<10 - 1, 64 << 10, 1 << 20} {
		noise := make([]byte, bytes)
		_, _ = rand.Read(noise) // it never fails
		for kind, content := range map[string]string{"noise": string(noise), "the same": strings.Repeat("a", bytes), "the same words": strings.Repeat("mdbook serve ", bytes/13+1)} {
			t.Run(fmt.Sprintf("%d bytes of %s", bytes, kind), func(t *testing.T) {
				d := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
				d.Spec.Template.Annotations["large"] = content
				want := d.DeepCopy()
				Compact(want)
				Pack(d)
				f.Must(unpack(d))
				if d.Spec.Template.Annotations["large"] != content {
					t.Error("it isn't what it was")
				}
				d.Spec.Template.Annotations["large"], want.Spec.Template.Annotations["large"] = "", ""
				if diff := cmp.Diff(want, d); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestNobodyPacksButUs has an object claim to be packed.
func TestNobodyPacksButUs(t *testing.T) {
	f := newFixture(t)
	f.applied()
	live := fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-docs")
	live.SetSelfLink("/api/v1/namespaces/docs/services/viewer-docs")
	if _, isPacked := rest(live); isPacked {
		t.Error("it is taken for packed")
	}
	Pack(live)
	if _, isPacked := rest(live); !isPacked {
		t.Error("it isn't packed")
	}
}

func TestObjectsOfAViewShareWhatIsTheSame(t *testing.T) {
	f := newFixture(t)
	f.applied()
	service := fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-docs")
	configMap := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs")
	Pack(service)
	Pack(configMap)
	if &service.OwnerReferences[0] != &configMap.OwnerReferences[0] {
		t.Error("not the owner")
	}
	if fmt.Sprintf("%p", service.Labels) != fmt.Sprintf("%p", configMap.Labels) {
		t.Error("not the labels")
	}
}

func TestSharedValuesAreBounded(t *testing.T) {
	s := newShared[int, int](10)
	for i := range 1000 {
		if got := s.of(i, i); got != i {
			t.Fatalf("%d became %d", i, got)
		}
		s.of(0, -1) // what is asked for again and again stays
	}
	if got := s.of(0, -1); got != 0 {
		t.Errorf("what is asked for all the time became %d", got)
	}
	if all := len(s.recent) + len(s.less); all > 20 {
		t.Errorf("%d are kept", all)
	}
}

// TestAStatusChangesNothingOfWhatIsPacked has the same encoded when only the status is another.
func TestAStatusChangesNothingOfWhatIsPacked(t *testing.T) {
	f := newFixture(t)
	f.applied()
	status := func(replicas int32, at time.Time) *appsv1.Deployment {
		d := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
		d.Generation, d.Status.Replicas, d.ResourceVersion = 1, replicas, fmt.Sprint(1000+replicas)
		d.ManagedFields = append(d.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status",
			Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:status":{"f:%d":{}}}`, replicas)),
		})
		Pack(d)
		return d
	}
	first, second := status(1, time.Unix(1, 0)), status(2, time.Unix(2, 0))
	if diff := cmp.Diff(first.GetSelfLink(), second.GetSelfLink()); diff != "" {
		t.Errorf("what is packed differs: %s", diff)
	}
	for _, d := range []*appsv1.Deployment{first, second} {
		version, replicas := d.ResourceVersion, d.Status.Replicas
		f.Must(unpack(d))
		if d.ResourceVersion != version || d.Status.Replicas != replicas {
			t.Errorf("unpacked it has version %s and %d replicas, want %s and %d", d.ResourceVersion, d.Status.Replicas, version, replicas)
		}
	}
}

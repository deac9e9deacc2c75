package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// TestWhatLostItsLabelsIsTakenOverWhenRefused has the API server refuse ours beside a port of
// somebody else's, of a Service that isn't in the cache.
func TestWhatLostItsLabelsIsTakenOverWhenRefused(t *testing.T) {
	f := newFixture(t)
	f.applied()
	edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) {
		s.Labels = nil
		s.Spec.Ports = []corev1.ServicePort{{Name: "theirs", Port: 81, Protocol: corev1.ProtocolTCP}}
	})
	f.seen()
	f.Refuse = func(verb string, object client.Object) error {
		service, ok := object.(*corev1.Service)
		if !ok || verb != "apply" {
			return nil
		}
		live := fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", service.Name)
		for _, entry := range live.ManagedFields {
			if entry.Manager == "anyone" && entry.Operation == metav1.ManagedFieldsOperationUpdate {
				return errField
			}
		}
		return nil
	}
	f.applied()
	service := fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-docs")
	if len(service.Labels) == 0 || len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 80 {
		t.Errorf("it has the labels %v and the ports %v", service.Labels, service.Spec.Ports)
	}
}

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestPodsFollowTheReplicasOfAView(t *testing.T) {
	f := newFixture(t)
	f.serve("Scaled")

	f.kubectl("scale", "markdownview/docs", "--replicas=3")
	f.runs(3)

	f.kubectl("scale", "markdownview/docs", "--replicas=0")
	f.runs(0)
	if message := conditions.GetMessage(f.ready(), meta.ReadyCondition); !strings.Contains(message, "Scaled to zero") {
		t.Errorf("a view scaled to zero says %q", message)
	}

	f.kubectl("scale", "markdownview/docs", "--replicas=1")
	f.runs(1)
	f.site().Shows("/", "Scaled")

	least := int32(2)
	f.create(&autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "docs"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: v1.GroupVersion.String(), Kind: v1.Kind, Name: "docs"},
			MinReplicas:    &least,
			MaxReplicas:    3,
		},
	})
	f.runs(2)
	// Nobody takes the replica back.
	until := time.Now().Add(10 * time.Second)
	f.eventually("ten seconds to pass", func() string {
		if pods := f.pods(); len(pods) != 2 {
			t.Fatalf("there are %d pods, want 2", len(pods))
		}
		if time.Now().Before(until) {
			return "not yet"
		}
		return ""
	})
}

// runs waits until the view docs is Ready with so many pods.
func (f *fixture) runs(count int) {
	f.Helper()
	f.eventually(fmt.Sprintf("%d pods", count), func() string {
		if pods := f.pods(); len(pods) != count {
			return fmt.Sprintf("there are %d", len(pods))
		}
		return ""
	})
	view := f.ready()
	if got := view.Status.Replicas; got != int32(count) {
		f.eventually("the status to show them", func() string {
			if f.get(view, "docs") && view.Status.Replicas == int32(count) {
				return ""
			}
			return fmt.Sprintf("it shows %d", view.Status.Replicas)
		})
	}
}

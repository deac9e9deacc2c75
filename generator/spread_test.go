package generator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

func TestPodsAreSpreadOverNodesHoweverManyThereAre(t *testing.T) {
	want := []corev1ac.TopologySpreadConstraintApplyConfiguration{*corev1ac.TopologySpreadConstraint().
		WithTopologyKey("kubernetes.io/hostname").WithMaxSkew(1).WithWhenUnsatisfiable("ScheduleAnyway").WithMatchLabelKeys("pod-template-hash").
		WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(Labels("docs")))}
	for _, replicas := range []int32{0, 1, 2} {
		view := newView("docs", withPages(map[string]string{"a.md": ""}))
		view.Spec.Replicas = &replicas
		if diff := cmp.Diff(want, mustGenerate(t, view).Deployment.Spec.Template.Spec.TopologySpreadConstraints); diff != "" {
			t.Errorf("%d replicas: %s", replicas, diff)
		}
	}
}

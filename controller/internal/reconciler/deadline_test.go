package reconciler

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// TestDeadlineThatPassedDuringARestart: a controller that doesn't remember since when a
// rollout makes no progress goes by the Deployment's own deadline.
func TestDeadlineThatPassedDuringARestart(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.ViewerImage, v.Spec.Timeout = "example.com/none", &metav1.Duration{Duration: time.Minute}
	})
	f.stopRollout("docs")
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "")
	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
	deployment.Status.ObservedGeneration = deployment.Generation
	deployment.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded",
	}}
	f.Must(f.Admin.Status().Update(t.Context(), deployment))
	f.states.forget(types.NamespacedName{Namespace: "docs", Name: "docs"})
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.RolloutFailedReason, "")
}

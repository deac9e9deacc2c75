package reconciler

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

func patch(kind, text string) v1.Patch {
	return v1.Patch{Patch: text, Target: &v1.PatchTarget{Kind: kind}}
}

// patched has a view served that has patches and metadata of its own.
func (f *fixture) patched() {
	f.Helper()
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.CommonMetadata = &v1.CommonMetadata{Labels: map[string]string{"team": "docs"}}
		v.Spec.Patches = []v1.Patch{
			patch("Deployment", "spec: {replicas: 3, template: {spec: {priorityClassName: low}}}"),
			patch("Service", "spec: {type: NodePort}"),
		}
	})
	f.reconcile("docs")
	f.rollOut("docs")
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "3 replicas serve")
	f.Requests()
}

func (f *fixture) deployment() *appsv1.Deployment {
	return fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
}

func (f *fixture) service() *corev1.Service {
	return fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-docs")
}

func TestPatchedViewIsReadyWhenItsTemplateIsRolledOut(t *testing.T) {
	f := newFixture(t)
	f.patched()
	// Neither the pages nor their revision change.
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.Patches = append(v.Spec.Patches, patch("Deployment", "spec: {template: {spec: {nodeSelector: {disk: ssd}}}}"))
	})
	f.reconcile("docs")
	f.stopRollout("docs")
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "0 of 3 replicas are up to date")
	f.rollOut("docs")
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
}

func TestPatchedObjectsAtRestCostNothing(t *testing.T) {
	f := newFixture(t)
	f.patched()
	f.states = viewStates{}
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
	if got := f.Requests(); len(got) > 0 {
		t.Errorf("after a restart it writes %v", got)
	}
}

func TestDroppedPatchGivesUpItsFields(t *testing.T) {
	f := newFixture(t)
	f.patched()
	fakecluster.Edit(f.Cluster, "somebody", &corev1.Service{}, "docs", "viewer-docs", func(s *corev1.Service) { s.Annotations = map[string]string{"theirs": "stays"} })
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Patches, v.Spec.CommonMetadata = nil, nil })
	f.reconcile("docs")
	deployment, service := f.deployment(), f.service()
	if got := deployment.Spec.Template.Spec.PriorityClassName; got != "" || *deployment.Spec.Replicas != 1 || deployment.Labels["team"] != "" {
		t.Errorf("the Deployment still has %q, %d replicas and the labels %v", got, *deployment.Spec.Replicas, deployment.Labels)
	}
	if service.Spec.Type != corev1.ServiceTypeClusterIP || service.Annotations["theirs"] != "stays" {
		t.Errorf("the Service is of type %s, with the annotations %v", service.Spec.Type, service.Annotations)
	}
}

func TestPatchesAreKeptWhileSomethingElseIsBad(t *testing.T) {
	for name, edit := range map[string]func(*v1.MarkdownView){
		"a page is missing": func(v *v1.MarkdownView) { delete(v.Spec.Markdowns, "start.md") },
		"a patch doesn't apply": func(v *v1.MarkdownView) {
			v.Spec.Patches = append(v.Spec.Patches, patch("Service", "- {op: remove, path: /spec/none}"))
		},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %t", name, restarted), func(t *testing.T) {
				f := newFixture(t)
				f.patched()
				f.update("docs", edit)
				if restarted {
					f.states = viewStates{}
				}
				f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.InvalidReason, "spec.")
				fakecluster.Edit(f.Cluster, "kubectl-edit", &corev1.Service{}, "docs", "viewer-docs", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
				_, _ = f.tryReconcile("docs")
				deployment, service := f.deployment(), f.service()
				if deployment.Spec.Template.Spec.PriorityClassName != "low" || *deployment.Spec.Replicas != 3 || deployment.Labels["team"] != "docs" {
					t.Errorf("the Deployment has %q, %d replicas and the labels %v", deployment.Spec.Template.Spec.PriorityClassName, *deployment.Spec.Replicas, deployment.Labels)
				}
				if service.Spec.Type != corev1.ServiceTypeNodePort {
					t.Errorf("the Service is of type %s", service.Spec.Type)
				}
			})
		}
	}
}

func TestFaultyPatchIsInvalid(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.Patches = []v1.Patch{patch("Deployment", "spec: {selector: {matchLabels: {a: b}}}")}
	})
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.InvalidReason, "spec.patches[0]: Deployment viewer-docs: a patch can't change its spec.selector")
}

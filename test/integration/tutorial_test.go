package integration

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// TestTheTutorialsObjectsCarryOver makes what the tutorial's controller left in a
// cluster: a ConfigMap that an Update wrote, with a page that was never pruned, and
// a Deployment and a Service that the same field manager applied.
func TestTheTutorialsObjectsCarryOver(t *testing.T) {
	f := newFixture(t)
	view := f.view("docs")
	view.Spec.Suspend = true // until everything is there
	f.create(view)
	f.tutorialObjects(view)
	before := []client.Object{f.configMap(), f.deployment()}

	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Suspend = false })
	f.ready("docs")
	configMap, deployment := f.configMap(), f.deployment()
	if configMap.UID != before[0].GetUID() || deployment.UID != before[1].GetUID() {
		t.Error("an object was made anew")
	}
	if _, there := configMap.Data["removed.md"]; there {
		t.Error("the page that the tutorial's controller never pruned is there")
	}
	if deployment.Spec.Template.Spec.Containers[0].SecurityContext == nil {
		t.Error("the pod isn't hardened")
	}
}

func (f *fixture) tutorialObjects(view *v1.MarkdownView) {
	f.Helper()
	labels := generator.Labels(view.Name)
	isController := true
	owner := metav1.OwnerReference{APIVersion: v1.GroupVersion.String(), Kind: v1.Kind, Name: view.Name, UID: view.UID, Controller: &isController, BlockOwnerDeletion: &isController}
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "markdowns-docs", Namespace: f.namespace, OwnerReferences: []metav1.OwnerReference{owner}},
		Data:       map[string]string{"SUMMARY.md": "old", "removed.md": "old"},
	}
	if err := admin.Create(f.Context(), configMap, client.FieldOwner("manager")); err != nil {
		f.Fatal(err)
	}
	ownerConfiguration := metav1ac.OwnerReference().WithAPIVersion(owner.APIVersion).WithKind(owner.Kind).
		WithName(owner.Name).WithUID(owner.UID).WithController(true).WithBlockOwnerDeletion(true)
	deployment := appsv1ac.Deployment("viewer-docs", f.namespace).
		WithLabels(labels).WithOwnerReferences(ownerConfiguration).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(1).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).WithSpec(corev1ac.PodSpec().
				WithContainers(corev1ac.Container().WithName("mdbook").WithImage("peaceiris/mdbook:latest").
					WithCommand("mdbook").WithArgs("serve", "--hostname", "0.0.0.0")))))
	service := corev1ac.Service("viewer-docs", f.namespace).
		WithLabels(labels).WithOwnerReferences(ownerConfiguration).
		WithSpec(corev1ac.ServiceSpec().WithSelector(labels).WithType(corev1.ServiceTypeClusterIP).
			WithPorts(corev1ac.ServicePort().WithProtocol(corev1.ProtocolTCP).WithPort(80).WithTargetPort(intstr.FromInt32(3000))))
	for _, apply := range []func() error{
		func() error { return admin.Apply(f.Context(), deployment, client.FieldOwner(generator.FieldManager)) },
		func() error { return admin.Apply(f.Context(), service, client.FieldOwner(generator.FieldManager)) },
	} {
		if err := apply(); err != nil {
			f.Fatal(err)
		}
	}
	f.eventually("the tutorial's Deployment to be available", func() string {
		deployment := &appsv1.Deployment{}
		if !f.get(deployment, "viewer-docs") || deployment.Status.AvailableReplicas != 1 {
			return "it isn't"
		}
		return ""
	})
}

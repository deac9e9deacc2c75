package e2e

import (
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/viewer"
)

// TestTheTutorialsControllerIsReplaced makes what the kubebuilder tutorial's
// controller left in a cluster, served by pods of its shape: a ConfigMap that an
// Update wrote, with a page that it never pruned, and a Deployment and a Service
// that the same field manager applied. Then this controller takes over.
func TestTheTutorialsControllerIsReplaced(t *testing.T) {
	f := newFixture(t)
	view := f.view("docs", nil)
	tutorial(view)
	view.Spec.Suspend = true // until its controller's objects are there
	f.create(view)
	f.tutorialObjects(view)
	site := f.site()
	site.Shows("/", "Page 1")
	site.Shows("/removed.html", "Removed")
	before := f.uids()

	reader := site.Reader("/")
	f.change(func(view *v1.MarkdownView) { view.Spec.Suspend = false })
	f.ready()
	for name, uid := range f.uids() {
		if before[name] != uid {
			t.Errorf("%s was made anew", name)
		}
	}
	site.Shows("/", "一ページ目のコンテンツです。")
	f.eventually("the removed page to vanish", func() string {
		if status, _, err := site.Ask(t.Context(), "/removed.html"); err != nil || status != 404 {
			return "it is served"
		}
		return ""
	})
	configMap := &corev1.ConfigMap{}
	if !f.get(configMap, "markdowns-docs") || configMap.Data["removed.md"] != "" {
		t.Error("the removed page is in the ConfigMap")
	}
	answers := reader.End()
	t.Logf("%d answers, %d failed", len(answers), len(viewer.Failures(answers)))
	for _, a := range viewer.Failures(answers) {
		t.Logf("at %s: %s", a.At, a.Failed)
	}
}

func (f *fixture) uids() map[string]types.UID {
	f.Helper()
	uids := map[string]types.UID{}
	for name, object := range map[string]client.Object{
		"markdowns-docs": &corev1.ConfigMap{}, "viewer-docs": &appsv1.Deployment{},
	} {
		if !f.get(object, name) {
			f.Fatalf("there is no %s", name)
		}
		uids[name] = object.GetUID()
	}
	service := &corev1.Service{}
	if !f.get(service, "viewer-docs") {
		f.Fatal("there is no Service")
	}
	uids["the Service"] = service.UID
	return uids
}

// tutorialObjects applies what the tutorial's controller applies for a view.
func (f *fixture) tutorialObjects(view *v1.MarkdownView) {
	f.Helper()
	controller := true
	owner := metav1.OwnerReference{APIVersion: v1.GroupVersion.String(), Kind: v1.Kind, Name: view.Name, UID: view.UID, Controller: &controller, BlockOwnerDeletion: &controller}
	pages := map[string]string{"removed.md": "# Removed\n"}
	maps.Copy(pages, view.Spec.Markdowns)
	pages["SUMMARY.md"] += "- [Removed](removed.md)\n"
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "markdowns-docs", Namespace: f.namespace, OwnerReferences: []metav1.OwnerReference{owner}},
		Data:       pages,
	}
	if err := admin.Create(f.Context(), configMap, client.FieldOwner("manager")); err != nil {
		f.Fatal(err)
	}
	reference := metav1ac.OwnerReference().WithAPIVersion(owner.APIVersion).WithKind(owner.Kind).
		WithName(owner.Name).WithUID(owner.UID).WithController(true).WithBlockOwnerDeletion(true)
	labels := generator.Labels(view.Name)
	deployment := tutorialDeployment(f.namespace, labels).WithOwnerReferences(reference)
	service := corev1ac.Service("viewer-docs", f.namespace).WithLabels(labels).WithOwnerReferences(reference).
		WithSpec(corev1ac.ServiceSpec().WithSelector(labels).WithType(corev1.ServiceTypeClusterIP).
			WithPorts(corev1ac.ServicePort().WithProtocol(corev1.ProtocolTCP).WithPort(80).WithTargetPort(intstr.FromInt32(3000))))
	if err := admin.Apply(f.Context(), deployment, client.FieldOwner(generator.FieldManager)); err != nil {
		f.Fatal(err)
	}
	if err := admin.Apply(f.Context(), service, client.FieldOwner(generator.FieldManager)); err != nil {
		f.Fatal(err)
	}
	f.kubectl("rollout", "status", "deployment/viewer-docs", "--timeout=2m")
}

func tutorialDeployment(namespace string, labels map[string]string) *appsv1ac.DeploymentApplyConfiguration {
	probe := corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().
		WithPort(intstr.FromString("http")).WithPath("/").WithScheme(corev1.URISchemeHTTP))
	return appsv1ac.Deployment("viewer-docs", namespace).WithLabels(labels).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(1).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).WithSpec(corev1ac.PodSpec().
				WithContainers(corev1ac.Container().WithName("mdbook").
					WithImage(generator.DefaultViewerImage).
					WithImagePullPolicy(corev1.PullIfNotPresent).
					WithCommand("mdbook").WithArgs("serve", "--hostname", "0.0.0.0").
					WithVolumeMounts(corev1ac.VolumeMount().WithName("markdowns").WithMountPath("/book/src")).
					WithPorts(corev1ac.ContainerPort().WithName("http").WithProtocol(corev1.ProtocolTCP).WithContainerPort(3000)).
					WithLivenessProbe(probe).WithReadinessProbe(probe)).
				WithVolumes(corev1ac.Volume().WithName("markdowns").
					WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName("markdowns-docs"))))))
}

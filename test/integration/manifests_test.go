package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/product"
)

const systemNamespace = product.Namespace

// TestTheManagersManifestsAreAdmitted applies config/default as a user does, with
// the image's name, where what isn't restricted is both refused and warned of.
func TestTheManagersManifestsAreAdmitted(t *testing.T) {
	clustertest.Need(t, shared, cluster.Faults, cluster.SimulatedNodes)
	f := newFixture(t)
	objects := f.build(`
resources: [ROOT/config/default]
images: [{name: markdown-view, newName: registry.example.com/markdown-view, newTag: v1}]
patches:
- target: {kind: Namespace}
  patch: '[{"op": "add", "path": "/metadata/labels/pod-security.kubernetes.io~1warn", "value": "restricted"}]'
`)
	warnings := &warningLog{}
	config := rest.CopyConfig(shared.Config)
	config.WarningHandlerWithContext, config.WarningHandler = nil, warnings
	strict, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		err := strict.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership)
		if err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	t.Cleanup(func() { // what other tests don't expect
		for _, object := range objects {
			if slices.Contains([]string{"Deployment", "PodDisruptionBudget", "NetworkPolicy"}, object.GetKind()) {
				_ = strict.Delete(context.WithoutCancel(t.Context()), object)
			}
		}
	})
	if len(warnings.lines) > 0 {
		t.Errorf("the API server warns:\n%s", strings.Join(warnings.lines, "\n"))
	}

	deployment := &appsv1.Deployment{}
	f.eventually("the controller's pods to run", func() string {
		if err := admin.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: "markdown-view-controller"}, deployment); err != nil {
			return err.Error()
		}
		return differs(fmt.Sprint(deployment.Status.AvailableReplicas), "2")
	})
	container := deployment.Spec.Template.Spec.Containers[0]
	if container.Image != "registry.example.com/markdown-view:v1" {
		t.Errorf("the image is %s", container.Image)
	}
	checkSelected(t, deployment, objects)
	checkFlux(t, deployment, f.build("resources: [ROOT/config/flux]\n"), objects)
}

// checkFlux holds what lets the controller in to source-controller against what lets it
// out: labels and port of source-controller are those of Flux's own manifests.
func checkFlux(t *testing.T, deployment *appsv1.Deployment, flux, ours []*unstructured.Unstructured) {
	t.Helper()
	in, out := &networkingv1.NetworkPolicy{}, &networkingv1.NetworkPolicy{}
	convert(t, flux[0], in)
	for _, object := range ours {
		if object.GetKind() == "NetworkPolicy" {
			convert(t, object, out)
		}
	}
	if err := admin.Create(t.Context(), flux[0], client.DryRunAll); err != nil && !apierrors.IsNotFound(err) { // the namespace is Flux's
		t.Errorf("config/flux: %v", err)
	}
	from := in.Spec.Ingress[0].From[0]
	if from.NamespaceSelector.MatchLabels[corev1.LabelMetadataName] != deployment.Namespace {
		t.Errorf("config/flux lets in %v, not namespace %s", from.NamespaceSelector.MatchLabels, deployment.Namespace)
	}
	if selector := labels.SelectorFromSet(from.PodSelector.MatchLabels); !selector.Matches(labels.Set(deployment.Spec.Template.Labels)) {
		t.Errorf("config/flux lets in pods with %s, which the controller's aren't", selector)
	}
	letOut := slices.ContainsFunc(out.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
		return len(rule.To) == 1 && rule.To[0].NamespaceSelector.MatchLabels[corev1.LabelMetadataName] == in.Namespace &&
			cmp.Equal(rule.Ports, in.Spec.Ingress[0].Ports)
	})
	if !letOut {
		t.Errorf("what config/flux lets in to namespace %s isn't let out: %v", in.Namespace, out.Spec.Egress)
	}
}

// checkSelected looks at what refers to the controller's pods by their labels and
// ports: nobody else would notice a misspelt one.
func checkSelected(t *testing.T, deployment *appsv1.Deployment, objects []*unstructured.Unstructured) {
	t.Helper()
	selectors := map[string]metav1.LabelSelector{}
	for _, object := range objects {
		switch object.GetKind() {
		case "NetworkPolicy":
			policy := &networkingv1.NetworkPolicy{}
			convert(t, object, policy)
			selectors["NetworkPolicy "+policy.Name] = policy.Spec.PodSelector
			for _, rule := range policy.Spec.Ingress {
				for _, port := range rule.Ports {
					if !hasPort(deployment, port.Port.String()) {
						t.Errorf("NetworkPolicy %s: no port is called %s", policy.Name, port.Port)
					}
				}
			}
		case "PodDisruptionBudget":
			budget := &policyv1.PodDisruptionBudget{}
			convert(t, object, budget)
			selectors["PodDisruptionBudget "+budget.Name] = *budget.Spec.Selector
		}
	}
	if len(selectors) != 2 {
		t.Errorf("not a network policy and a disruption budget: %v", selectors)
	}
	for name, selector := range selectors {
		matcher, err := metav1.LabelSelectorAsSelector(&selector)
		if err != nil || matcher.Empty() || !matcher.Matches(labels.Set(deployment.Spec.Template.Labels)) {
			t.Errorf("%s doesn't select the controller's pods: %v, %v", name, selector, err)
		}
	}
}

// TestTheMonitoringComponentFitsTheManager builds it as its users do: its kinds
// aren't known here.
func TestTheMonitoringComponentFitsTheManager(t *testing.T) {
	clustertest.Need(t, shared, cluster.Faults)
	f := newFixture(t)
	objects := f.build("resources: [ROOT/config/default]\ncomponents: [ROOT/config/monitoring]\nnamespace: elsewhere\n")
	deployment := &appsv1.Deployment{}
	found := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		found[object.GetKind()+" "+object.GetName()] = object
		if object.GetKind() == "Deployment" {
			convert(t, object, deployment)
		}
	}
	for _, name := range []string{"PodMonitor markdown-view-controller", "PrometheusRule markdown-view-controller", "ConfigMap markdown-view-dashboard"} {
		if found[name] == nil || found[name].GetNamespace() != "elsewhere" {
			t.Fatalf("%s isn't in the namespace of the rest", name)
		}
	}
	if found["ConfigMap markdown-view-dashboard"].GetLabels()["grafana_dashboard"] == "" {
		t.Error("Grafana won't find the dashboard")
	}
	monitor := found["PodMonitor markdown-view-controller"].Object
	selected, _, _ := unstructured.NestedStringMap(monitor, "spec", "selector", "matchLabels")
	if len(selected) == 0 || !labels.SelectorFromSet(selected).Matches(labels.Set(deployment.Spec.Template.Labels)) {
		t.Errorf("the PodMonitor doesn't select the controller's pods: %v", selected)
	}
	endpoints, _, _ := unstructured.NestedSlice(monitor, "spec", "podMetricsEndpoints")
	if port := endpoints[0].(map[string]any)["port"].(string); !hasPort(deployment, port) {
		t.Errorf("no port is called %s", port)
	}
}

// TestTheBindingsFollowTheInstallation to another namespace and other names, where a
// controller without rights would run otherwise.
func TestTheBindingsFollowTheInstallation(t *testing.T) {
	f := newFixture(t)
	for _, change := range []string{"", "namespace: elsewhere\n", "namespace: elsewhere\nnamePrefix: team-\nnameSuffix: -b\n"} {
		objects := f.build("resources: [ROOT/config/default, ROOT/config/flux]\ncomponents: [ROOT/config/admission-policy, ROOT/config/impersonation]\n" + change)
		var account rbacv1.Subject
		names := map[string]bool{}
		for _, object := range objects {
			names[object.GetKind()+" "+object.GetName()] = true
			if object.GetKind() == "ServiceAccount" {
				account = rbacv1.Subject{Kind: "ServiceAccount", Name: object.GetName(), Namespace: object.GetNamespace()}
			}
		}
		for _, object := range objects {
			if object.GetKind() != "ClusterRoleBinding" && object.GetKind() != "RoleBinding" {
				continue
			}
			binding := &rbacv1.ClusterRoleBinding{}
			convert(t, object, binding)
			if diff := cmp.Diff([]rbacv1.Subject{account}, binding.Subjects); diff != "" {
				t.Errorf("%q: %s %s: %s", change, object.GetKind(), object.GetName(), diff)
			}
			if role := binding.RoleRef.Kind + " " + binding.RoleRef.Name; !names[role] {
				t.Errorf("%q: %s %s binds %s, which isn't there", change, object.GetKind(), object.GetName(), role)
			}
		}
	}
}

// build has kustomize build a kustomization in which ROOT is the source tree.
func (f *fixture) build(kustomization string) []*unstructured.Unstructured {
	f.Helper()
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		f.Fatal(err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		f.Fatal(err)
	}
	relative, err := filepath.Rel(dir, root)
	if err != nil {
		f.Fatal(err)
	}
	text := strings.ReplaceAll(kustomization, "ROOT", filepath.ToSlash(relative))
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
	return decodeAll(f.T, []byte(f.mustKubectl("", "kustomize", dir)))
}

func decodeAll(t *testing.T, manifests []byte) []*unstructured.Unstructured {
	t.Helper()
	objects, err := product.Objects(manifests)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) == 0 {
		t.Fatal("no objects")
	}
	return objects
}

func convert(t *testing.T, object *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		t.Fatal(err)
	}
}

func hasPort(deployment *appsv1.Deployment, name string) bool {
	return slices.ContainsFunc(deployment.Spec.Template.Spec.Containers[0].Ports,
		func(port corev1.ContainerPort) bool { return port.Name == name })
}

// warningLog collects the API server's warnings.
type warningLog struct {
	mu    sync.Mutex
	lines []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warningLog) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, text)
}

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// foreignObjects are objects that somebody else has given a view's names.
func foreignObjects(namespace string) map[string]client.Object {
	labels := map[string]string{"app": "theirs"}
	return map[string]client.Object{
		"ConfigMap markdowns-docs": &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "markdowns-docs", Namespace: namespace},
			Data:       map[string]string{"theirs": "x"},
		},
		"Deployment viewer-docs": &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", Namespace: namespace},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "theirs"}}},
				},
			},
		},
		"Service viewer-docs": &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", Namespace: namespace},
			Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
		},
	}
}

func TestWhatIsntOursIsntTouched(t *testing.T) {
	for _, name := range []string{"ConfigMap markdowns-docs", "Deployment viewer-docs", "Service viewer-docs"} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			foreign := foreignObjects(f.namespace)[name]
			f.create(foreign)
			f.create(f.view("docs"))
			view := f.status("docs", metav1.ConditionFalse, v1.ConflictReason)
			if message := readyMessage(view); !strings.Contains(message, name) {
				t.Errorf("the message doesn't name the object: %s", message)
			}
			after := foreign.DeepCopyObject().(client.Object)
			f.get(after, foreign.GetName())
			if len(after.GetLabels()) != 0 || len(after.GetOwnerReferences()) != 0 || hasManager(after, "markdown-view-controller") {
				t.Errorf("the object was touched: %v, %v, %v", after.GetLabels(), after.GetOwnerReferences(), after.GetManagedFields())
			}
			f.looksAgainForNothing()
		})
	}
}

// looksAgainForNothing has the view docs looked at again, which costs no more than the
// answer to that in its status.
func (f *fixture) looksAgainForNothing() {
	f.Helper()
	since := f.mark()
	for i := range 3 {
		f.requestReconciliation("docs", fmt.Sprint("look ", i))
	}
	for _, r := range f.requests(since) {
		if r.Resource != "markdownviews.view.zoetrope.github.io" {
			f.Errorf("a look at a conflict cost %s", r)
		}
	}
}

func TestAConflictEndsWhenTheObjectGoes(t *testing.T) {
	f := newFixture(t)
	foreign := foreignObjects(f.namespace)["ConfigMap markdowns-docs"]
	f.create(foreign)
	f.create(f.view("docs"))
	f.status("docs", metav1.ConditionFalse, v1.ConflictReason)
	if err := admin.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	f.ready("docs")
}

// TestAServiceThatLostItsLabelsAndGotAPortIsRepaired: no Service may have two ports of which
// one has no name, as ours.
func TestAServiceThatLostItsLabelsAndGotAPortIsRepaired(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "viewer-docs"}}
	f.must(f.Client.Patch(t.Context(), service, client.RawPatch(types.MergePatchType, []byte(
		`{"metadata": {"labels": null}, "spec": {"ports": [{"name": "theirs", "port": 81, "protocol": "TCP"}]}}`)), client.FieldOwner("anyone")))
	f.eventually("the Service to be repaired", func() string {
		f.get(service, "viewer-docs")
		if ports := service.Spec.Ports; len(service.Labels) == 0 || len(ports) != 1 || ports[0].Port != 80 {
			return fmt.Sprintf("it has the labels %v and the ports %v", service.Labels, ports)
		}
		return ""
	})
	f.ready("docs")
}

func TestAForeignObjectIsAdoptedWhenAsked(t *testing.T) {
	f := newFixture(t)
	f.create(foreignObjects(f.namespace)["ConfigMap markdowns-docs"])
	f.create(f.view("docs"))
	f.status("docs", metav1.ConditionFalse, v1.ConflictReason)
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
		v.Annotations = map[string]string{v1.AdoptAnnotation: "true"}
	})
	f.ready("docs")
	if _, there := f.configMap().Data["theirs"]; there {
		t.Error("the foreign key is still there")
	}
}

func TestAnotherControllersObjectIsNeverAdopted(t *testing.T) {
	f := newFixture(t)
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner", Namespace: f.namespace}}
	f.create(owner)
	foreign := foreignObjects(f.namespace)["ConfigMap markdowns-docs"]
	isController := true
	foreign.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: &isController}})
	f.create(foreign)
	view := f.view("docs")
	view.Annotations = map[string]string{v1.AdoptAnnotation: "true"}
	f.create(view)
	f.status("docs", metav1.ConditionFalse, v1.ConflictReason)
	if data := f.configMap().Data; len(data) != 1 {
		t.Errorf("the object was touched: %v", data)
	}
}

// TestTheFunctionsOutputIsAdopted goes through both front ends: what was applied of the
// function's output becomes the view's, without a restarted pod, and what the view
// wants no longer goes, whoever applied it.
func TestTheFunctionsOutputIsAdopted(t *testing.T) {
	for name, apply := range map[string]func(*fixture, []*unstructured.Unstructured){
		"applied by a client's server-side apply": func(f *fixture, objects []*unstructured.Unstructured) {
			for _, object := range objects {
				if err := admin.Patch(f.Context(), object, client.Apply, client.FieldOwner("kubectl"), client.ForceOwnership); err != nil { //nolint:staticcheck // the plain patch is what kubectl sends
					f.Fatal(err)
				}
			}
		},
		"kubectl apply --server-side": func(f *fixture, objects []*unstructured.Unstructured) {
			f.mustKubectl(documents(f.T, objects), "apply", "--server-side", "-f", "-")
		},
		"kubectl apply": func(f *fixture, objects []*unstructured.Unstructured) {
			f.mustKubectl(documents(f.T, objects), "apply", "-f", "-")
		},
		"kubectl create": func(f *fixture, objects []*unstructured.Unstructured) {
			f.mustKubectl(documents(f.T, objects), "create", "-f", "-")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			view := f.view("docs")
			apply(f, f.render(view))
			f.eventually("the pods to be available", func() string {
				if f.deployment().Status.AvailableReplicas != 1 {
					return "they aren't"
				}
				return ""
			})
			before, pods := f.deployment(), f.pods()
			f.create(view)
			f.ready("docs")
			after := f.deployment()
			if before.Generation != after.Generation || before.UID != after.UID {
				t.Errorf("the Deployment was changed: generation %d, was %d", after.Generation, before.Generation)
			}
			if diff := cmp.Diff(pods, f.pods()); diff != "" {
				t.Errorf("the pods were restarted (-before +after):\n%s", diff)
			}
			if !metav1.IsControlledBy(after, f.ready("docs")) {
				t.Error("the Deployment has no owner reference")
			}
			for _, manager := range []string{"kubectl", "kubectl-client-side-apply", "kubectl-create"} {
				if hasManager(after, manager) {
					t.Errorf("%s still owns fields of the Deployment", manager)
				}
			}
			f.checkPruned()
		})
	}
}

// checkPruned removes a page and some configuration of the view docs, and expects
// nothing of that to stay in what was applied before the view was there.
func (f *fixture) checkPruned() {
	f.Helper()
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
		v.Spec.Markdowns["SUMMARY.md"] = "- [Start](start.md)\n"
		delete(v.Spec.Markdowns, "next.md")
	})
	f.ready("docs")
	configMap, deployment := f.configMap(), f.deployment()
	if _, there := configMap.Data["next.md"]; there {
		f.Error("the page that was removed is there")
	}
	if keys := len(configMap.Data); keys != 3 { // two pages and the revision key
		f.Errorf("the ConfigMap has %d keys: %v", keys, configMap.Data)
	}
	for _, object := range []client.Object{configMap, deployment} {
		if _, there := object.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; there {
			f.Errorf("%s has kubectl's annotation, which speaks of what isn't there any more", object.GetName())
		}
	}
}

// pods returns the names of the test's pods, which differ after a restart.
func (f *fixture) pods() []string {
	f.Helper()
	var list corev1.PodList
	if err := admin.List(f.Context(), &list, client.InNamespace(f.namespace)); err != nil {
		f.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

func hasManager(object client.Object, name string) bool {
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == name {
			return true
		}
	}
	return false
}

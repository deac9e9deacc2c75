package integration

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestAViewBecomesReadyWithinItsBudget(t *testing.T) {
	f := newFixture(t)
	since := f.mark()
	f.create(f.view("docs"))
	view := f.ready("docs")
	f.atMost(6, since)
	if view.Status.Replicas != 1 || view.Status.Selector == "" || view.Status.LastAppliedRevision == "" {
		t.Errorf("the status lacks something: %+v", view.Status)
	}
	if len(view.Status.Inventory.Entries) != 3 {
		t.Errorf("the inventory isn't three objects: %v", view.Status.Inventory.Entries)
	}
}

func TestAChangedPageIsRolledOutWithinItsBudget(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	first := f.ready("docs")
	f.settled("docs")
	since := f.mark()
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Changed\n" })
	second := f.ready("docs")
	f.atMost(6, since) // with a read and a write for the copy of what was served
	if first.Status.LastAppliedRevision == second.Status.LastAppliedRevision {
		t.Error("the revision is the same")
	}
	if got := f.configMap().Data["next.md"]; got != "# Changed\n" {
		t.Errorf("the page is %q", got)
	}
}

func TestARemovedPageIsPruned(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
		v.Spec.Markdowns["SUMMARY.md"] = "- [Start](start.md)\n"
		delete(v.Spec.Markdowns, "next.md")
	})
	f.ready("docs")
	if _, there := f.configMap().Data["next.md"]; there {
		t.Error("the page is still there")
	}
}

func TestDeletionIsGarbageCollection(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	view := f.ready("docs")
	if len(view.Finalizers) > 0 {
		t.Errorf("the view has finalizers: %v", view.Finalizers)
	}
	if err := admin.Delete(t.Context(), view); err != nil {
		t.Fatal(err)
	}
	f.eventually("its objects to go", func() string {
		for name, object := range map[string]client.Object{
			"markdowns-docs": &corev1.ConfigMap{}, "viewer-docs": &appsv1.Deployment{},
		} {
			if f.get(object, name) {
				return name + " is there"
			}
		}
		if f.get(&corev1.Service{}, "viewer-docs") {
			return "the Service is there"
		}
		return ""
	})
}

func TestDriftIsCorrectedWithinItsBudget(t *testing.T) {
	tests := map[string]struct {
		drift    func(*fixture)
		restored func(*fixture) string
		event    string
	}{
		"a page that was edited": {
			drift: func(f *fixture) {
				update(f, &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Hacked\n" })
			},
			restored: func(f *fixture) string {
				return differs(f.configMap().Data["start.md"], "# Start\n")
			},
			event: "ConfigMap markdowns-docs",
		},
		"a foreign key": {
			drift: func(f *fixture) {
				update(f, &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["foreign.md"] = "x" })
			},
			restored: func(f *fixture) string {
				if _, there := f.configMap().Data["foreign.md"]; there {
					return "the key is there"
				}
				return ""
			},
			event: "ConfigMap markdowns-docs",
		},
		"the Service's port": {
			drift: func(f *fixture) {
				update(f, &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
			},
			restored: func(f *fixture) string {
				service := &corev1.Service{}
				f.get(service, "viewer-docs")
				return differs(fmt.Sprint(len(service.Spec.Ports), service.Spec.Ports[0].Port), "1 80")
			},
			event: "Service viewer-docs",
		},
		"the Service's target port": {
			drift: func(f *fixture) {
				update(f, &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(1) })
			},
			restored: func(f *fixture) string {
				service := &corev1.Service{}
				f.get(service, "viewer-docs")
				return differs(service.Spec.Ports[0].TargetPort.String(), "3000")
			},
			event: "Service viewer-docs",
		},
		"the Deployment's grace period": {
			drift: func(f *fixture) {
				update(f, &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) {
					*d.Spec.Template.Spec.TerminationGracePeriodSeconds = 60
				})
			},
			restored: func(f *fixture) string {
				return differs(fmt.Sprint(*f.deployment().Spec.Template.Spec.TerminationGracePeriodSeconds), "6")
			},
			event: "Deployment viewer-docs",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.create(f.view("docs"))
			f.settled("docs")
			since := f.mark()
			test.drift(f)
			f.eventually("the repair", func() string { return test.restored(f) })
			f.caughtUp()
			f.ready("docs")
			f.atMost(3, since)
			f.eventually("the event", func() string {
				events := strings.Join(f.events("docs"), "\n")
				if !strings.Contains(events, "DriftCorrected: "+test.event) {
					return "there are only:\n" + events
				}
				return ""
			})
		})
	}
}

func TestADeletedObjectComesBack(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.settled("docs")
	since := f.mark()
	service := &corev1.Service{}
	f.get(service, "viewer-docs")
	if err := admin.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	f.eventually("the Service", func() string {
		again := &corev1.Service{}
		if !f.get(again, "viewer-docs") || again.UID == service.UID {
			return "it isn't back"
		}
		return ""
	})
	f.caughtUp()
	f.atMost(3, since)
	f.event("docs", "DriftCorrected: Service viewer-docs was deleted")
}

func TestWhatOthersOwnIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	patch := []byte(`{"metadata":{"labels":{"team":"docs"}},"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)
	deployment := f.deployment()
	if err := admin.Patch(t.Context(), deployment, client.RawPatch("application/merge-patch+json", patch), client.FieldOwner("kubectl-rollout")); err != nil {
		t.Fatal(err)
	}
	f.eventually("the restart to be done", func() string {
		d := f.deployment()
		if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas != 1 || d.Status.Replicas != 1 {
			return "it is going on"
		}
		return ""
	})
	f.ready("docs")
	after := f.deployment()
	if after.Labels["team"] != "docs" || after.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] != "now" {
		t.Errorf("the label or the annotation is gone: %v, %v", after.Labels, after.Spec.Template.Annotations)
	}
}

func TestWhatAPersonAddedIsPruned(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	update(f, &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "ADDED", Value: "x"})
	})
	f.eventually("the variable to go", func() string {
		for _, variable := range f.deployment().Spec.Template.Spec.Containers[0].Env {
			if variable.Name == "ADDED" {
				return "it is there"
			}
		}
		return ""
	})
	f.ready("docs")
}

package apply

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

func TestCreateCostsOneRequestAnObject(t *testing.T) {
	f := newFixture(t)
	report := f.applied()
	if diff := cmp.Diff([]string{"apply ConfigMap markdowns-docs", "apply Deployment viewer-docs", "apply Service viewer-docs"}, f.Requests()); diff != "" {
		t.Error(diff)
	}
	want := []string{"ConfigMap markdowns-docs (create)", "Deployment viewer-docs (create)", "Service viewer-docs (create)"}
	if diff := cmp.Diff(want, report.Written); diff != "" {
		t.Error(diff)
	}
	if len(report.Corrections) > 0 {
		t.Errorf("a creation is called a correction: %v", report.corrections())
	}
}

func TestUnchangedObjectCostsNoRequest(t *testing.T) {
	for name, forget := range map[string]func(*fixture){
		"remembered":         func(*fixture) {},
		"after a restart":    func(f *fixture) { f.last = LastApplied{} },
		"after the interval": (*fixture).passInterval,
		"after a status came": func(f *fixture) {
			edit(f, "kubelet", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Status.Replicas = 1 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.applied()
			f.Requests()
			forget(f)
			if report := f.applied(); len(report.Written)+len(report.Corrections) > 0 || len(f.Requests()) > 0 {
				t.Errorf("got %+v", report)
			}
		})
	}
}

func TestDriftIsCorrected(t *testing.T) {
	tests := map[string]struct {
		edit    func(*fixture)
		writes  []string
		message string
	}{
		"a page is edited": {
			func(f *fixture) {
				edit(f, "kubectl-edit", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Other\n" })
			},
			[]string{"apply ConfigMap markdowns-docs"},
			"ConfigMap: ConfigMap markdowns-docs was changed and is corrected: /data/start.md",
		},
		"a page is removed": {
			func(f *fixture) {
				edit(f, "anyone", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { delete(c.Data, "start.md") })
			},
			[]string{"apply ConfigMap markdowns-docs"},
			"ConfigMap: ConfigMap markdowns-docs was changed and is corrected: /data/start.md",
		},
		"somebody adds a key to the pages": {
			func(f *fixture) {
				edit(f, "anyone", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["foreign"] = "" })
			},
			[]string{"merge into ConfigMap markdowns-docs"},
			"ConfigMap: ConfigMap markdowns-docs was changed and is corrected: /data/foreign",
		},
		"somebody adds a binary key to the pages": {
			func(f *fixture) {
				edit(f, "anyone", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"foreign": {1}} })
			},
			[]string{"merge into ConfigMap markdowns-docs"},
			"ConfigMap: ConfigMap markdowns-docs was changed and is corrected: /binaryData/foreign",
		},
		"the owner reference is removed": {
			func(f *fixture) {
				edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.OwnerReferences = nil })
			},
			[]string{"apply Service viewer-docs"},
			"Service: Service viewer-docs was changed and is corrected: /metadata/ownerReferences",
		},
		"a person adds a field with kubectl edit": {
			func(f *fixture) {
				edit(f, "kubectl-edit", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 7 })
			},
			[]string{"patch fields of Deployment viewer-docs", "apply Deployment viewer-docs"},
			"Deployment: Deployment viewer-docs was changed and is corrected: /spec/minReadySeconds",
		},
		"an object loses its labels": {
			func(f *fixture) {
				edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Labels = nil })
			},
			[]string{"apply Service viewer-docs"},
			"Service: Service viewer-docs was deleted, or had lost its labels, and is applied again",
		},
		"an object is deleted": {
			func(f *fixture) {
				f.Must(f.Admin.Delete(f.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}))
			},
			[]string{"apply Service viewer-docs"},
			"Service: Service viewer-docs was deleted, or had lost its labels, and is applied again",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.applied()
			f.seen()
			f.Requests()
			test.edit(f)
			report := f.applied()
			if diff := cmp.Diff(test.writes, f.Requests()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{test.message}, report.corrections()); diff != "" {
				t.Error(diff)
			}
			if report = f.applied(); len(report.Written) > 0 {
				t.Errorf("it isn't as wanted then: %v", report.Written)
			}
		})
	}
}

func TestForeignFieldsAreKept(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"an annotation of kubectl annotate": func(f *fixture) {
			edit(f, "kubectl-annotate", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Annotations = map[string]string{"team": "docs"} })
		},
		"kubectl rollout restart": func(f *fixture) {
			edit(f, "kubectl-rollout", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) {
				d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "now"
			})
		},
		"a sidecar": func(f *fixture) {
			edit(f, "mesh", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "proxy"})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.applied()
			f.Requests()
			change(f)
			if report := f.applied(); len(report.Written) > 0 {
				t.Errorf("written: %v", report.Written)
			}
		})
	}
}

func TestViewChangeIsNotDrift(t *testing.T) {
	f := newFixture(t)
	f.applied()
	f.Requests()
	f.view.Spec.Markdowns["start.md"] = "# Changed\n"
	report := f.applied()
	if diff := cmp.Diff([]string{"apply ConfigMap markdowns-docs", "apply Deployment viewer-docs"}, f.Requests()); diff != "" {
		t.Error(diff)
	}
	if len(report.Corrections) > 0 {
		t.Errorf("got %v", report.corrections())
	}
	if got := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs").Data["start.md"]; got != "# Changed\n" {
		t.Errorf("the page is %q", got)
	}
}

func TestWebhookThatInsistsIsNotFought(t *testing.T) {
	f := newFixture(t)
	f.Mutate = func(fields map[string]any) {
		if fields["kind"] == "Service" {
			fields["spec"].(map[string]any)["type"] = "NodePort"
		}
	}
	f.applied()
	f.Requests()
	if report := f.applied(); len(report.Written)+len(report.Corrections) > 0 {
		t.Errorf("it is fought: %v", report.Written)
	}
	f.passInterval()
	report := f.applied()
	if diff := cmp.Diff([]string{"apply Service viewer-docs"}, f.Requests()); diff != "" {
		t.Errorf("once an interval it is tried: %s", diff)
	}
	if len(report.Corrections) > 0 {
		t.Errorf("what is still so is called corrected: %v", report.corrections())
	}
}

func TestForeignObjectIsRefused(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}
	owned := meta
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "App", Name: "x", UID: "theirs", Controller: new(true)}}
	labelled := *owned.DeepCopy()
	labelled.Labels = map[string]string{"app.kubernetes.io/created-by": "markdown-view-controller"}
	tests := map[string]struct {
		foreign client.Object
		writes  int // before it is noticed
	}{
		"a Service without our labels":                               {&corev1.Service{ObjectMeta: meta}, 2},
		"a Service of another controller":                            {&corev1.Service{ObjectMeta: owned}, 2},
		"a Service with our label stops all before it is written":    {&corev1.Service{ObjectMeta: labelled}, 0},
		"a Deployment with our label stops all before it is written": {&appsv1.Deployment{ObjectMeta: labelled}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.foreign)
			report, err := f.apply()
			known, ok := errors.AsType[*outcome.Error](err)
			if !ok || known.State != outcome.Stalled || known.Reason != v1.ConflictReason || known.Retry == 0 {
				t.Fatalf("got %v", err)
			}
			if len(report.Written) != test.writes {
				t.Errorf("written: %v", report.Written)
			}
		})
	}
}

func TestAdoptedDeploymentKeepsKubectlsAnnotation(t *testing.T) {
	f := newFixture(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "docs", Name: "viewer-docs", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}"},
	}})
	f.view.Annotations = map[string]string{v1.AdoptAnnotation: "true"}
	f.applied()
	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
	if deployment.Annotations[corev1.LastAppliedConfigAnnotation] == "" {
		t.Error("the annotation is gone: that begins a generation")
	}
	if !metav1.IsControlledBy(deployment, f.view) {
		t.Error("it isn't the view's")
	}
	if report := f.applied(); len(report.Written) > 0 {
		t.Errorf("written again: %v", report.Written)
	}
}

// TestRefusalBesideOthersFields has the API server refuse a Service as long as somebody
// else's field is beside ours.
func TestRefusalBesideOthersFields(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "viewer-docs",
		field.ErrorList{field.Required(field.NewPath("spec", "ports").Index(0).Child("name"), "")})
	f := newFixture(t)
	f.applied()
	f.Requests()
	edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) {
		s.Spec.Ports[0].Port = 81
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "more", Port: 8080})
	})
	f.Refuse = func(verb string, object client.Object) error {
		if verb == "apply" && len(object.GetManagedFields()) > 1 {
			return invalid
		}
		return nil
	}
	f.applied()
	if diff := cmp.Diff([]string{"apply Service viewer-docs", "patch fields of Service viewer-docs", "apply Service viewer-docs"}, f.Requests()); diff != "" {
		t.Error(diff)
	}
	service := fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-docs")
	if len(service.Spec.Ports) != 1 {
		t.Errorf("the ports are %v", service.Spec.Ports)
	}
}

func TestRefusalStopsWhatComesAfter(t *testing.T) {
	f := newFixture(t)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "markdowns-docs", errors.New("quota"))
	f.Refuse = func(string, client.Object) error { return forbidden }
	report, err := f.apply()
	if !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), "apply ConfigMap markdowns-docs: ") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"apply ConfigMap markdowns-docs"}, f.Requests()); diff != "" {
		t.Errorf("the Deployment must not ask for pages that aren't there: %s", diff)
	}
	if len(report.Written) > 0 {
		t.Errorf("called written: %v", report.Written)
	}
}

func TestPrune(t *testing.T) {
	named := func(name string, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: name, Labels: map[string]string{
			"app.kubernetes.io/name": "mdbook", "app.kubernetes.io/instance": "docs", "app.kubernetes.io/created-by": "markdown-view-controller",
		}}}
		if change != nil {
			change(c)
		}
		return c
	}
	owned := func(uid types.UID) func(*corev1.ConfigMap) {
		return func(c *corev1.ConfigMap) {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "X", Name: "x", UID: uid, Controller: new(true)}}
		}
	}
	tests := map[string]struct {
		configMap *corev1.ConfigMap
		deleted   bool
	}{
		"a wanted one stays":                     {named("markdowns-docs", owned("ours")), false},
		"the view's own goes":                    {named("markdowns-docs.2", owned("ours")), true},
		"the view's own goes, whatever its name": {named("other", owned("ours")), true},
		"the function's output goes":             {named("markdowns-docs.2", nil), true},
		"one that only carries the labels stays": {named("other", nil), false},
		"one that another controller owns stays": {named("markdowns-docs.2", owned("theirs")), false},
		"one of another view stays":              {named("markdowns-docs.2", func(c *corev1.ConfigMap) { c.Labels["app.kubernetes.io/instance"] = "docs-2" }), false},
		"one that is being deleted is left to it": {named("markdowns-docs.2", func(c *corev1.ConfigMap) {
			owned("ours")(c)
			c.Finalizers = []string{"example.com/x"}
			now := metav1.Now()
			c.DeletionTimestamp = &now
		}), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.configMap)
			object := "ConfigMap " + test.configMap.Name
			f.last.note(object, fingerprint{at: f.clock.Now()})
			deleted, _, err := f.Prune(t.Context(), f.view, []string{"markdowns-docs"}, &f.last, &f.wrote)
			f.Must(err)
			if got := slices.Contains(deleted, object+" (delete)"); got != test.deleted || (len(f.Requests()) > 0) != test.deleted {
				t.Errorf("deleted: %v", deleted)
			}
			if test.deleted && !f.last.IsEmpty() {
				t.Error("it is still remembered")
			}
		})
	}
}

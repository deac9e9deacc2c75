package integration

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/argocd"
)

// TestAllReadersAgree brings views to their final states and asks those who look at
// conditions: kubectl wait, kstatus (which Flux uses), Argo CD and kubectl get.
func TestAllReadersAgree(t *testing.T) {
	tests := map[string]struct {
		reach  func(*fixture)
		ready  bool // what kubectl wait --for=condition=Ready finds
		status status.Status
		health argocd.Health
		get    string // READY and STATUS of kubectl get
	}{
		"served": {
			reach: func(f *fixture) { f.create(f.view("docs")); f.ready("docs") },
			ready: true, status: status.CurrentStatus, health: argocd.Healthy, get: "True Healthy",
		},
		"parked": {
			reach: func(f *fixture) {
				view := f.view("docs")
				view.Spec.Replicas = new(int32)
				f.create(view)
				f.ready("docs")
			},
			ready: true, status: status.CurrentStatus, health: argocd.Healthy, get: "True Healthy",
		},
		"invalid": {
			reach: func(f *fixture) {
				view := f.view("docs")
				delete(view.Spec.Markdowns, "next.md")
				f.create(view)
				f.status("docs", metav1.ConditionFalse, v1.InvalidReason)
			},
			status: status.FailedStatus, health: argocd.Degraded, get: "False Invalid",
		},
		"invalid after it was served": {
			reach: func(f *fixture) {
				f.create(f.view("docs"))
				f.ready("docs")
				update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { delete(v.Spec.Markdowns, "next.md") })
				f.status("docs", metav1.ConditionFalse, v1.InvalidReason)
			},
			status: status.FailedStatus, health: argocd.Degraded, get: "False Invalid",
		},
		"a name that is taken": {
			reach: func(f *fixture) {
				f.create(foreignObjects(f.namespace)["ConfigMap markdowns-docs"])
				f.create(f.view("docs"))
				f.status("docs", metav1.ConditionFalse, v1.ConflictReason)
			},
			status: status.FailedStatus, health: argocd.Degraded, get: "False Conflict",
		},
		"pages that aren't there, which may come": {
			reach: func(f *fixture) {
				view := f.view("docs")
				view.Spec.ContentFrom = []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: "none"}}}
				f.create(view)
				f.status("docs", metav1.ConditionFalse, v1.PagesNotFoundReason)
			},
			status: status.InProgressStatus, health: argocd.Progressing, get: "False PagesNotFound",
		},
		"suspended before anybody has seen it": {
			reach: func(f *fixture) {
				view := f.view("docs")
				view.Spec.Suspend = true
				f.create(view)
			},
			status: status.InProgressStatus, health: argocd.Suspended, get: "",
		},
		// The conditions stay, and speak of the generation before: only kubectl get
		// shows them.
		"suspended after it was served": {
			reach: func(f *fixture) {
				f.create(f.view("docs"))
				f.ready("docs")
				update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Suspend = true })
			},
			status: status.InProgressStatus, health: argocd.Suspended, get: "True Healthy",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			test.reach(f)
			timeout := "1s"
			if test.ready {
				timeout = "1m" // it doesn't last that long
			}
			if out, err := f.kubectl("", "wait", "--for=condition=Ready", "mdview/docs", "--timeout="+timeout); (err == nil) != test.ready {
				t.Errorf("kubectl wait, which should succeed: %t: %v\n%s", test.ready, err, out)
			}
			if result := f.kstatus("docs"); result.Status != test.status {
				t.Errorf("kstatus says %s, not %s: %s", result.Status, test.status, result.Message)
			}
			f.health("docs", test.health)
			row := strings.Fields(f.mustKubectl("", "get", "mdview", "docs", "--no-headers"))
			if got := strings.Join(row[2:len(row)-1], " "); got != test.get {
				t.Errorf("kubectl get shows %q, not %q, in %v", got, test.get, row)
			}
		})
	}
}

// health holds what Argo CD says of a view against what it should.
func (f *fixture) health(name string, want argocd.Health) {
	f.Helper()
	view := &v1.MarkdownView{}
	f.get(view, name)
	got, message, err := argocd.Of(f.Context(), view)
	f.must(err)
	if got != want {
		f.Errorf("Argo CD says %s, not %s: %s", got, want, message)
	}
}

func (f *fixture) kstatus(name string) *status.Result {
	f.Helper()
	view := &v1.MarkdownView{}
	if !f.get(view, name) {
		f.Fatal("the view doesn't exist")
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(view)
	if err != nil {
		f.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		f.Fatal(fmt.Errorf("kstatus of %s: %w", name, err))
	}
	return result
}

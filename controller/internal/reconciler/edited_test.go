package reconciler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// edits are what somebody may do to pages.
var edits = map[string]struct {
	edit   func(*corev1.ConfigMap)
	repair string
}{
	"a page is edited": {
		edit: func(c *corev1.ConfigMap) { c.Data["start.md"] = "edited" }, repair: "apply ConfigMap markdowns-docs",
	},
	"a page is edited, and the owner taken off": {
		edit: func(c *corev1.ConfigMap) { c.Data["start.md"], c.OwnerReferences = "edited", nil }, repair: "apply ConfigMap markdowns-docs",
	},
	"a page is deleted": {
		edit: func(c *corev1.ConfigMap) { delete(c.Data, "start.md") }, repair: "apply ConfigMap markdowns-docs",
	},
	"a page is added": {
		edit: func(c *corev1.ConfigMap) { c.Data["more.md"] = "added" }, repair: "merge into ConfigMap markdowns-docs",
	},
}

func (f *fixture) edit(change func(*corev1.ConfigMap)) {
	f.Helper()
	fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", original, change)
}

// restartedFor is the mark on the template of the view's pods.
func (f *fixture) restartedFor() string {
	f.Helper()
	return fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs").Spec.Template.Annotations[v1.RestartedForAnnotation]
}

func TestPodsThatMayHaveMountedAnEditAreReplaced(t *testing.T) {
	suspend := func(is bool) func(*fixture) {
		return func(f *fixture) {
			f.update("docs", func(v *v1.MarkdownView) { v.Spec.Suspend = is })
			_, err := f.tryReconcile("docs")
			f.Must(err)
		}
	}
	whiles := map[string]struct{ before, after func(*fixture) }{
		"while the view is suspended": {suspend(true), func(f *fixture) {
			f.update("docs", func(v *v1.MarkdownView) { v.Spec.Suspend = false })
		}},
		"while no controller runs": {func(f *fixture) { f.states = viewStates{} }, func(*fixture) {}},
		"while a pod starts": {func(f *fixture) { (&pods{fixture: f}).make(isPending) }, func(f *fixture) {
			f.Must(f.Admin.DeleteAllOf(f.Context(), &appsv1.ReplicaSet{}, client.InNamespace("docs")))
		}},
		"while repairs are refused": {func(f *fixture) {
			f.Refuse = func(string, client.Object) error { return errors.New("not now") }
		}, func(f *fixture) {
			_, _ = f.tryReconcile("docs")
			f.clock.SetTime(f.clock.Now().Add(10 * time.Second))
			f.Refuse = nil
			f.Requests()
		}},
	}
	for during, while := range whiles {
		for what, test := range edits {
			t.Run(what+" "+during, func(t *testing.T) {
				f := newFixture(t)
				f.served("docs")
				while.before(f)
				f.edit(test.edit)
				while.after(f)
				f.stopRollout("docs")
				view := f.reconcile("docs")
				want := []string{"apply ConfigMap " + original, test.repair, "apply Deployment viewer-docs", writesStatus}
				if diff := cmp.Diff(want, f.Requests()); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				f.ready(view, metav1.ConditionFalse, v1.ProgressingReason, "")
				mark := f.restartedFor()
				if mark == "" {
					t.Fatal("the pods aren't replaced")
				}
				f.Must(f.Admin.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("docs")))
				f.rollOut("docs")
				f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
				f.Requests()

				f.states = viewStates{}
				f.clock.SetTime(time.Now()) // that of managed fields
				f.reconcile("docs")
				f.edit(test.edit) // seen at once
				f.reconcile("docs")
				if diff := cmp.Diff([]string{test.repair}, f.Requests()); diff != "" || f.restartedFor() != mark {
					t.Errorf("after a restart, and a quick repair: %s", diff)
				}
			})
		}
	}
}

func TestQuickRepairsAreOneRequest(t *testing.T) {
	for what, test := range edits {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t)
			f.served("docs")
			f.edit(test.edit)
			f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
			if diff := cmp.Diff([]string{test.repair}, f.Requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAReplacementIsNotLost has the controller end between the repair and the restart.
func TestAReplacementIsNotLost(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.states = viewStates{}
	f.edit(edits["a page is edited"].edit)
	f.Refuse = func(_ string, object client.Object) error {
		if _, is := object.(*appsv1.Deployment); is {
			return errors.New("killed")
		}
		return nil
	}
	_, err := f.tryReconcile("docs")
	if err == nil || f.restartedFor() != "" {
		t.Fatal("it wasn't refused")
	}
	f.Refuse = nil
	f.states = viewStates{}
	f.stopRollout("docs")
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "")
	if f.restartedFor() == "" {
		t.Error("the pods aren't replaced")
	}
}

// TestReplacementsHaveTheirTurn has the only rollout slot in use.
func TestReplacementsHaveTheirTurn(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.states = viewStates{}
	f.limiter = newRolloutLimiter(1, &f.states)
	other := f.states.of(client.ObjectKey{Namespace: "docs", Name: "other"})
	f.limiter.hold(other)
	f.edit(edits["a page is edited"].edit)
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "waiting for a rollout slot")
	f.limiter.release(other, true)
	f.stopRollout("docs")
	f.reconcile("docs")
	if f.restartedFor() == "" {
		t.Error("the pods aren't replaced")
	}
}

// TestTakingOverReplacesNoPods has pages that others have written, as the function's output
// is.
func TestTakingOverReplacesNoPods(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	fakecluster.Edit(f.Cluster, "kustomize-controller", &corev1.ConfigMap{}, "docs", original, func(c *corev1.ConfigMap) { c.ManagedFields = nil })
	f.states = viewStates{}
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
	if mark := f.restartedFor(); mark != "" {
		t.Errorf("the pods are replaced for %s", mark)
	}
}

// TestPodsOfAReplacedConfigMapAreReplaced has somebody put another ConfigMap in a view's place,
// as kubectl replace --force does, while nobody looks.
func TestPodsOfAReplacedConfigMapAreReplaced(t *testing.T) {
	for ours, want := range map[bool]bool{true: true, false: false} {
		t.Run(fmt.Sprintf("which says that it is the view's: %t", ours), func(t *testing.T) {
			f := newFixture(t)
			f.served("docs")
			f.states = viewStates{}
			replacement := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", original)
			f.Must(f.Admin.Delete(t.Context(), replacement.DeepCopy()))
			replacement.UID, replacement.ResourceVersion, replacement.ManagedFields = "", "", nil
			replacement.Data["start.md"] = "# Replaced\n"
			if !ours { // as the function makes it
				replacement.OwnerReferences = nil
				f.update("docs", func(v *v1.MarkdownView) { v.Annotations = map[string]string{v1.AdoptAnnotation: "true"} })
			}
			f.Must(f.Admin.Create(t.Context(), replacement))
			_, err := f.tryReconcile("docs")
			f.Must(err)
			if got := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", original).Data["start.md"]; got != "# Start\n" {
				t.Errorf("the page is %q", got)
			}
			if got := f.restartedFor() != ""; got != want {
				t.Errorf("pods are replaced: %t, want %t", got, want)
			}
		})
	}
}

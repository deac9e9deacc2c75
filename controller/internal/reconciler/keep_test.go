package reconciler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// faults are what keeps new pages from being applied.
var faults = map[string]struct {
	reason string
	begin  func(*fixture)
	end    func(*fixture)
}{
	"an invalid edit": {
		v1.InvalidReason,
		func(f *fixture) { f.update("docs", func(v *v1.MarkdownView) { delete(v.Spec.Markdowns, "start.md") }) },
		func(f *fixture) {
			f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Start\n" })
		},
	},
	"a missing ConfigMap": {
		v1.PagesNotFoundReason,
		func(f *fixture) {
			f.update("docs", func(v *v1.MarkdownView) {
				v.Spec.ContentFrom = []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: "gone"}}}
			})
		},
		func(f *fixture) { f.update("docs", func(v *v1.MarkdownView) { v.Spec.ContentFrom = nil }) },
	},
	"a rollout that waits": {
		v1.ProgressingReason,
		func(f *fixture) {
			f.limiter = newRolloutLimiter(1, &f.states)
			f.limiter.hold(f.states.of(client.ObjectKey{Namespace: "docs", Name: "other"}))
			f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Other\n" })
		},
		func(f *fixture) {
			f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Start\n" })
		},
	},
}

func TestWhatIsServedIsKept(t *testing.T) {
	losses := map[string]func(*fixture){
		"the Service is deleted": func(f *fixture) {
			f.Must(f.Admin.Delete(f.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}))
		},
		"the Deployment is deleted": func(f *fixture) {
			f.Must(f.Admin.Delete(f.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}))
		},
		"the ConfigMap is deleted": func(f *fixture) {
			f.Must(f.Admin.Delete(f.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "markdowns-docs"}}))
		},
		"a page is edited": func(f *fixture) {
			fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "edited" })
		},
		"a key is added": func(f *fixture) {
			fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["more"] = "" })
		},
		"the image is edited": func(f *fixture) {
			fakecluster.Edit(f.Cluster, "kubectl-edit", &appsv1.Deployment{}, "docs", "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "edited" })
		},
		"the view is scaled": func(f *fixture) {
			f.update("docs", func(v *v1.MarkdownView) { v.Spec.Replicas = new(int32(3)) })
		},
	}
	for fault, of := range faults {
		for loss, lose := range losses {
			for _, restarted := range []bool{false, true} {
				if fault == "a rollout that waits" && loss == "the Deployment is deleted" {
					continue // it replaces no pods then, and doesn't wait
				}
				t.Run(fmt.Sprintf("%s, %s, restarted %t", fault, loss, restarted), func(t *testing.T) {
					f := newFixture(t)
					f.served("docs")
					want := f.objects()
					of.begin(f)
					if restarted {
						f.states = viewStates{}
						if f.limiter.limit > 0 {
							f.limiter = newRolloutLimiter(1, &f.states)
							f.limiter.hold(f.states.of(client.ObjectKey{Namespace: "docs", Name: "other"}))
						}
					}
					_, _ = f.tryReconcile("docs")
					if got := f.Requests(); len(got) != 1 {
						t.Errorf("with nothing lost it writes %v", got)
					}
					lose(f)
					result, err := f.tryReconcile("docs")
					if err == nil && result.RequeueAfter == 0 {
						t.Error("it isn't looked at again within the interval")
					}
					if loss == "the view is scaled" {
						want["replicas"] = "3"
					}
					if diff := cmp.Diff(want, f.objects()); diff != "" {
						t.Errorf("it isn't kept: %s", diff)
					}
					view := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
					if reason := conditions.GetReason(view, meta.ReadyCondition); reason != of.reason || conditions.IsTrue(view, meta.ReadyCondition) {
						t.Errorf("the reason is %q: %s", reason, conditions.GetMessage(view, meta.ReadyCondition))
					}
					f.Requests()
					_, _ = f.tryReconcile("docs")
					if got := f.Requests(); len(got) > 0 {
						t.Errorf("at rest: %v", got)
					}
					of.end(f)
					_, err = f.tryReconcile("docs")
					f.Must(err)
					f.rollOut("docs")
					f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
				})
			}
		}
	}
}

// TestWhatCachesDontShowIsKept has objects lose their labels while no controller runs, and what
// is wanted be at fault.
func TestWhatCachesDontShowIsKept(t *testing.T) {
	takeOff := func(object client.Object) { object.SetLabels(map[string]string{"team": "docs"}) }
	for fault, of := range faults {
		if fault == "a rollout that waits" {
			continue // a Deployment that caches don't show doesn't wait
		}
		t.Run(fault, func(t *testing.T) {
			f := newFixture(t)
			f.served("docs")
			want := f.objects()
			of.begin(f)
			_, _ = f.tryReconcile("docs")
			fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { takeOff(c) })
			fakecluster.Edit(f.Cluster, "kubectl-label", &appsv1.Deployment{}, "docs", "viewer-docs", func(d *appsv1.Deployment) { takeOff(d) })
			f.states = viewStates{}
			for range 3 {
				f.clock.SetTime(f.clock.Now().Add(time.Minute))
				_, _ = f.tryReconcile("docs")
			}
			if diff := cmp.Diff(want, f.objects()); diff != "" {
				t.Errorf("it isn't kept: %s", diff)
			}
			for _, object := range []client.Object{
				fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs"), fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs"),
			} {
				if !apply.CarriesLabels(object, "docs") {
					t.Errorf("%T has the labels %v", object, object.GetLabels())
				}
			}
			view := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
			if message := conditions.GetMessage(view, meta.ReadyCondition); conditions.GetReason(view, meta.ReadyCondition) != of.reason || strings.Contains(message, "is gone") {
				t.Errorf("the message is %s", message)
			}
			f.Requests()
			_, _ = f.tryReconcile("docs")
			if got := f.Requests(); len(got) > 0 {
				t.Errorf("at rest: %v", got)
			}
		})
	}
}

// objects describes what a view's pods and readers get.
func (f *fixture) objects() map[string]string {
	f.Helper()
	described := map[string]string{"ConfigMap": "gone", "Deployment": "gone", "Service": "gone"}
	configMap, deployment, service := &corev1.ConfigMap{}, &appsv1.Deployment{}, &corev1.Service{}
	if f.Admin.Get(f.Context(), client.ObjectKey{Namespace: "docs", Name: "markdowns-docs"}, configMap) == nil {
		described["ConfigMap"] = fmt.Sprint(configMap.Data)
	}
	if f.Admin.Get(f.Context(), client.ObjectKey{Namespace: "docs", Name: "viewer-docs"}, deployment) == nil {
		described["Deployment"] = fmt.Sprint(deployment.Spec.Template.Spec.Containers[0].Image, deployment.Spec.Template.Annotations)
		described["replicas"] = fmt.Sprint(*deployment.Spec.Replicas)
	}
	if f.Admin.Get(f.Context(), client.ObjectKey{Namespace: "docs", Name: "viewer-docs"}, service) == nil {
		described["Service"] = fmt.Sprint(service.Spec.Selector, len(service.Spec.Ports))
	}
	return described
}

// TestHealthIsReportedBesideTheFault has pods fail while an edit is invalid.
func TestHealthIsReportedBesideTheFault(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	faults["an invalid edit"].begin(f)
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.InvalidReason, "start.md")
	f.eventMessages()
	setAvailable := func(available int32) {
		deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
		deployment.Spec.Replicas = new(int32(1))
		deployment.Status.AvailableReplicas = available
		f.Must(f.Admin.Status().Update(t.Context(), deployment))
	}
	setAvailable(0)
	view := f.reconcile("docs")
	f.ready(view, metav1.ConditionFalse, v1.InvalidReason, "; of the pages of before: 0 of 1 replicas are available")
	if !strings.Contains(conditions.GetMessage(view, meta.ReadyCondition), "start.md") || !conditions.IsStalled(view) {
		t.Errorf("the fault isn't reported any more: %v", view.Status.Conditions)
	}
	setAvailable(1)
	view = f.reconcile("docs")
	if message := conditions.GetMessage(view, meta.ReadyCondition); strings.Contains(message, "of the pages of before") {
		t.Errorf("still %s", message)
	}
	if got := f.eventMessages(); len(got) > 0 {
		t.Errorf("events: %v", got)
	}
}

// TestOnlyTheTemplateWaitsForARolloutSlot has a slot held by a rollout that makes no
// progress.
func TestOnlyTheTemplateWaitsForARolloutSlot(t *testing.T) {
	f := newFixture(t)
	f.limiter = newRolloutLimiter(1, &f.states)
	for _, name := range []string{"a", "b"} {
		f.served(name)
		f.update(name, func(v *v1.MarkdownView) {
			v.Spec.ViewerImage, v.Spec.Timeout = "example.com/viewer:2", &metav1.Duration{Duration: 24 * time.Hour}
		})
	}
	f.stopRollout("a")
	f.reconcile("a")
	f.ready(f.reconcile("b"), metav1.ConditionFalse, v1.ProgressingReason, "waiting for a rollout slot (1 in use)")
	f.Must(f.Admin.Delete(t.Context(), fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-b")))
	f.update("b", func(v *v1.MarkdownView) { v.Spec.Replicas = new(int32(3)) })
	f.reconcile("b")
	fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-b")
	if got := *fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-b").Spec.Replicas; got != 3 {
		t.Errorf("b has %d replicas while it waits", got)
	}

	f.served("c")
	f.update("c", func(v *v1.MarkdownView) { v.Spec.Patches = []v1.Patch{patch("Service", "spec: {type: NodePort}")} })
	f.ready(f.reconcile("c"), metav1.ConditionTrue, v1.HealthyReason, "")

	f.view("new")
	f.reconcile("new")
	if inUse := f.limiter.held; inUse != 1 {
		t.Errorf("a new view counts: %d slots are in use", inUse)
	}
	f.clock.SetTime(f.clock.Now().Add(slotPatience))
	f.ready(f.reconcile("a"), metav1.ConditionFalse, v1.ProgressingReason, "")
	if woken := f.limiter.woken(); woken != "b" {
		t.Fatalf("woken: %q", woken)
	}
	f.reconcile("b")
	if got := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-b").Spec.Template.Spec.Containers[0].Image; got != "example.com/viewer:2" {
		t.Errorf("the image of b is %s", got)
	}
}

// TestTimeoutCountsTimeWithoutProgress has forty replicas advance for longer than the
// timeout, one after another, and then stop.
func TestTimeoutCountsTimeWithoutProgress(t *testing.T) {
	f := newFixture(t)
	f.view("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.Replicas, v.Spec.Timeout = new(int32(40)), &metav1.Duration{Duration: time.Minute}
	})
	f.reconcile("docs")
	f.rollOut("docs")
	f.reconcile("docs")
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.ViewerImage = "example.com/viewer:2" })
	f.eventMessages()
	f.Requests()
	// The status is still that of the pods before, all of which were updated.
	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
	deployment.Generation = deployment.Status.ObservedGeneration + 1
	f.Must(f.Admin.Update(t.Context(), deployment))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "")
	progress := func(updated int32) {
		deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
		deployment.Status.UpdatedReplicas, deployment.Status.ObservedGeneration = updated, deployment.Generation
		f.Must(f.Admin.Status().Update(t.Context(), deployment))
	}
	for updated := range int32(30) {
		progress(updated)
		f.clock.SetTime(f.clock.Now().Add(40 * time.Second))
		f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "")
	}
	f.clock.SetTime(f.clock.Now().Add(30 * time.Second))
	progress(28) // one goes, and comes again: no progress
	f.reconcile("docs")
	progress(29)
	f.clock.SetTime(f.clock.Now().Add(30 * time.Second))
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.RolloutFailedReason, "29 of 40")
	if got := f.eventMessages(); len(got) != 2 {
		t.Errorf("events: %v", got)
	}
	if got := slices.DeleteFunc(f.Requests(), func(r string) bool { return !strings.HasPrefix(r, "write the status") }); len(got) > 33 {
		t.Errorf("%d status writes", len(got))
	}
	f.states = viewStates{}
	f.clock.SetTime(time.Now()) // that of conditions
	for i := range int32(20) {  // pods that come and go, also after a restart
		progress(28 - i%2)
		f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.RolloutFailedReason, "29 of 40")
	}
	if got := append(f.Requests(), f.eventMessages()...); len(got) > 0 {
		t.Errorf("each is written: %v", got)
	}
	progress(30)
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "30 of 40")
}

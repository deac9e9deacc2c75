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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// pods are what a Deployment controller and kubelets make of a view's Deployment.
type pods struct {
	*fixture
	made int
}

func (p *pods) deployment() *appsv1.Deployment {
	return fakecluster.Get(p.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
}

// make makes a pod of the template that the Deployment has now, and its ReplicaSet.
func (p *pods) make(change func(*corev1.Pod)) *corev1.Pod {
	p.Helper()
	d := p.deployment()
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Labels: generator.Labels("docs")}}
	set.Name = "viewer-docs-" + fmt.Sprint(len(d.Spec.Template.Annotations[v1.LastPagesAnnotation])) + d.Spec.Template.Annotations[v1.RevisionAnnotation][7:12]
	set.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: d.Name, UID: d.UID, Controller: new(true)}}
	set.Spec = appsv1.ReplicaSetSpec{Replicas: new(int32(1)), Template: *d.Spec.Template.DeepCopy()}
	set.Spec.Template.Labels["pod-template-hash"] = set.Name
	p.Must(client.IgnoreAlreadyExists(p.Admin.Create(p.Context(), set)))
	p.made++
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "docs", Name: fmt.Sprintf("%s-%d", set.Name, p.made), Labels: generator.Labels("docs"), Annotations: d.Spec.Template.Annotations,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set.Name, UID: types.UID(set.Name), Controller: new(true)}},
	}}
	change(pod)
	p.Must(p.Admin.Create(p.Context(), pod))
	return pod
}

func isRunning(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func isCrashing(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mdbook", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
}

func isPending(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending }

func (p *pods) status(replicas, available int32) {
	p.Helper()
	d := p.deployment()
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: replicas, UpdatedReplicas: 1, AvailableReplicas: available}
	p.Must(p.Admin.Status().Update(p.Context(), d))
}

// replaced has all pods replaced by those of the template that the Deployment has now.
func (p *pods) replaced() {
	p.Helper()
	p.Must(p.Admin.DeleteAllOf(p.Context(), &corev1.Pod{}, client.InNamespace("docs")))
	p.make(isRunning)
	p.rollOut("docs")
}

func (p *pods) pass(d time.Duration) { p.clock.SetTime(p.clock.Now().Add(d)) }

// mounts lists the ConfigMaps that the Deployment's pods mount.
func (p *pods) mounts() []string {
	var names []string
	for _, volume := range p.deployment().Spec.Template.Spec.Volumes {
		if volume.ConfigMap != nil {
			names = append(names, volume.ConfigMap.Name)
		}
	}
	return names
}

func (p *pods) requestsAre(want ...string) {
	p.Helper()
	if diff := cmp.Diff(want, p.Requests()); diff != "" {
		p.Fatalf("requests (-want +got):\n%s", diff)
	}
}

const (
	original, copied = "markdowns-docs", "markdowns-docs.last"
	writesStatus     = "write the status of MarkdownView docs"
)

// badEdit serves a view, and makes an edit whose pod crashes.
func badEdit(t *testing.T) (p *pods, old *corev1.Pod) {
	t.Helper()
	f := newFixture(t)
	p = &pods{fixture: f}
	f.served("docs")
	old = p.make(isRunning)
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Bad\n" })
	f.reconcile("docs")
	p.requestsAre("apply ConfigMap "+copied, "apply ConfigMap "+original, "apply Deployment viewer-docs", writesStatus)
	p.make(isCrashing)
	p.status(2, 1)
	f.reconcile("docs")
	f.Requests()
	return p, old
}

// lose has a pod replaced by one that can't start.
func (p *pods) lose(old *corev1.Pod) {
	p.Helper()
	p.Must(p.Admin.Delete(p.Context(), old))
	replacement := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "docs", Name: old.Name + "-again", Labels: old.Labels, Annotations: old.Annotations, OwnerReferences: old.OwnerReferences,
	}}
	isPending(replacement)
	p.Must(p.Admin.Create(p.Context(), replacement))
	p.status(2, 0)
}

// returned makes such an edit, and has the Deployment return to the last good pages.
func returned(t *testing.T) *pods {
	t.Helper()
	p, old := badEdit(t)
	p.lose(old)
	p.reconcile("docs")
	p.pass(3 * time.Second)
	p.reconcile("docs")
	if diff := cmp.Diff([]string{copied}, p.mounts()); diff != "" {
		t.Fatal(diff)
	}
	return p
}

// TestLostPodsOfTheLastGoodPagesStart follows a lost pod through the Deployment's return
// and its next try, with the controller started again before each step.
func TestLostPodsOfTheLastGoodPagesStart(t *testing.T) {
	for restart := range 5 {
		t.Run(fmt.Sprintf("restarted before step %d", restart), func(t *testing.T) {
			p, old := badEdit(t)
			step := 0
			restarts := func() {
				if step++; step == restart {
					p.states = viewStates{}
					_, _ = p.tryReconcile("docs")
				}
			}
			restarts() // 1
			p.lose(old)
			if result, err := p.tryReconcile("docs"); err != nil || result.RequeueAfter != 3*time.Second {
				t.Fatalf("it is looked at again after %s, %v", result.RequeueAfter, err)
			}
			restarts() // 2
			p.Requests()
			p.pass(3 * time.Second)
			p.ready(p.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "")
			if diff := cmp.Diff([]string{copied}, p.mounts()); diff != "" {
				t.Fatalf("it hasn't returned: %s", diff)
			}
			if _, there := p.deployment().Spec.Template.Labels["pod-template-hash"]; there {
				t.Error("it has the label of a ReplicaSet")
			}
			restarts() // 3
			p.Requests()
			p.reconcile("docs")
			p.requestsAre()
			p.make(isRunning)
			p.status(1, 1)
			restarts() // 4
			p.reconcile("docs")
			if diff := cmp.Diff([]string{original}, p.mounts()); diff != "" {
				t.Fatalf("what is wanted isn't tried again: %s", diff)
			}
			if _, there := p.deployment().Annotations[v1.ReturnedFromAnnotation]; there {
				t.Error("it says still that it has returned")
			}
			p.make(isCrashing)
			p.status(2, 1)
			view := p.reconcile("docs")
			p.ready(view, metav1.ConditionFalse, v1.ProgressingReason, "")
			p.Requests()
			for range 5 {
				p.pass(5 * time.Minute)
				view = p.reconcile("docs")
			}
			p.ready(view, metav1.ConditionFalse, v1.RolloutFailedReason, "1 pod goes on serving the last good pages")
			if got := slices.DeleteFunc(p.Requests(), func(r string) bool { return r == writesStatus }); len(got) > 0 {
				t.Errorf("it goes back and forth: %v", got)
			}
		})
	}
}

// TestOnlyWhatIsMissingIsReturnedFor tells when a Deployment doesn't return.
func TestOnlyWhatIsMissingIsReturnedFor(t *testing.T) {
	tests := map[string]struct {
		change  func(*pods)
		returns bool
		reason  string
	}{
		"a pod is lost": {change: func(*pods) {}, returns: true},
		"more replicas are wanted": {
			change: func(p *pods) {
				p.update("docs", func(v *v1.MarkdownView) { v.Spec.Replicas = new(int32(3)) })
				p.reconcile("docs")
			},
			returns: true,
		},
		"a second edit is as bad": {
			change: func(p *pods) {
				p.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Worse\n" })
				p.reconcile("docs")
				p.make(isCrashing)
			},
			returns: true,
		},
		"a second edit is invalid": {
			change: func(p *pods) {
				p.update("docs", func(v *v1.MarkdownView) { delete(v.Spec.Markdowns, "start.md") })
				_, _ = p.tryReconcile("docs")
			},
			returns: true, reason: v1.InvalidReason,
		},
		"the view is suspended": {
			change: func(p *pods) { p.update("docs", func(v *v1.MarkdownView) { v.Spec.Suspend = true }) },
		},
		"no slot is free": {
			change: func(p *pods) {
				p.limiter = newRolloutLimiter(1, &p.states)
				p.limiter.hold(p.states.of(client.ObjectKey{Namespace: "docs", Name: "other"}))
			},
			returns: true,
		},
		"the copy is somebody else's": {
			change: func(p *pods) {
				configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: copied}}
				p.Must(p.Admin.Delete(p.Context(), configMap))
				p.Must(p.Admin.Create(p.Context(), &corev1.ConfigMap{ObjectMeta: configMap.ObjectMeta, Data: map[string]string{"theirs": ""}}))
			},
		},
		"the ReplicaSet is gone": {
			change: func(p *pods) {
				p.Must(p.Admin.DeleteAllOf(p.Context(), &appsv1.ReplicaSet{}, client.InNamespace("docs")))
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, old := badEdit(t)
			p.lose(old)
			test.change(p)
			replicas := fakecluster.Get(p.Cluster, &v1.MarkdownView{}, "docs", "docs").Spec.Replicas
			p.status(2, 0)
			for range 4 {
				_, _ = p.tryReconcile("docs")
				p.pass(2 * time.Second)
			}
			if got := slices.Contains(p.mounts(), copied); got != test.returns {
				t.Fatalf("it has returned: %t; %s", got, conditions.GetMessage(fakecluster.Get(p.Cluster, &v1.MarkdownView{}, "docs", "docs"), meta.ReadyCondition))
			}
			if replicas != nil && *p.deployment().Spec.Replicas != *replicas {
				t.Errorf("it has %d replicas", *p.deployment().Spec.Replicas)
			}
			view := fakecluster.Get(p.Cluster, &v1.MarkdownView{}, "docs", "docs")
			if reason := conditions.GetReason(view, meta.ReadyCondition); test.reason != "" && reason != test.reason {
				t.Errorf("the reason is %s", reason)
			}
			if configMap := fakecluster.Get(p.Cluster, &corev1.ConfigMap{}, "docs", copied); name == "the copy is somebody else's" && len(configMap.Labels) > 0 {
				t.Errorf("it was taken: %v", configMap)
			}
		})
	}
}

// TestAFixIsAppliedAtOnce has a Deployment that has returned, and whose pods aren't
// available yet.
func TestAFixIsAppliedAtOnce(t *testing.T) {
	p := returned(t)
	p.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Fixed\n" })
	p.Requests()
	p.reconcile("docs")
	p.requestsAre("apply ConfigMap "+original, "apply Deployment viewer-docs", writesStatus)
	if diff := cmp.Diff([]string{original}, p.mounts()); diff != "" {
		t.Fatal(diff)
	}
	p.rollOut("docs")
	p.ready(p.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
}

// TestCopiesAreOfWhatWasServed looks at the copy after edits.
func TestCopiesAreOfWhatWasServed(t *testing.T) {
	p, _ := badEdit(t)
	page := func() string { return fakecluster.Get(p.Cluster, &corev1.ConfigMap{}, "docs", copied).Data["start.md"] }
	for _, restarted := range []bool{false, true} {
		if restarted {
			p.states = viewStates{}
		}
		p.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] += "# Worse\n" })
		p.reconcile("docs")
		if got := page(); got != "# Start\n" {
			t.Errorf("restarted %t, after pages that were never served the copy is %q", restarted, got)
		}
	}
	p.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Fixed\n" })
	p.reconcile("docs")
	p.replaced()
	p.ready(p.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
	if got := page(); got != "# Start\n" {
		t.Errorf("it is written again without need: %q", got)
	}
	p.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Next\n" })
	p.Requests()
	p.reconcile("docs")
	p.requestsAre("apply ConfigMap "+copied, "apply ConfigMap "+original, "apply Deployment viewer-docs", writesStatus)
	if got := page(); got != "# Fixed\n" {
		t.Errorf("the copy is %q", got)
	}
}

// TestForeignCopiesAreReported has a ConfigMap of the name of a copy that isn't the view's.
func TestForeignCopiesAreReported(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.Must(f.Admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: copied}, Data: map[string]string{"theirs": ""}}))
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Next\n" })
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ConflictReason, copied)
	if got := f.Requests(); len(got) != 1 || !strings.HasPrefix(got[0], "write the status") {
		t.Errorf("it writes %v", got)
	}
	f.Must(f.Admin.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: copied}}))
	f.reconcile("docs")
	f.rollOut("docs")
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
}

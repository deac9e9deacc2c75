package reconciler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// dueQueue notes when each view that is put into it is due.
type dueQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	due map[string]time.Duration
}

func (q dueQueue) Add(view reconcile.Request) { q.AddAfter(view, 0) }

func (q dueQueue) AddAfter(view reconcile.Request, after time.Duration) { q.due[view.Name] = after }

// TestCreationsAreGathered has a ConfigMap of a view, of which another takes its pages.
func TestCreationsAreGathered(t *testing.T) {
	ours := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "markdowns-docs", Labels: generator.Labels("docs")}}
	f := newFixture(t)
	f.view("reader")
	f.update("reader", func(v *v1.MarkdownView) {
		v.Spec.ContentFrom = []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: ours.Name}}}
	})
	events := f.enqueueView("ConfigMap", f.viewsNaming)
	changed := ours.DeepCopy()
	changed.Labels["changed"] = "true"
	for what, test := range map[string]struct {
		happens func(dueQueue)
		want    map[string]time.Duration
	}{
		"created": {
			func(q dueQueue) { events.Create(t.Context(), event.CreateEvent{Object: ours}, q) },
			map[string]time.Duration{"docs": gatherTime, "reader": 0},
		},
		"there at the start": {
			func(q dueQueue) {
				events.Create(t.Context(), event.CreateEvent{Object: ours, IsInInitialList: true}, q)
			},
			map[string]time.Duration{"docs": 0, "reader": 0},
		},
		"changed": {
			func(q dueQueue) {
				events.Update(t.Context(), event.UpdateEvent{ObjectOld: ours, ObjectNew: changed}, q)
			},
			map[string]time.Duration{"docs": 0, "reader": 0},
		},
		"deleted": {
			func(q dueQueue) { events.Delete(t.Context(), event.DeleteEvent{Object: ours}, q) },
			map[string]time.Duration{"docs": 0, "reader": 0},
		},
	} {
		q := dueQueue{due: map[string]time.Duration{}}
		test.happens(q)
		if diff := cmp.Diff(test.want, q.due); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// TestProgressIsGatheredLonger: whatever else is told of a Deployment or a pod isn't.
func TestProgressIsGatheredLonger(t *testing.T) {
	f := newFixture(t)
	deployments, pods := f.enqueueView("Deployment", nil), enqueueOfPods()
	deployment := func(status appsv1.DeploymentStatus) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs", UID: "uid", Generation: 1, Labels: generator.Labels("docs")},
			Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))}, Status: status,
		}
	}
	status := func(before, now appsv1.DeploymentStatus) func(dueQueue) {
		return func(q dueQueue) {
			deployments.Update(t.Context(), event.UpdateEvent{ObjectOld: deployment(before), ObjectNew: deployment(now)}, q)
		}
	}
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "pod", Labels: generator.Labels("docs")}, Status: corev1.PodStatus{Phase: corev1.PodPending},
		}
		change(pod)
		return pod
	}
	podIs := func(change func(*corev1.Pod)) func(dueQueue) {
		return func(q dueQueue) {
			pods.Update(t.Context(), event.UpdateEvent{ObjectOld: pod(func(*corev1.Pod) {}), ObjectNew: pod(change)}, q)
		}
	}
	one := appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 1}
	two, none, quota, late, three := one, one, one, one, one
	three.Replicas = 3
	two.AvailableReplicas, none.AvailableReplicas = 2, 0
	quota.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "quota"}}
	late.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
	for what, test := range map[string]struct {
		happens func(dueQueue)
		want    time.Duration
	}{
		"its rollout begins":           {status(appsv1.DeploymentStatus{}, none), progressGatherTime},
		"one more is available":        {status(none, one), progressGatherTime},
		"all are available":            {status(one, two), gatherTime},
		"one isn't any more":           {status(two, one), gatherTime},
		"one of the others isn't":      {status(one, none), gatherTime},
		"the last of the earlier ends": {status(three, one), gatherTime},
		"a quota is in the way":        {status(none, quota), gatherTime},
		"a quota was in the way":       {status(quota, one), gatherTime},
		"it takes too long":            {status(one, late), gatherTime},
		"a pod is created": {func(q dueQueue) {
			pods.Create(t.Context(), event.CreateEvent{Object: pod(func(*corev1.Pod) {})}, q)
		}, progressGatherTime},
		"a pod is deleted": {func(q dueQueue) {
			pods.Delete(t.Context(), event.DeleteEvent{Object: pod(func(*corev1.Pod) {})}, q)
		}, gatherTime},
		"a pod runs":       {podIs(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), progressGatherTime},
		"a pod ends":       {podIs(func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }), gatherTime},
		"a pod has failed": {podIs(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), gatherTime},
		"a pod is ready": {podIs(func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}), gatherTime},
		"a pod can't be scheduled": {podIs(func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}}
		}), gatherTime},
		"a pod has no image":          {podIs(func(p *corev1.Pod) { p.Status.ContainerStatuses = waitsFor("ErrImagePull") }), gatherTime},
		"a pod waits for its volumes": {podIs(func(p *corev1.Pod) { p.Status.ContainerStatuses = waitsFor("ContainerCreating") }), progressGatherTime},
	} {
		t.Run(what, func(t *testing.T) {
			q := dueQueue{due: map[string]time.Duration{}}
			test.happens(q)
			if diff := cmp.Diff(map[string]time.Duration{"docs": test.want}, q.due); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// waitsFor is the status of a container that waits.
func waitsFor(reason string) []corev1.ContainerStatus {
	return []corev1.ContainerStatus{{Name: "mdbook", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
}

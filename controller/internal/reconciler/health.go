package reconciler

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/jitter"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// checkHealth reports whether what was applied is served. news says that it is another
// rollout than the one that the status is about.
func (r *Reconciler) checkHealth(ctx context.Context, view *v1.MarkdownView, e *expansion, deployment *appsv1.Deployment, news bool) outcome {
	var pods corev1.PodList
	if err := r.List(ctx, &pods, ofView(view)...); err != nil {
		return failure(err)
	}
	key := client.ObjectKeyFromObject(view)
	replicas := &deployment.Status.Replicas
	missing := shortfall(deployment, pods.Items)
	if missing == "" {
		r.rollouts.forget(key)
		if err := r.prune(ctx, view, e.pages); err != nil {
			return failure(err)
		}
		r.settled.keep(view, e.pages)
		return outcome{
			state: served, reason: v1.HealthyReason, message: servedMessage(deployment, view.Status.LastAppliedRevision),
			requeueAfter: jitter.JitteredIntervalDuration(intervalOf(view)), replicas: replicas,
		}
	}

	running := r.rollouts.since(key, rollout{view.Generation, e.Revision}, r.Clock.Now())
	left := timeoutOf(view) - running
	if left <= 0 || deadlineExceeded(deployment, timeoutOf(view)) || !news && failedBefore(view) {
		return outcome{
			state: stalled, reason: v1.RolloutFailedReason, message: explained(missing, deployment, pods.Items, podTroubles),
			requeueAfter: jitter.JitteredIntervalDuration(intervalOf(view)), replicas: replicas,
		}
	}
	return outcome{
		state: progressing, reason: v1.ProgressingReason, message: explained(missing, deployment, pods.Items, lastingTroubles),
		requeueAfter: min(left, progressRefresh), replicas: replicas,
	}
}

// explained adds to what is missing what stands in its way, if anything says so.
func explained(missing string, deployment *appsv1.Deployment, pods []corev1.Pod, troubles []podTrouble) string {
	trouble := replicaFailure(deployment)
	if deployment.Spec.Paused {
		trouble = "the Deployment is paused: kubectl rollout resume deployment " + deployment.Name
	}
	if trouble == "" {
		trouble = troubleOf(pods, deployment.Spec.Template.Annotations[v1.RevisionAnnotation], troubles)
	}
	if trouble == "" {
		return missing
	}
	return missing + ": " + trouble
}

// replicaFailure says why pods can't even be made, as when a quota is exceeded.
func replicaFailure(deployment *appsv1.Deployment) string {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return condition.Reason + ": " + condition.Message
		}
	}
	return ""
}

// deploymentOf is the live Deployment among a view's children.
func deploymentOf(children []*child) *appsv1.Deployment {
	for _, c := range children {
		if deployment, ok := c.live.(*appsv1.Deployment); ok {
			return deployment
		}
	}
	return &appsv1.Deployment{} // never: a view always wants one
}

// shortfall says what is missing until every replica serves the pages of the
// Deployment's template and no other pod is asked for any; "" when nothing is.
// A Deployment's own status isn't enough: it doesn't count pods that are told to
// stop and go on serving until they have.
func shortfall(deployment *appsv1.Deployment, pods []corev1.Pod) string {
	wanted := ptr.Deref(deployment.Spec.Replicas, v1.DefaultReplicas)
	status := deployment.Status
	revision := deployment.Spec.Template.Annotations[v1.RevisionAnnotation]
	outdated := countReady(pods, func(pod *corev1.Pod) bool { return pod.Annotations[v1.RevisionAnnotation] != revision })
	switch {
	case status.ObservedGeneration < deployment.Generation:
		return fmt.Sprintf("the Deployment of %d replicas is being updated", wanted)
	case status.UpdatedReplicas < wanted:
		return fmt.Sprintf("%d of %d replicas have the current pages", status.UpdatedReplicas, wanted)
	case status.AvailableReplicas < wanted || status.UpdatedReplicas > status.AvailableReplicas:
		return fmt.Sprintf("%d of %d replicas are available", status.AvailableReplicas, wanted)
	case status.Replicas > wanted && status.UnavailableReplicas > 0:
		return fmt.Sprintf("%d new pods are not available, earlier ones still serve", status.UnavailableReplicas)
	case status.Replicas > wanted:
		return fmt.Sprintf("%d replicas too many are still running", status.Replicas-wanted)
	case outdated > 0:
		return fmt.Sprintf("%d pods with earlier pages still serve", outdated)
	}
	return ""
}

func countReady(pods []corev1.Pod, which func(*corev1.Pod) bool) int {
	count := 0
	for i := range pods {
		if isReady(&pods[i]) && which(&pods[i]) {
			count++
		}
	}
	return count
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func servedMessage(deployment *appsv1.Deployment, revision string) string {
	replicas := ptr.Deref(deployment.Spec.Replicas, v1.DefaultReplicas)
	switch replicas {
	case 0:
		return fmt.Sprintf("Parked with revision %s: 0 replicas are wanted", revision)
	case 1:
		return fmt.Sprintf("1 replica serves revision %s", revision)
	}
	return fmt.Sprintf("%d replicas serve revision %s", replicas, revision)
}

// deadlineExceeded says whether the Deployment's own deadline has passed, which also a
// controller knows that was restarted meanwhile. It means nothing to a view that has
// more time.
func deadlineExceeded(deployment *appsv1.Deployment, timeout time.Duration) bool {
	if timeout > time.Duration(ptr.Deref(deployment.Spec.ProgressDeadlineSeconds, defaultProgressDeadlineSeconds))*time.Second {
		return false
	}
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing {
			return condition.Reason == "ProgressDeadlineExceeded" && deployment.Status.ObservedGeneration >= deployment.Generation
		}
	}
	return false
}

// defaultProgressDeadlineSeconds is what the API server sets.
const defaultProgressDeadlineSeconds = 600

// failedBefore says whether the status already calls this rollout failed: a
// controller that was restarted doesn't remember when it began.
func failedBefore(view *v1.MarkdownView) bool {
	condition := conditions.Get(view, meta.StalledCondition)
	return condition != nil && condition.Reason == v1.RolloutFailedReason &&
		condition.ObservedGeneration == view.Generation
}

func selectorOf(view *v1.MarkdownView) string {
	return labels.SelectorFromSet(generator.Labels(view.Name)).String()
}

// rollout is what a view's timeout is counted for.
type rollout struct {
	generation int64
	revision   string
}

// rolloutTimes remembers when rollouts began, on the monotonic clock: a clock
// that jumps fails no rollout.
type rolloutTimes struct {
	mu     sync.Mutex
	byView map[types.NamespacedName]rolloutStart
}

type rolloutStart struct {
	rollout
	at time.Time
}

// since returns for how long a rollout has been going on; one that is new begins
// now.
func (t *rolloutTimes) since(key types.NamespacedName, what rollout, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	start, ok := t.byView[key]
	if !ok || start.rollout != what {
		start = rolloutStart{what, now}
		if t.byView == nil {
			t.byView = map[types.NamespacedName]rolloutStart{}
		}
		t.byView[key] = start
	}
	return now.Sub(start.at)
}

func (t *rolloutTimes) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byView, key)
}

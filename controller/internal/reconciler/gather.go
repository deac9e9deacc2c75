package reconciler

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/zoetrope/markdown-view/controller/internal/health"
)

// Many events come of a rollout, and each says no more than which view to look at: they are
// gathered, so that the view is looked at once for all of them.

// gatherTime is how long a rollout's events are gathered: there are many of them, of what was
// created, of the Deployment's status and of pods, within a few milliseconds.
const gatherTime = 100 * time.Millisecond

// progressGatherTime is how long those are gathered that tell of nothing but progress, of
// which the status is told seldom: a cluster that is busy with many rollouts spreads them.
const progressGatherTime = time.Second

// addSoon has the view of an object reconciled soon, once for all events until then.
func addSoon(ctx context.Context, object client.Object, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	addWithin(ctx, gatherTime, object, queue)
}

func addWithin(ctx context.Context, gather time.Duration, object client.Object, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for _, request := range viewOf(ctx, object) {
		queue.AddAfter(request, gather)
	}
}

// gathers is how long an event of a Deployment's status or of a pod is gathered: as one that
// tells of progress if nothing else could be told of the object before, nor can now.
func gathers[T any](before, now T, progresses func(T) bool) time.Duration {
	if progresses(before) && progresses(now) {
		return progressGatherTime
	}
	return gatherTime
}

// gathersDeployment is gathers of a Deployment of which only the status has changed.
func gathersDeployment(before, now client.Object) time.Duration {
	was, isDeployment := before.(*appsv1.Deployment)
	is, isDeploymentStill := now.(*appsv1.Deployment)
	if !isDeployment || !isDeploymentStill || is.Status.AvailableReplicas < was.Status.AvailableReplicas || health.ReplacesPods(was) != health.ReplacesPods(is) {
		return gatherTime
	}
	return gathers(was, is, health.Progresses)
}

// enqueueOfPods has the views of pods reconciled.
func enqueueOfPods() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if pod, isPod := e.Object.(*corev1.Pod); isPod {
				addWithin(ctx, gathers(pod, pod, health.PodProgresses), pod, queue)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			before, isPod := e.ObjectOld.(*corev1.Pod)
			now, isPodStill := e.ObjectNew.(*corev1.Pod)
			if !isPod || !isPodStill {
				return
			}
			gather := gathers(before, now, health.PodProgresses)
			addWithin(ctx, gather, before, queue)
			addWithin(ctx, gather, now, queue)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			addSoon(ctx, e.Object, queue)
		},
	}
}

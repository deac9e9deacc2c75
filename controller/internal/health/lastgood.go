package health

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// Template is which pod template a Deployment is to have.
type Template int

const (
	// Wanted is what the view wants.
	Wanted Template = iota
	// LastGood is that of the pages that were served last: pods of it are missing that
	// can't start, while those of what is wanted fail.
	LastGood
)

// Standing is what it depends on whether a Deployment returns to the last good pages, and
// when it is given what is wanted again.
type Standing struct {
	// Returned means that it has the template of the last good pages now, and ReturnedFor
	// for how long its pods have made no progress since.
	Returned    bool
	ReturnedFor time.Duration
	// Changed means that something else is wanted than what failed, or was tried.
	Changed bool
	// Held means that what is wanted can't be applied now.
	Held bool
	// Complete means that all of its pods are of its template and available.
	Complete bool
	// Short means that there are too few available pods, and too few of the last good
	// pages that run or can start; and ShortFor for how long that is so.
	Short    bool
	ShortFor time.Duration
	// Lacking means the same of a Deployment that still has the last good pages. Its pods
	// can't start if a ConfigMap has others already, whose Deployment was refused.
	Lacking bool
	// Failing means that pods of what is wanted have failed, and StuckFor for how long
	// the rollout has made no progress.
	Failing  bool
	StuckFor time.Duration
}

const (
	// shortPatience is how long pods may be missing: another one is made at once for
	// one that goes.
	shortPatience = 3 * time.Second
	// stuckPatience is how long a rollout may make no progress while pods are missing.
	stuckPatience = 20 * time.Second
	// returnedPatience is how long pods of the last good pages have to start, however short a
	// view's timeout is: what is tried again takes those away that haven't.
	returnedPatience = 5 * time.Minute
)

// Decide decides which template a Deployment is to have, and when that may be another one
// if nothing else changes; 0 if not.
//
// It doesn't go back and forth: as long as what is wanted fails, a returned Deployment gets
// it again when all pods of the last good pages are available, and from then on these are
// all of the kind that can start, so that none is missing unless more are wanted. Where they
// can't start either, it gets it again after a rollout's timeout, or five minutes if that is longer.
func Decide(s *Standing, timeout time.Duration) (template Template, recheck time.Duration) {
	if s.Returned {
		if !s.Held && (s.Changed || s.Complete || s.ReturnedFor >= max(timeout, returnedPatience)) {
			return Wanted, 0
		}
		return LastGood, 0
	}
	if !s.Short {
		return Wanted, 0
	}
	if s.Changed {
		return Wanted, shortPatience // it is tried, and looked at then
	}
	wait := shortPatience - s.ShortFor
	if !s.Failing {
		wait = max(wait, stuckPatience-s.StuckFor)
	}
	if wait > 0 {
		return Wanted, wait
	}
	return LastGood, 0
}

// StandingOf reads off a Deployment and its pods how it stands. lastGood is the revision
// that was served last.
func StandingOf(deployment *appsv1.Deployment, pods []corev1.Pod, lastGood string) Standing {
	revision := deployment.Spec.Template.Annotations[v1.RevisionAnnotation]
	s := Standing{
		Complete: isComplete(deployment),
		Failing:  podFailure(pods, revision, Lasting) != "",
	}
	wanted := ptr.Deref(deployment.Spec.Replicas, v1.DefaultReplicas)
	if lastGood == "" || deployment.Spec.Paused || deployment.Status.ObservedGeneration < deployment.Generation {
		return s
	}
	var startable int32
	for i := range pods {
		pod := &pods[i]
		if pod.Annotations[v1.RevisionAnnotation] == lastGood && pod.DeletionTimestamp == nil && isOf(deployment, pod) &&
			(pod.Annotations[v1.LastPagesAnnotation] == "true" || pod.Status.Phase == corev1.PodRunning) {
			startable++
		}
	}
	least := wanted - mayBeUnavailable(deployment, wanted)
	missing := deployment.Status.AvailableReplicas < least && startable < least
	if revision == lastGood {
		s.Lacking = missing
	} else {
		s.Short = missing
	}
	return s
}

// mayBeUnavailable is how many pods a rollout may take away before new ones are available, as
// the Deployment controller reads its strategy: none as it is generated.
func mayBeUnavailable(deployment *appsv1.Deployment, wanted int32) int32 {
	strategy := &deployment.Spec.Strategy
	switch {
	case strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return wanted
	case strategy.RollingUpdate == nil:
		return 0
	}
	// A percentage that isn't one is 0: the API server accepts none.
	unavailable, _ := intstr.GetScaledValueFromIntOrPercent(new(ptr.Deref(strategy.RollingUpdate.MaxUnavailable, intstr.IntOrString{})), int(wanted), false)
	surge, _ := intstr.GetScaledValueFromIntOrPercent(new(ptr.Deref(strategy.RollingUpdate.MaxSurge, intstr.FromInt32(1))), int(wanted), true)
	if unavailable == 0 && surge == 0 {
		return min(1, wanted) // or nothing would ever be replaced
	}
	return min(int32(unavailable), wanted)
}

// isComplete reports whether all of a Deployment's pods are of its template and available.
func isComplete(deployment *appsv1.Deployment) bool {
	status, wanted := deployment.Status, ptr.Deref(deployment.Spec.Replicas, v1.DefaultReplicas)
	return status.ObservedGeneration >= deployment.Generation &&
		status.Replicas == wanted && status.UpdatedReplicas == wanted && status.AvailableReplicas == wanted
}

// ServedRevision is the revision that a Deployment is known to serve, or to have served
// last; empty if that isn't known. The Deployment says of its own template whether that
// was ever available as a whole, and until it was, pods of the one before stay.
func ServedRevision(deployment *appsv1.Deployment, pods []corev1.Pod) string {
	revision := deployment.Spec.Template.Annotations[v1.RevisionAnnotation]
	if isComplete(deployment) {
		return revision
	}
	if deployment.Status.ObservedGeneration < deployment.Generation {
		return ""
	}
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing && condition.Reason == "NewReplicaSetAvailable" && !ReplacesPods(deployment) {
			return revision
		}
	}
	for i := range pods {
		if other := pods[i].Annotations[v1.RevisionAnnotation]; other != revision && isReady(&pods[i]) && isOf(deployment, &pods[i]) {
			return other
		}
	}
	return ""
}

// LastGoodServing says how many pods go on serving the last good pages from copies; empty
// if none does.
func LastGoodServing(pods []corev1.Pod) string {
	serving := countReady(pods, func(pod *corev1.Pod) bool {
		return pod.Annotations[v1.LastPagesAnnotation] == "true" && pod.DeletionTimestamp == nil
	})
	if serving == 0 {
		return ""
	}
	return "; " + plural(serving, "pod goes on serving the last good pages", "pods go on serving the last good pages")
}

// Package health reads off a Deployment and its pods whether a view is served: what is
// missing, and what stands in its way.
//
// It is pure: it looks at nothing but its arguments, and has no clock. What that means
// for the view's conditions is for the loop to say. It imports only the API.
package health

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// UnavailableReason says what is missing until every replica serves the pages of the
// Deployment's template and no other pod gets requests; empty if nothing is. A
// Deployment's own status isn't enough: it doesn't count pods that are being deleted
// and go on serving until they have stopped.
func UnavailableReason(deployment *appsv1.Deployment, pods []corev1.Pod) string {
	wanted := ptr.Deref(deployment.Spec.Replicas, v1.DefaultReplicas)
	status := deployment.Status
	foreign := foreignPod(deployment, pods)
	outdated := countReady(pods, func(pod *corev1.Pod) bool { return isOutdated(deployment, pod) })
	switch {
	case status.ObservedGeneration < deployment.Generation:
		return fmt.Sprintf("the Deployment of %s is being updated", plural(wanted, "replica", "replicas"))
	case status.UpdatedReplicas < wanted:
		return fmt.Sprintf("%d of %d replicas are up to date", status.UpdatedReplicas, wanted)
	case status.AvailableReplicas < wanted || status.UpdatedReplicas > status.AvailableReplicas:
		return fmt.Sprintf("%d of %d replicas are available", status.AvailableReplicas, wanted)
	case status.Replicas > wanted && status.UnavailableReplicas > 0:
		return plural(status.UnavailableReplicas, "new pod is", "new pods are") + " not available, earlier ones still serve"
	case status.Replicas > wanted:
		return plural(status.Replicas-wanted, "surplus replica is", "surplus replicas are") + " still running"
	case outdated > 0:
		return plural(outdated, "pod with earlier pages still serves", "pods with earlier pages still serve")
	case foreign != "":
		return "pod " + foreign + " isn't the Deployment's, but has its labels and gets requests: delete the pod, or take the labels off it"
	}
	return ""
}

// Progresses reports whether a rollout isn't complete and nothing stands in its way, as far as
// the Deployment tells.
func Progresses(deployment *appsv1.Deployment) bool {
	return UnavailableReason(deployment, nil) != "" && Cause(deployment, nil, nil) == "" && !DeadlineExceeded(deployment, 0)
}

// PodProgresses reports whether a pod isn't ready yet and nothing stands in its way, as far as
// it tells.
func PodProgresses(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !isReady(pod) && (pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodRunning) &&
		!slices.ContainsFunc(Lasting, func(reasonOf func(*corev1.Pod) string) bool { return reasonOf(pod) != "" })
}

// isOutdated reports whether a pod of a Deployment was made for other pages than its template.
func isOutdated(deployment *appsv1.Deployment, pod *corev1.Pod) bool {
	current := deployment.Spec.Template.Annotations
	return isOf(deployment, pod) && (pod.Annotations[v1.RevisionAnnotation] != current[v1.RevisionAnnotation] ||
		pod.Annotations[v1.RestartedForAnnotation] != current[v1.RestartedForAnnotation])
}

// LeftBehind names, after a view's other faults, a ReplicaSet whose pods serve earlier pages
// though the Deployment knows of none to replace; empty if there is none. The garbage collector
// misses that a Deployment was deleted if it is made again before it looks, as after an outage
// of the API server, or that a ReplicaSet was, whose pods stay. It means something only a while
// after a rollout: the Deployment and the pods needn't be of the same moment.
func LeftBehind(deployment *appsv1.Deployment, pods []corev1.Pod) string {
	if ReplacesPods(deployment) {
		return ""
	}
	for i := range pods {
		if pod := &pods[i]; pod.DeletionTimestamp == nil && isReady(pod) && isOutdated(deployment, pod) {
			set := metav1.GetControllerOfNoCopy(pod).Name
			if len(validation.IsDNS1123Subdomain(set)) > 0 {
				continue // no ReplicaSet can have the name, and people paste the commands into shells
			}
			hash := set[strings.LastIndex(set, "-")+1:]
			return "; pods of ReplicaSet " + set + " were left behind, by a Deployment that is gone or with the ReplicaSet itself gone: " +
				"kubectl delete replicaset --ignore-not-found " + set + " && kubectl delete pods --selector=" + appsv1.DefaultDeploymentUniqueLabelKey + "=" + hash
		}
	}
	return ""
}

// foreignPod returns the first pod that gets requests and isn't the Deployment's; empty if
// there is none.
func foreignPod(deployment *appsv1.Deployment, pods []corev1.Pod) string {
	first := ""
	for i := range pods {
		pod := &pods[i]
		if isReady(pod) && !isOf(deployment, pod) && (first == "" || pod.Name < first) {
			first = pod.Name
		}
	}
	return first
}

// isOf reports whether a pod is of one of a Deployment's ReplicaSets.
func isOf(deployment *appsv1.Deployment, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "ReplicaSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String() && strings.HasPrefix(owner.Name, deployment.Name+"-")
}

// digests are those in a revision, of which the first twelve digits tell one from another.
var digests = regexp.MustCompile(`(:[0-9a-f]{12})[0-9a-f]{20,}\b`)

// ServedMessage is that of a view of which nothing is missing. It is a column of
// `kubectl get -o wide`, so the revision is short; the status has the whole one.
func ServedMessage(deployment *appsv1.Deployment, revision string) string {
	revision = digests.ReplaceAllString(revision, "$1")
	replicas := ptr.Deref(deployment.Spec.Replicas, v1.DefaultReplicas)
	if replicas == 0 {
		return "Scaled to zero with revision " + revision
	}
	return plural(replicas, "replica serves", "replicas serve") + " revision " + revision
}

// Explain adds to the reason that a view is unavailable for what stands in its way, if
// anything tells. Failures are those of pods that count.
func Explain(unavailable string, deployment *appsv1.Deployment, pods []corev1.Pod, failures Failures) string {
	cause := Cause(deployment, pods, failures)
	if strings.HasSuffix(cause, probeFails) {
		cause += probeOf(deployment)
	}
	if cause == "" {
		return unavailable
	}
	return unavailable + ": " + cause
}

// Cause is what stands in the way of pods; empty if nothing tells. The Deployment may be packed.
func Cause(deployment *appsv1.Deployment, pods []corev1.Pod, failures Failures) string {
	cause := replicaFailure(deployment)
	switch {
	case deployment.DeletionTimestamp != nil: // no pod is made any more
		cause = "the Deployment is being deleted, and waits for its finalizers: kubectl get deployment " + deployment.Name + " -o jsonpath={.metadata.finalizers}"
	case deployment.Spec.Paused:
		cause = "the Deployment is paused: kubectl rollout resume deployment " + deployment.Name
	}
	if cause == "" {
		cause = podFailure(pods, deployment.Spec.Template.Annotations[v1.RevisionAnnotation], failures)
	}
	return cause
}

// replicaFailure is the reason that pods can't even be created, as when a quota is
// exceeded.
func replicaFailure(deployment *appsv1.Deployment) string {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return condition.Reason + ": " + condition.Message
		}
	}
	return ""
}

// Counts tell how far a rollout is.
type Counts struct {
	// Updated and Available are the most pods of the new template that there were, and
	// Old the fewest of others.
	Updated, Available, Old int32
}

// CountsOf reads them off a Deployment. As long as its status is that of another generation,
// no pod is known to be of the new template.
func CountsOf(deployment *appsv1.Deployment) Counts {
	status := deployment.Status
	if status.ObservedGeneration < deployment.Generation {
		return Counts{Available: status.AvailableReplicas, Old: status.Replicas}
	}
	return Counts{Updated: status.UpdatedReplicas, Available: status.AvailableReplicas, Old: status.Replicas - status.UpdatedReplicas}
}

// Progress reports whether a rollout is further than it ever was, as a Deployment's
// deadline counts it, and how far it has ever been. That a pod comes and goes again is
// none.
func (c Counts) Progress(now Counts) (best Counts, progressed bool) {
	best = Counts{Updated: max(c.Updated, now.Updated), Available: max(c.Available, now.Available), Old: min(c.Old, now.Old)}
	return best, best != c
}

// ReplacesPods reports whether there are pods that a rollout is to replace.
func ReplacesPods(deployment *appsv1.Deployment) bool {
	return deployment.Status.Replicas > deployment.Status.UpdatedReplicas
}

// DeadlineExceeded reports whether the Deployment's own deadline has passed, which a
// controller that was restarted can tell too. It means nothing to a view whose timeout
// is longer.
func DeadlineExceeded(deployment *appsv1.Deployment, timeout time.Duration) bool {
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

// plural gives a count with the words for one, or for any other number.
func plural[N int | int32](count N, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, many)
}

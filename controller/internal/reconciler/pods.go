package reconciler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// maxTerminationMessage is how much of a container's last words is quoted, in
// bytes: its end, where the error stands.
const maxTerminationMessage = 512

// podTrouble says why a pod doesn't get ready; "" if that isn't it.
type podTrouble func(*corev1.Pod) string

var (
	// lastingTroubles don't go by themselves in most cases.
	lastingTroubles = []podTrouble{containerTrouble, schedulingTrouble}
	// podTroubles are all that are known, among them what any pod goes through
	// before it is ready.
	podTroubles = append(slices.Clone(lastingTroubles), volumeTrouble, readinessTrouble)
)

// troubleOf says why pods of a revision don't get ready, in the pods' own words;
// "" if they don't say. Pods of one Deployment mostly share their trouble, so one
// speaks for all.
func troubleOf(pods []corev1.Pod, revision string, troubles []podTrouble) string {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, explain := range troubles {
		for i := range pods {
			pod := &pods[i]
			if pod.Annotations[v1.RevisionAnnotation] != revision || pod.DeletionTimestamp != nil {
				continue
			}
			if trouble := explain(pod); trouble != "" {
				return "pod " + trouble
			}
		}
	}
	return ""
}

// containerTrouble covers images that can't be pulled and containers that crash.
func containerTrouble(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		waiting := status.State.Waiting
		if waiting == nil || waiting.Reason == "ContainerCreating" || waiting.Reason == "PodInitializing" {
			continue
		}
		trouble := waiting.Reason
		if last := status.LastTerminationState.Terminated; last != nil {
			trouble += fmt.Sprintf(", last exit code %d", last.ExitCode)
			if last.Reason == "OOMKilled" {
				trouble += " (out of memory)"
			}
			if words := lastWords(last.Message); words != "" {
				trouble += ": " + words
			}
		} else if waiting.Message != "" {
			trouble += ": " + waiting.Message
		}
		return trouble
	}
	return ""
}

func schedulingTrouble(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return fmt.Sprintf("%s: %s", condition.Reason, condition.Message)
		}
	}
	return ""
}

func volumeTrouble(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Waiting != nil && status.State.Waiting.Reason == "ContainerCreating" {
			return "ContainerCreating: its volumes or its network are not ready; kubectl describe says more"
		}
	}
	return ""
}

func readinessTrouble(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Running != nil && !status.Ready {
			return "runs, but its readiness probe fails: GET / on port 3000"
		}
	}
	return ""
}

func lastWords(message string) string {
	message = strings.TrimSpace(message)
	if len(message) > maxTerminationMessage {
		message = "…" + strings.ToValidUTF8(message[len(message)-maxTerminationMessage:], "")
	}
	return message
}

package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// Failures are kinds of reasons that a pod isn't ready, the more telling first. Each
// returns the reason of one pod; empty if that isn't it.
type Failures []func(*corev1.Pod) string

var (
	// Lasting failures mostly stay until somebody does something.
	Lasting = Failures{assemblyFailure, containerFailure, schedulingFailure}
	// All failures that are known, among them what any pod goes through before it is
	// ready.
	All = append(slices.Clone(Lasting), volumeFailure, initVolumeFailure, probeFailure)
)

// podFailure says why pods of a revision aren't ready, in the pods' own words; empty if
// they don't tell. Pods of one Deployment mostly fail for the same reason, so one speaks
// for all.
func podFailure(pods []corev1.Pod, revision string, failures Failures) string {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, reasonOf := range failures {
		for i := range pods {
			pod := &pods[i]
			if pod.Annotations[v1.RevisionAnnotation] != revision || pod.DeletionTimestamp != nil {
				continue
			}
			if reason := reasonOf(pod); reason != "" {
				return "pod " + reason
			}
		}
	}
	return ""
}

// containerFailure covers images that can't be pulled and containers that crash.
func containerFailure(pod *corev1.Pod) string {
	for _, containers := range []struct {
		kind     string
		statuses []corev1.ContainerStatus
	}{{"init container", pod.Status.InitContainerStatuses}, {"container", pod.Status.ContainerStatuses}} {
		for i := range containers.statuses {
			status := backedOff(containers.kind, &containers.statuses[i])
			waiting := status.State.Waiting
			if waiting == nil || waiting.Reason == "ContainerCreating" || waiting.Reason == "PodInitializing" {
				continue
			}
			return whose(containers.kind, status.Name) + waitingReason(status)
		}
	}
	return ""
}

// backedOff returns the status of an init container that has failed as that of one which
// waits to be started again. Unlike with other containers the kubelet goes on reporting it as
// terminated meanwhile; and while it runs once more it isn't known to do better.
func backedOff(kind string, status *corev1.ContainerStatus) *corev1.ContainerStatus {
	if kind != "init container" || status.State.Waiting != nil {
		return status
	}
	end := status.State.Terminated
	if end == nil {
		end = status.LastTerminationState.Terminated
	}
	if end == nil || end.ExitCode == 0 || status.Ready {
		return status
	}
	waiting := *status
	waiting.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	waiting.LastTerminationState.Terminated = end
	return &waiting
}

// builderContainer runs mdBook, which serves the book or, in an init container, builds it.
const builderContainer = "mdbook"

// serves reports whether a container is the one that serves the book.
func serves(name string) bool {
	return name == builderContainer || name == generator.ServerName
}

// whose names a container, unless it is one that everybody thinks of.
func whose(kind, name string) string {
	if name == builderContainer || kind == "container" && serves(name) {
		return ""
	}
	return kind + " " + name + ": "
}

// waitingReason says why a container waits, and how it ended last.
func waitingReason(status *corev1.ContainerStatus) string {
	waiting := status.State.Waiting
	reason := waiting.Reason
	if last := status.LastTerminationState.Terminated; last != nil {
		reason += fmt.Sprintf(", last exit code %d", last.ExitCode)
		if last.Reason == "OOMKilled" {
			reason += " (out of memory)"
		}
		if end := endOf(last.Message); end != "" {
			reason += ": " + end
		}
	} else if waiting.Message != "" {
		reason += ": " + waiting.Message
	}
	return reason
}

func schedulingFailure(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return fmt.Sprintf("%s: %s", condition.Reason, condition.Message)
		}
	}
	return ""
}

func volumeFailure(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Waiting != nil && status.State.Waiting.Reason == "ContainerCreating" {
			return "ContainerCreating: its volumes or its network are not ready; kubectl describe says more"
		}
	}
	return ""
}

// probeFails is said of a pod whose viewer isn't ready; what its probe looks at stands in
// the Deployment, because a patch may have changed it.
const probeFails = "runs, but its readiness probe fails"

// probeOf says, after a colon, what the viewer's readiness probe looks at; empty if that
// is nothing to be told in a few words.
func probeOf(deployment *appsv1.Deployment) string {
	for i := range deployment.Spec.Template.Spec.Containers {
		container := &deployment.Spec.Template.Spec.Containers[i]
		if !serves(container.Name) || container.ReadinessProbe == nil || container.ReadinessProbe.HTTPGet == nil {
			continue
		}
		get := container.ReadinessProbe.HTTPGet
		port := get.Port.String()
		for _, declared := range container.Ports {
			if declared.Name == port {
				port = fmt.Sprint(declared.ContainerPort)
			}
		}
		return fmt.Sprintf(": GET %s on port %s", get.Path, port)
	}
	return ""
}

func probeFailure(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		switch {
		case status.State.Running == nil || status.Ready:
		case serves(status.Name):
			return probeFails
		default:
			return whose("container", status.Name) + "it runs, but isn't ready"
		}
	}
	for _, status := range pod.Status.InitContainerStatuses {
		if status.State.Running != nil && !status.Ready {
			if status.Name == builderContainer {
				return "runs, but mdBook hasn't built the site yet"
			}
			return whose("init container", status.Name) + "it hasn't finished, or isn't ready"
		}
	}
	return ""
}

// maxTerminationMessage is how much of a termination message is quoted, in bytes.
const maxTerminationMessage = 512

// endOf returns the end of a termination message, where the error stands.
func endOf(message string) string {
	message = strings.TrimSpace(message)
	if len(message) > maxTerminationMessage {
		message = "…" + strings.ToValidUTF8(message[len(message)-maxTerminationMessage:], "")
	}
	return message
}

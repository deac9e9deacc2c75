package health

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/zoetrope/markdown-view/generator"
)

// assemblyFailure covers the init container that assembles large files: its image may
// lack a shell.
func assemblyFailure(pod *corev1.Pod) string {
	for i := range pod.Status.InitContainerStatuses {
		status := backedOff("init container", &pod.Status.InitContainerStatuses[i])
		waiting := status.State.Waiting
		if status.Name != generator.AssemblerName || waiting == nil || waiting.Reason == "PodInitializing" {
			continue
		}
		reason, message := waiting.Reason, waiting.Message
		if last := status.LastTerminationState.Terminated; last != nil {
			reason += fmt.Sprintf(", last exit code %d", last.ExitCode)
			message = last.Message
		}
		if end := endOf(message); end != "" {
			reason += ": " + end
		}
		reason = "can't assemble large files: " + reason
		// What can't be pulled isn't known to lack anything.
		if !strings.HasPrefix(waiting.Reason, "ErrImage") && !strings.HasPrefix(waiting.Reason, "ImagePull") {
			reason += "; its image needs " + generator.AssemblyTools + " for it"
		}
		return reason
	}
	return ""
}

// initVolumeFailure is volumeFailure for a pod whose containers wait for one that assembles
// large files, or builds the site.
func initVolumeFailure(pod *corev1.Pod) string {
	waits := false
	for _, status := range pod.Status.InitContainerStatuses {
		if status.State.Running != nil || status.State.Terminated != nil {
			return "" // it has begun
		}
		if status.Name == generator.AssemblerName || status.Name == builderContainer {
			waits = waits || status.State.Waiting != nil && status.State.Waiting.Reason == "PodInitializing"
		}
	}
	if !waits {
		return ""
	}
	return "PodInitializing: its volumes or its network are not ready; kubectl describe says more"
}

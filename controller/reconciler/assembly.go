package reconciler

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/zoetrope/markdown-view/generator"
)

// assemblyTrouble covers the init container that assembles large files: its image may
// lack a shell.
func assemblyTrouble(pod *corev1.Pod) string {
	for _, status := range pod.Status.InitContainerStatuses {
		waiting := status.State.Waiting
		if status.Name != generator.AssemblerName || waiting == nil || waiting.Reason == "PodInitializing" {
			continue
		}
		trouble, words := waiting.Reason, waiting.Message
		if last := status.LastTerminationState.Terminated; last != nil {
			trouble += fmt.Sprintf(", last exit code %d", last.ExitCode)
			words = last.Message
		}
		if words = lastWords(words); words != "" {
			trouble += ": " + words
		}
		trouble = "can't assemble large files: " + trouble
		// What can't be pulled isn't known to lack anything.
		if !strings.HasPrefix(waiting.Reason, "ErrImage") && !strings.HasPrefix(waiting.Reason, "ImagePull") {
			trouble += "; its image needs " + generator.AssemblyTools + " for it"
		}
		return trouble
	}
	return ""
}

// assemblyVolumeTrouble is volumeTrouble for a pod that assembles large files: all its
// containers wait for that.
func assemblyVolumeTrouble(pod *corev1.Pod) string {
	for _, status := range pod.Status.InitContainerStatuses {
		if status.Name == generator.AssemblerName && status.State.Waiting != nil && status.State.Waiting.Reason == "PodInitializing" {
			return "PodInitializing: its volumes or its network are not ready; kubectl describe says more"
		}
	}
	return ""
}

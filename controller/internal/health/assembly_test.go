package health

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAssemblyFailure(t *testing.T) {
	waiting := func(reason, message string, last *corev1.ContainerStateTerminated) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name:                 "assemble",
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
			LastTerminationState: corev1.ContainerState{Terminated: last},
		}
	}
	tests := map[string]struct {
		status corev1.ContainerStatus
		want   string
	}{
		"an image without a shell": {
			waiting("CrashLoopBackOff", "back-off 10s", &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: `exec: "sh": executable file not found in $PATH`}),
			`pod can't assemble large files: CrashLoopBackOff, last exit code 128: exec: "sh": executable file not found in $PATH; its image needs sh, cp, cat and mkdir for it`,
		},
		"an image whose shell can't be started at all": {
			waiting("CreateContainerError", "no such file", nil),
			"pod can't assemble large files: CreateContainerError: no such file; its image needs sh, cp, cat and mkdir for it",
		},
		"it has failed, and is started again later": {
			corev1.ContainerStatus{Name: "assemble", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "cp: no space left"}}},
			"pod can't assemble large files: CrashLoopBackOff, last exit code 1: cp: no space left; its image needs sh, cp, cat and mkdir for it",
		},
		"an image that can't be pulled": {
			waiting("ErrImagePull", "no such host", nil),
			"pod can't assemble large files: ErrImagePull: no such host",
		},
		"volumes that aren't there yet": {
			waiting("PodInitializing", "", nil),
			"pod PodInitializing: its volumes or its network are not ready; kubectl describe says more",
		},
		"it runs": {
			corev1.ContainerStatus{Name: "assemble", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			"pod init container assemble: it hasn't finished, or isn't ready",
		},
		"somebody else's init container": {
			corev1.ContainerStatus{Name: "sidecar", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
			"pod init container sidecar: CrashLoopBackOff",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			starting := pod(revision, func(p *corev1.Pod) {
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{test.status}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
			})
			if got := podFailure([]corev1.Pod{starting}, revision, All); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

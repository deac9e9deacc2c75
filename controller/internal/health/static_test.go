package health

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestFailuresOfAPodWhoseSiteIsBuiltFirst(t *testing.T) {
	status := func(name string, state corev1.ContainerState) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: state}
	}
	waits := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
	failed := status("mdbook", waits("CrashLoopBackOff"))
	failed.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 101, Message: "ERROR no such chapter"}}
	again := failed
	again.State = runs
	tests := map[string]struct {
		init   []corev1.ContainerStatus
		server corev1.ContainerState
		want   string
	}{
		"mdBook fails": {
			[]corev1.ContainerStatus{failed}, waits("PodInitializing"),
			"pod CrashLoopBackOff, last exit code 101: ERROR no such chapter",
		},
		"mdBook has failed, and is started again later": {
			[]corev1.ContainerStatus{status("mdbook", corev1.ContainerState{Terminated: failed.LastTerminationState.Terminated})}, waits("PodInitializing"),
			"pod CrashLoopBackOff, last exit code 101: ERROR no such chapter",
		},
		"mdBook has failed, and is at work again": {
			[]corev1.ContainerStatus{again}, waits("PodInitializing"),
			"pod CrashLoopBackOff, last exit code 101: ERROR no such chapter",
		},
		"volumes that aren't there yet": {
			[]corev1.ContainerStatus{status("mdbook", waits("PodInitializing"))}, waits("PodInitializing"),
			"pod PodInitializing: its volumes or its network are not ready; kubectl describe says more",
		},
		"large files are being assembled": {
			[]corev1.ContainerStatus{status("assemble", runs), status("mdbook", waits("PodInitializing"))}, waits("PodInitializing"),
			"pod init container assemble: it hasn't finished, or isn't ready",
		},
		"mdBook is at work": {
			[]corev1.ContainerStatus{status("assemble", ended), status("mdbook", runs)}, waits("PodInitializing"),
			"pod runs, but mdBook hasn't built the site yet",
		},
		"the server's image can't be pulled": {
			[]corev1.ContainerStatus{status("mdbook", ended)}, waits("ImagePullBackOff"),
			"pod ImagePullBackOff",
		},
		"the server isn't ready": {
			[]corev1.ContainerStatus{status("mdbook", ended)}, runs,
			"1 of 1: pod runs, but its readiness probe fails: GET /health on port 3000",
		},
	}
	deployment := &appsv1.Deployment{}
	deployment.Spec.Template.Annotations = map[string]string{"view.zoetrope.github.io/revision": revision}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "server", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 3000}},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/health", Port: intstr.FromString("http")}}},
	}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			starting := pod(revision, func(p *corev1.Pod) {
				p.Status.InitContainerStatuses = test.init
				p.Status.ContainerStatuses = []corev1.ContainerStatus{status("server", test.server)}
			})
			got := podFailure([]corev1.Pod{starting}, revision, All)
			if name == "the server isn't ready" {
				got = Explain("1 of 1", deployment, []corev1.Pod{starting}, All)
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

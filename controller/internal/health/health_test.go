package health

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

const revision, earlier = "sha256:new", "sha256:old"

// deployment wants and has two replicas of the current revision, unless changed.
func deployment(change func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", Generation: 2},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2},
	}
	d.Spec.Template.Annotations = map[string]string{v1.RevisionAnnotation: revision}
	if change != nil {
		change(d)
	}
	return d
}

func pod(revision string, change func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "viewer-docs-1-a", Annotations: map[string]string{v1.RevisionAnnotation: revision},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "viewer-docs-1", Controller: new(true)}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if change != nil {
		change(&p)
	}
	return p
}

func TestUnavailableReason(t *testing.T) {
	now := metav1.Now()
	tests := map[string]struct {
		deployment *appsv1.Deployment
		pods       []corev1.Pod
		want       string
	}{
		"every replica serves the current pages": {
			deployment: deployment(nil), pods: []corev1.Pod{pod(revision, nil), pod(revision, nil)},
		},
		"a book that is scaled to zero has no pods": {
			deployment: deployment(func(d *appsv1.Deployment) {
				d.Spec.Replicas = new(int32(0))
				d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2}
			}),
		},
		"the Deployment controller hasn't seen the change": {
			deployment: deployment(func(d *appsv1.Deployment) { d.Generation = 3 }),
			want:       "the Deployment of 2 replicas is being updated",
		},
		"one replica has earlier pages": {
			deployment: deployment(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }),
			want:       "1 of 2 replicas are up to date",
		},
		"the Deployment controller hasn't seen the only replica": {
			deployment: deployment(func(d *appsv1.Deployment) { d.Spec.Replicas, d.Generation = new(int32(1)), 3 }),
			want:       "the Deployment of 1 replica is being updated",
		},
		"one replica isn't available": {
			deployment: deployment(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }),
			want:       "1 of 2 replicas are available",
		},
		"a new pod doesn't get ready beside the earlier ones": {
			deployment: deployment(func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UnavailableReplicas = 3, 1 }),
			want:       "1 new pod is not available, earlier ones still serve",
		},
		"a pod of the last rollout hasn't stopped": {
			deployment: deployment(func(d *appsv1.Deployment) { d.Status.Replicas = 3 }),
			want:       "1 surplus replica is still running",
		},
		"a pod with earlier pages is told to stop and still serves": {
			deployment: deployment(nil),
			pods:       []corev1.Pod{pod(earlier, func(p *corev1.Pod) { p.DeletionTimestamp = &now })},
			want:       "1 pod with earlier pages still serves",
		},
		"a pod that may have mounted an edited page is told to stop and still serves": {
			deployment: deployment(func(d *appsv1.Deployment) { d.Spec.Template.Annotations[v1.RestartedForAnnotation] = "7" }),
			pods: []corev1.Pod{
				pod(revision, func(p *corev1.Pod) { p.DeletionTimestamp = &now }),
				pod(revision, func(p *corev1.Pod) { p.Annotations[v1.RestartedForAnnotation] = "7" }),
			},
			want: "1 pod with earlier pages still serves",
		},
		"a pod of somebody else has our labels": {
			deployment: deployment(nil),
			pods:       []corev1.Pod{pod(revision, nil), pod("", func(p *corev1.Pod) { p.Name, p.OwnerReferences = "debug", nil })},
			want:       "pod debug isn't the Deployment's, but has its labels and gets requests: delete the pod, or take the labels off it",
		},
		"a pod of another Deployment has our labels, and our annotations": {
			deployment: deployment(nil),
			pods:       []corev1.Pod{pod(revision, func(p *corev1.Pod) { p.Name, p.OwnerReferences[0].Name = "other-1-a", "other-1" })},
			want:       "pod other-1-a isn't the Deployment's, but has its labels and gets requests: delete the pod, or take the labels off it",
		},
		"a pod of somebody else that isn't ready gets no requests": {
			deployment: deployment(nil),
			pods: []corev1.Pod{pod("", func(p *corev1.Pod) {
				p.Name, p.OwnerReferences = "debug", nil
				p.Status.Conditions[0].Status = corev1.ConditionFalse
			})},
		},
		"a pod with earlier pages that isn't ready gets no requests": {
			deployment: deployment(nil),
			pods:       []corev1.Pod{pod(earlier, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := UnavailableReason(test.deployment, test.pods); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDeadlineExceeded(t *testing.T) {
	tests := map[string]struct {
		change  func(*appsv1.Deployment)
		timeout time.Duration
		want    bool
	}{
		"it has passed":                        {timeout: 5 * time.Minute, want: true},
		"the view has as much time":            {timeout: 10 * time.Minute, want: true},
		"the view has more time":               {timeout: 10*time.Minute + time.Second},
		"somebody gave the Deployment less":    {change: func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(60)) }, timeout: 2 * time.Minute},
		"it was that of an earlier generation": {change: func(d *appsv1.Deployment) { d.Generation++ }, timeout: time.Minute},
		"the Deployment goes on, or is served": {change: func(d *appsv1.Deployment) { d.Status.Conditions[0].Reason = "NewReplicaSetAvailable" }, timeout: time.Minute},
		"the Deployment has no conditions yet": {change: func(d *appsv1.Deployment) { d.Status.Conditions = nil }, timeout: time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := deployment(func(d *appsv1.Deployment) {
				d.Spec.ProgressDeadlineSeconds = new(int32(600))
				d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
			})
			if test.change != nil {
				test.change(d)
			}
			if got := DeadlineExceeded(d, test.timeout); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestPodFailure(t *testing.T) {
	container := func(status corev1.ContainerStatus) corev1.Pod {
		if status.Name == "" {
			status.Name = "mdbook"
		}
		return pod(revision, func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{status} })
	}
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	terminated := func(code int32, reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
	}
	tests := map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"the image can't be pulled": {
			pod:  container(corev1.ContainerStatus{State: waiting("ImagePullBackOff", "no such image")}),
			want: "pod ImagePullBackOff: no such image",
		},
		"mdBook fails, and the end of its message is quoted": {
			pod:  container(corev1.ContainerStatus{State: waiting("CrashLoopBackOff", "back-off"), LastTerminationState: terminated(101, "Error", "chapter missing\n")}),
			want: "pod CrashLoopBackOff, last exit code 101: chapter missing",
		},
		"mdBook needs more memory than it may have": {
			pod:  container(corev1.ContainerStatus{State: waiting("CrashLoopBackOff", "back-off"), LastTerminationState: terminated(137, "OOMKilled", "")}),
			want: "pod CrashLoopBackOff, last exit code 137 (out of memory)",
		},
		"no node has room": {
			pod: pod(revision, func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"}}
			}),
			want: "pod Unschedulable: 0/3 nodes are available",
		},
		"the readiness probe fails": {
			pod:  container(corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}),
			want: "pod runs, but its readiness probe fails",
		},
		"the pages aren't mounted yet": {
			pod:  container(corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			want: "pod ContainerCreating: its volumes or its network are not ready; kubectl describe says more",
		},
		"a sidecar crashes": {
			pod:  container(corev1.ContainerStatus{Name: "proxy", State: waiting("CrashLoopBackOff", "back-off"), LastTerminationState: terminated(1, "Error", "no route")}),
			want: "pod container proxy: CrashLoopBackOff, last exit code 1: no route",
		},
		"a sidecar doesn't get ready": {
			pod:  container(corev1.ContainerStatus{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}),
			want: "pod container proxy: it runs, but isn't ready",
		},
		"an init container crashes": {
			pod: pod(revision, func(p *corev1.Pod) {
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "setup", State: waiting("CrashLoopBackOff", ""), LastTerminationState: terminated(2, "Error", "disk full")}}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mdbook", State: waiting("PodInitializing", "")}}
			}),
			want: "pod init container setup: CrashLoopBackOff, last exit code 2: disk full",
		},
		"an init container goes on": {
			pod: pod(revision, func(p *corev1.Pod) {
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "setup", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			}),
			want: "pod init container setup: it hasn't finished, or isn't ready",
		},
		"a pod with earlier pages doesn't count": {
			pod: pod(earlier, func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mdbook", State: waiting("ImagePullBackOff", "")}}
			}),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := podFailure([]corev1.Pod{test.pod}, revision, All); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	pulling := pod(revision, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mdbook", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}
	})
	mounting := pod(revision, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mdbook", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
	})
	quota := func(d *appsv1.Deployment) {
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota"}}
	}
	tests := map[string]struct {
		change   func(*appsv1.Deployment)
		pods     []corev1.Pod
		failures Failures
		want     string
	}{
		"nothing tells":                         {failures: All, want: "not yet"},
		"a pod tells":                           {pods: []corev1.Pod{mounting, pulling}, failures: Lasting, want: "not yet: pod ErrImagePull"},
		"what any pod goes through is left out": {pods: []corev1.Pod{mounting}, failures: Lasting, want: "not yet"},
		"pods can't be created":                 {change: quota, pods: []corev1.Pod{pulling}, failures: All, want: "not yet: FailedCreate: exceeded quota"},
		"the readiness probe fails, as a patch has it": {
			change: func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers = []corev1.Container{{
					Name: "mdbook", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}},
					ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/docs/", Port: intstr.FromString("web")}}},
				}}
			},
			pods: []corev1.Pod{pod(revision, func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mdbook", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			})},
			failures: All, want: "not yet: pod runs, but its readiness probe fails: GET /docs/ on port 8080",
		},
		"one that a finalizer holds explains the others": {
			change: func(d *appsv1.Deployment) {
				quota(d)
				d.Name, d.DeletionTimestamp = "viewer-docs", new(metav1.Now())
			}, failures: All,
			want: "not yet: the Deployment is being deleted, and waits for its finalizers: kubectl get deployment viewer-docs -o jsonpath={.metadata.finalizers}",
		},
		"a paused Deployment explains the others": {
			change: func(d *appsv1.Deployment) { quota(d); d.Name, d.Spec.Paused = "viewer-docs", true }, failures: All,
			want: "not yet: the Deployment is paused: kubectl rollout resume deployment viewer-docs",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Explain("not yet", deployment(test.change), test.pods, test.failures); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestLeftBehind(t *testing.T) {
	const want = "; pods of ReplicaSet viewer-docs-1 were left behind, by a Deployment that is gone or with the ReplicaSet itself gone: " +
		"kubectl delete replicaset --ignore-not-found viewer-docs-1 && kubectl delete pods --selector=pod-template-hash=1"
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		pod        corev1.Pod
		want       string
	}{
		"nobody stops a pod with earlier pages":                       {deployment(nil), pod(earlier, nil), want},
		"it has the current pages":                                    {deployment(nil), pod(revision, nil), ""},
		"it is being stopped":                                         {deployment(nil), pod(earlier, func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }), ""},
		"the Deployment is about to stop it":                          {deployment(func(d *appsv1.Deployment) { d.Status.Replicas = 3 }), pod(earlier, nil), ""},
		"it is somebody else's, which is said so":                     {deployment(nil), pod(earlier, func(p *corev1.Pod) { p.OwnerReferences = nil }), ""},
		"its owner is of somebody else's kind, which isn't collected": {deployment(nil), pod(earlier, func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "none.example/v1" }), ""},
		"its owner's name is none, but a command":                     {deployment(nil), pod(earlier, func(p *corev1.Pod) { p.OwnerReferences[0].Name = "viewer-docs-$(reboot)" }), ""},
	} {
		if got := LeftBehind(test.deployment, []corev1.Pod{pod(revision, nil), test.pod}); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestServedMessage(t *testing.T) {
	for _, test := range []struct {
		replicas       int32
		revision, want string
	}{
		{0, "r", "Scaled to zero with revision r"},
		{1, "r", "1 replica serves revision r"},
		{2, "r", "2 replicas serve revision r"},
		{1, "sha256:68ada9b3677b0d656e8b3918f1568d52fe20207b1ac7b4add25788b99e10a138", "1 replica serves revision sha256:68ada9b3677b"},
		{
			1, "main@sha1:6b1a9cc8d0e4a7f1c5b3d2e1f0a9b8c7d6e5f4a3,v1.2.3@sha256:68ada9b3677b0d656e8b3918f1568d52fe20207b1ac7b4add25788b99e10a138",
			"1 replica serves revision main@sha1:6b1a9cc8d0e4,v1.2.3@sha256:68ada9b3677b",
		},
		{1, "release:cafecafecafecafes", "1 replica serves revision release:cafecafecafecafes"},
	} {
		if got := ServedMessage(deployment(func(d *appsv1.Deployment) { d.Spec.Replicas = &test.replicas }), test.revision); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

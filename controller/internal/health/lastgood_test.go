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

func TestDecide(t *testing.T) {
	tests := map[string]struct {
		standing Standing
		timeout  time.Duration
		want     Template
		recheck  time.Duration
	}{
		"nothing is missing while new pods fail":            {standing: Standing{Failing: true, StuckFor: time.Hour}},
		"pods are missing, and new ones have failed":        {standing: Standing{Short: true, ShortFor: 3 * time.Second, Failing: true}, want: LastGood},
		"pods are missing, and new ones make no progress":   {standing: Standing{Short: true, ShortFor: time.Minute, StuckFor: 20 * time.Second}, want: LastGood},
		"pods have just gone: others may come":              {standing: Standing{Short: true, ShortFor: time.Second, Failing: true}, recheck: 2 * time.Second},
		"pods are missing, and new ones may yet get ready":  {standing: Standing{Short: true, ShortFor: time.Minute, StuckFor: 5 * time.Second}, recheck: 15 * time.Second},
		"pods are missing, and something new can be tried":  {standing: Standing{Short: true, ShortFor: time.Minute, Failing: true, Changed: true}, recheck: 3 * time.Second},
		"it has returned, and pods aren't available yet":    {standing: Standing{Returned: true, Failing: true, Short: true}, want: LastGood},
		"it has returned, and all pods are available":       {standing: Standing{Returned: true, Complete: true}},
		"it has returned, and something new can be tried":   {standing: Standing{Returned: true, Changed: true}},
		"it has returned, and what is wanted isn't known":   {standing: Standing{Returned: true, Changed: true, Complete: true, Held: true}, want: LastGood},
		"it has returned to what can't start either":        {standing: Standing{Returned: true, ReturnedFor: 5 * time.Minute}},
		"it has returned to what hasn't started yet":        {standing: Standing{Returned: true, ReturnedFor: 4 * time.Minute}, want: LastGood},
		"it has returned, and the timeout is short":         {standing: Standing{Returned: true, ReturnedFor: time.Minute}, timeout: time.Second, want: LastGood},
		"the timeout is long":                               {standing: Standing{Returned: true, ReturnedFor: 10 * time.Minute}, timeout: time.Hour, want: LastGood},
		"neither starts, and what is wanted isn't known":    {standing: Standing{Returned: true, ReturnedFor: time.Hour, Held: true}, want: LastGood},
		"what failed is kept, because a later edit is bad":  {standing: Standing{Short: true, ShortFor: time.Minute, Failing: true, Held: true}, want: LastGood},
		"all pods can start, and what is wanted goes on":    {standing: Standing{Complete: true}},
		"no pods are missing, but the rollout doesn't move": {standing: Standing{StuckFor: time.Hour}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, recheck := Decide(&test.standing, test.timeout)
			if got != test.want || recheck != test.recheck {
				t.Errorf("got %d, %s, want %d, %s", got, recheck, test.want, test.recheck)
			}
		})
	}
}

func TestWhatIsShort(t *testing.T) {
	now := metav1.Now()
	good := func(change func(*corev1.Pod)) corev1.Pod {
		return pod(earlier, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			if change != nil {
				change(p)
			}
		})
	}
	waiting := func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }
	rolling := func(unavailable, surge intstr.IntOrString) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxUnavailable: &unavailable, MaxSurge: &surge}
		}
	}
	tests := map[string]struct {
		change   func(*appsv1.Deployment)
		lastGood string
		pods     []corev1.Pod
		want     bool
		lacking  bool
	}{
		"enough are available":              {change: func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }, pods: []corev1.Pod{good(waiting), good(nil)}},
		"one waits for pages that are gone": {pods: []corev1.Pod{good(waiting), good(nil)}, want: true},
		"more are wanted":                   {pods: []corev1.Pod{good(nil)}, want: true},
		"one was evicted":                   {pods: []corev1.Pod{good(nil), good(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })}, want: true},
		"one is being deleted":              {pods: []corev1.Pod{good(nil), good(func(p *corev1.Pod) { p.DeletionTimestamp = &now })}, want: true},
		"a container is started again":      {pods: []corev1.Pod{good(nil), good(func(p *corev1.Pod) { p.Status.Conditions = nil })}},
		"one starts from copies": {pods: []corev1.Pod{good(nil), good(func(p *corev1.Pod) {
			waiting(p)
			p.Annotations[v1.LastPagesAnnotation] = "true"
		})}},
		"nothing was ever served":          {lastGood: "none", pods: nil},
		"the pages are those of before":    {lastGood: revision, pods: nil, lacking: true},
		"they are so, and one may be away": {lastGood: revision, pods: nil, change: rolling(intstr.FromInt32(1), intstr.FromInt32(1))},
		"one may be away":                  {change: rolling(intstr.FromInt32(1), intstr.FromInt32(1))},
		"half of them may":                 {change: rolling(intstr.FromString("50%"), intstr.FromString("0%"))},
		"a quarter may, which is none": {
			change: rolling(intstr.FromString("25%"), intstr.FromString("25%")), want: true,
		},
		"a quarter may, and none is made before": {change: rolling(intstr.FromString("25%"), intstr.FromInt32(0))},
		"one may be away, and two are": {
			change: func(d *appsv1.Deployment) {
				rolling(intstr.FromInt32(1), intstr.FromInt32(1))(d)
				d.Status.AvailableReplicas = 0
			}, want: true,
		},
		"all may be away": {change: func(d *appsv1.Deployment) {
			d.Spec.Strategy.Type, d.Status.AvailableReplicas = appsv1.RecreateDeploymentStrategyType, 0
		}},
		"the Deployment is paused":            {change: func(d *appsv1.Deployment) { d.Spec.Paused = true }},
		"the Deployment hasn't been seen yet": {change: func(d *appsv1.Deployment) { d.Generation++ }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := deployment(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 })
			if test.change != nil {
				test.change(d)
			}
			lastGood := earlier
			switch test.lastGood {
			case "none":
				lastGood = ""
			case revision:
				lastGood = revision
			}
			if got := StandingOf(d, test.pods, lastGood); got.Short != test.want || got.Lacking != test.lacking {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestServedRevision(t *testing.T) {
	available := []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: "NewReplicaSetAvailable"}}
	tests := map[string]struct {
		change func(*appsv1.Deployment)
		pods   []corev1.Pod
		want   string
	}{
		"all pods are available": {want: revision},
		"they were, and one isn't now": {
			change: func(d *appsv1.Deployment) { d.Status.AvailableReplicas, d.Status.Conditions = 1, available }, want: revision,
		},
		"the Deployment hasn't been seen yet": {change: func(d *appsv1.Deployment) { d.Generation, d.Status.Conditions = 3, available }},
		"it is being rolled out": {
			change: func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }, pods: []corev1.Pod{pod(revision, nil), pod(earlier, nil)}, want: earlier,
		},
		"it was never served": {change: func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 0 }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ServedRevision(deployment(test.change), test.pods); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

package health

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestProgress follows a rollout of three replicas.
func TestProgress(t *testing.T) {
	var best Counts
	for i, step := range []struct {
		what string
		now  Counts
		want bool
	}{
		{"it begins", Counts{Old: 0}, false},
		{"a new pod is there", Counts{Updated: 1}, true},
		{"it is available", Counts{Updated: 1, Available: 1}, true},
		{"nothing happens", Counts{Updated: 1, Available: 1}, false},
		{"it fails", Counts{Updated: 1}, false},
		{"it is available once more", Counts{Updated: 1, Available: 1}, false},
		{"it is gone", Counts{}, false},
		{"the next one is available, too", Counts{Updated: 2, Available: 2}, true},
	} {
		var progressed bool
		if best, progressed = best.Progress(step.now); progressed != step.want {
			t.Errorf("%d, %s: progress is %t, want %t", i, step.what, progressed, step.want)
		}
	}
	best = Counts{Updated: 1, Old: 2}
	for i, step := range []struct {
		old  int32
		want bool
	}{{1, true}, {2, false}, {1, false}, {0, true}} {
		var progressed bool
		if best, progressed = best.Progress(Counts{Updated: 1, Old: step.old}); progressed != step.want {
			t.Errorf("%d, with %d old pods: progress is %t, want %t", i, step.old, progressed, step.want)
		}
	}
}

// TestCountsOfAStatusThatIsLate: the pods of the rollout before say nothing of this one.
func TestCountsOfAStatusThatIsLate(t *testing.T) {
	deployment := &appsv1.Deployment{Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 2}}
	deployment.Generation = 2
	late := CountsOf(deployment)
	if want := (Counts{Available: 2, Old: 3}); late != want {
		t.Errorf("got %+v, want %+v", late, want)
	}
	deployment.Status.ObservedGeneration, deployment.Status.UpdatedReplicas, deployment.Status.Replicas = 2, 1, 4
	if _, progressed := late.Progress(CountsOf(deployment)); !progressed {
		t.Error("the first new pod is no progress")
	}
}

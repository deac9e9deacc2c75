package health

import "testing"

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

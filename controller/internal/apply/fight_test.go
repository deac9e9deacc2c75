package apply

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFightsWithWhatIsAddedBackOff has kubectl add fields that nobody else sets, which are taken over.
func TestFightsWithWhatIsAddedBackOff(t *testing.T) {
	f := newFixture(t)
	f.applied()
	f.seen()
	f.Requests()
	writes := 0
	for i := range 600 {
		edit(f, "kubectl-edit", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = int32(i + 1) })
		f.applied()
		f.seen()
		writes += len(f.Requests())
		f.clock.SetTime(f.clock.Now().Add(time.Second))
	}
	if writes < 2*patience || writes > 24 {
		t.Errorf("%d writes in ten minutes", writes)
	}
	report := f.applied()
	if !slices.Contains(report.Fights, "Deployment viewer-docs") || report.Recheck == 0 {
		t.Errorf("it isn't reported: %+v", report)
	}
	f.clock.SetTime(f.clock.Now().Add(report.Recheck))
	if f.applied(); len(f.Requests()) == 0 {
		t.Error("it isn't won in the end")
	}
}

// TestFightsBackOff has somebody change an object as soon as it is corrected, for ten
// minutes, and then stop.
func TestFightsBackOff(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"a page": func(f *fixture) {
			edit(f, "anyone", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "theirs" })
		},
		"a deletion": func(f *fixture) {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "markdowns-docs"}}
			_ = f.Admin.Delete(f.Context(), object) // it may be gone still
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.applied()
			f.seen()
			f.Requests()
			told, writes := 0, []int{}
			for range 600 {
				change(f)
				report := f.applied()
				f.seen()
				told += len(report.Corrections)
				writes = append(writes, len(f.Requests()))
				f.clock.SetTime(f.clock.Now().Add(time.Second))
			}
			total := 0
			for _, n := range writes {
				total += n
			}
			if !slices.Equal(writes[:3], []int{1, 1, 1}) || total > 12 {
				t.Errorf("%d writes in ten minutes, at first %v", total, writes[:10])
			}
			if told != patience {
				t.Errorf("%d corrections are told of", told)
			}
			report := f.applied()
			if !slices.Contains(report.Fights, "ConfigMap markdowns-docs") || report.Recheck == 0 {
				t.Errorf("it isn't reported: %+v", report)
			}
			f.clock.SetTime(f.clock.Now().Add(report.Recheck))
			if f.applied(); len(f.Requests()) != 1 {
				t.Error("it isn't won in the end")
			}
			f.clock.SetTime(f.clock.Now().Add(2 * maxFightDelay))
			if report := f.applied(); len(report.Fights) > 0 {
				t.Errorf("there is no peace: %v", report.Fights)
			}
			f.seen()
			change(f)
			if report := f.applied(); len(report.Corrections) != 1 {
				t.Errorf("a later change isn't corrected at once: %+v", report)
			}
		})
	}
}

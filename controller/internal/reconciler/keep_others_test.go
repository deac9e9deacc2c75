package reconciler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// TestWhatOthersHaveWrittenWhileNobodyLooked has somebody write to pages while no controller
// runs, and what is wanted be at fault.
func TestWhatOthersHaveWrittenWhileNobodyLooked(t *testing.T) {
	ours := func(c *corev1.ConfigMap) { c.Data["start.md"] += "Edited.\n" }
	writes := map[string]struct {
		write   func(*corev1.ConfigMap)
		times   int
		isTold  bool
		repairs string
	}{
		"a label":                            {write: func(c *corev1.ConfigMap) { c.Labels["team"] = "docs" }, times: 1},
		"another page":                       {write: func(c *corev1.ConfigMap) { c.Data["more.md"] = "# More\n" }, times: 1, repairs: "merge into ConfigMap markdowns-docs"},
		"a page of ours":                     {write: ours, times: 1, repairs: "apply ConfigMap markdowns-docs"},
		"a page of ours, some times":         {write: ours, times: 5, repairs: "apply ConfigMap markdowns-docs"},
		"a page of ours, more than asked of": {write: ours, times: 6, isTold: true},
	}
	for fault, of := range faults {
		for what, test := range writes {
			t.Run(fault+", "+what, func(t *testing.T) {
				f := newFixture(t)
				f.served("docs")
				want := f.objects()
				of.begin(f)
				_, _ = f.tryReconcile("docs")
				for range test.times {
					f.edit(test.write)
				}
				f.restart()
				if f.limiter.limit > 0 {
					f.limiter = newRolloutLimiter(1, &f.states)
					f.limiter.hold(f.states.of(client.ObjectKey{Namespace: "docs", Name: "other"}))
				}
				f.clock.SetTime(f.clock.Now().Add(time.Minute)) // until it may be told
				f.Requests()
				_, _ = f.tryReconcile("docs")
				_, _ = f.tryReconcile("docs")
				diff := cmp.Diff(want["ConfigMap"], f.objects()["ConfigMap"])
				if test.isTold != (diff != "") {
					t.Errorf("it isn't as it was: %s", diff)
				}
				requests := slices.DeleteFunc(f.Requests(), func(r string) bool { return !strings.HasSuffix(r, " ConfigMap markdowns-docs") })
				if (test.repairs == "") != (len(requests) == 0) || test.repairs != "" && !slices.Contains(requests, test.repairs) {
					t.Errorf("requests: %v", requests)
				}
				view := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
				message := conditions.GetMessage(view, meta.ReadyCondition)
				if told := strings.Contains(message, "somebody else has edited their ConfigMap markdowns-docs"); told != test.isTold {
					t.Errorf("the message is %s", message)
				}
				if test.isTold && conditions.IsTrue(view, meta.ReadyCondition) {
					t.Error("it is Ready")
				}
				_, _ = f.tryReconcile("docs")
				if got := f.Requests(); len(got) > 0 {
					t.Errorf("at rest: %v", got)
				}
			})
		}
	}
}

// TestAnEditAtTheMomentOfAFault has somebody edit a page before it is known that what is
// wanted can't be had.
func TestAnEditAtTheMomentOfAFault(t *testing.T) {
	for fault, of := range faults {
		t.Run(fault, func(t *testing.T) {
			f := newFixture(t)
			f.served("docs")
			want := f.objects()
			f.edit(func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Edited\n" })
			of.begin(f)
			_, _ = f.tryReconcile("docs")
			_, _ = f.tryReconcile("docs")
			if diff := cmp.Diff(want["ConfigMap"], f.objects()["ConfigMap"]); diff != "" {
				t.Errorf("it isn't as it was: %s", diff)
			}
			view := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
			if message := conditions.GetMessage(view, meta.ReadyCondition); conditions.GetReason(view, meta.ReadyCondition) != of.reason || strings.Contains(message, "edited") {
				t.Errorf("the message is %s", message)
			}
		})
	}
}

// TestAFightOverWhatIsKeptIsTold has somebody edit a page whenever it is corrected, while what
// is wanted can't be applied.
func TestAFightOverWhatIsKeptIsTold(t *testing.T) {
	const told = "; of the pages of before: ConfigMap markdowns-docs is changed again and again"
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.served("docs")
			fault.begin(f)
			_, _ = f.tryReconcile("docs")
			for range 60 {
				fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "theirs" })
				_, _ = f.tryReconcile("docs")
				f.clock.SetTime(f.clock.Now().Add(time.Second))
			}
			view := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
			f.ready(view, metav1.ConditionFalse, fault.reason, told)
			if requests := f.Requests(); len(requests) > 12 {
				t.Errorf("in a minute %v", requests)
			}
			for range 30 {
				_, _ = f.tryReconcile("docs")
				f.clock.SetTime(f.clock.Now().Add(10 * time.Second))
			}
			view = fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
			if message := conditions.GetMessage(view, meta.ReadyCondition); strings.Contains(message, told) || conditions.GetReason(view, meta.ReadyCondition) != fault.reason {
				t.Errorf("in the end the message is %s", message)
			}
			if got := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs").Data["start.md"]; got != "# Start\n" {
				t.Errorf("in the end the page is %q", got)
			}
		})
	}
}

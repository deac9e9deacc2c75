package reconciler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// servedWith serves a view with a mode of drift detection.
func (f *fixture) servedWith(mode v1.DriftDetectionMode) {
	f.Helper()
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.DriftDetection = &v1.DriftDetection{Mode: mode} })
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
	f.Requests()
	f.logged()
	f.events.GetEvents()
}

// page edits a page in its ConfigMap.
func (f *fixture) page(text string) {
	f.Helper()
	fakecluster.Edit(f.Cluster, "kubectl-edit", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = text })
}

func (f *fixture) restart() {
	f.states = viewStates{}
	f.Metrics = NewMetrics(f.Cached, false)
}

func TestDriftIsToldOnce(t *testing.T) {
	f := newFixture(t)
	f.servedWith(v1.DriftDetectionWarn)
	f.page("# Other\n")
	const message = "; drift is left as it is: ConfigMap markdowns-docs (/data/start.md)"
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, message)
	event := []string{"Warning DriftDetected: ConfigMap markdowns-docs was changed and is left so: /data/start.md"}
	if diff := cmp.Diff(event, f.eventMessages()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"write the status of MarkdownView docs"}, f.Requests()); diff != "" {
		t.Error(diff)
	}
	if lines := f.logged(); len(lines) != 1 || !strings.Contains(lines[0], "drift detected") {
		t.Errorf("logged: %v", lines)
	}
	if !strings.Contains(strings.Join(series(t, f.Metrics), "\n"), "markdownview_drift_detected_total{kind=ConfigMap} 1") {
		t.Errorf("the metrics are %v", series(t, f.Metrics))
	}
	for _, later := range []struct {
		name string
		then func()
	}{
		{"at another look", func() {}},
		{"another value", func() { f.page("# Different\n") }},
		{"after the interval", func() { f.clock.SetTime(f.clock.Now().Add(time.Hour)) }},
		{"after a restart", f.restart},
	} {
		later.then()
		f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, message)
		if events, requests := f.eventMessages(), f.Requests(); len(events)+len(requests) > 0 {
			t.Errorf("%s: events %v, requests %v", later.name, events, requests)
		}
	}
	if lines := f.logged(); len(lines) > 0 {
		t.Errorf("logged at rest: %v", lines)
	}

	// Whoever undoes it by hand ends it.
	f.page("# Start\n")
	view := f.reconcile("docs")
	f.ready(view, metav1.ConditionTrue, v1.HealthyReason, "1 replica serves")
	if got := readyMessage(view); strings.Contains(got, "drift") {
		t.Errorf("it still says %s", got)
	}
	if events := f.eventMessages(); len(events) > 0 {
		t.Errorf("events: %v", events)
	}
}

func readyMessage(view *v1.MarkdownView) string {
	for _, condition := range view.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Message
		}
	}
	return ""
}

// A large book isn't to be generated anew for each event only because a page was edited.
func TestDriftedViewIsNotRenderedForEachEvent(t *testing.T) {
	for mode, drift := range map[v1.DriftDetectionMode]func(*fixture){
		v1.DriftDetectionWarn: func(f *fixture) {
			f.Must(f.Admin.Delete(f.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "markdowns-docs"}}))
		},
		v1.DriftDetectionDisabled: func(f *fixture) { f.page("# Other\n") },
	} {
		t.Run(string(mode), func(t *testing.T) {
			f := newFixture(t)
			f.servedWith(mode)
			f.clock.SetTime(f.clock.Now().Add(time.Minute)) // until the cache is believed
			drift(f)
			f.reconcile("docs")
			f.debug = true
			f.logged()
			f.reconcile("docs")
			if lines := strings.Join(f.logged(), "\n"); strings.Contains(lines, "rendering") {
				t.Error(lines)
			}
		})
	}
}

func TestViewIsChangedBesideDrift(t *testing.T) {
	f := newFixture(t)
	f.servedWith(v1.DriftDetectionWarn)
	f.page("# Other\n")
	f.reconcile("docs")
	f.eventMessages()
	f.Requests()
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Changed\n" })
	f.reconcile("docs")
	if diff := cmp.Diff([]string{"apply ConfigMap markdowns-docs", "apply Deployment viewer-docs", "write the status of MarkdownView docs"}, f.Requests()); diff != "" {
		t.Error(diff)
	}
	f.rollOut("docs")
	view := f.reconcile("docs")
	f.ready(view, metav1.ConditionTrue, v1.HealthyReason, "")
	if got := readyMessage(view); strings.Contains(got, "drift") {
		t.Errorf("it still says %s", got)
	}
	for _, event := range f.eventMessages() {
		if strings.Contains(event, "Drift") {
			t.Errorf("an event: %s", event)
		}
	}
}

func TestMissingObjectsAreNotServed(t *testing.T) {
	objects := map[string]client.Object{
		"Deployment": &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}},
		"Service":    &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}},
	}
	for kind, object := range objects {
		for _, mode := range []v1.DriftDetectionMode{v1.DriftDetectionWarn, v1.DriftDetectionDisabled} {
			t.Run(kind+", "+string(mode), func(t *testing.T) {
				f := newFixture(t)
				f.servedWith(mode)
				f.clock.SetTime(f.clock.Now().Add(time.Minute)) // until the cache is believed
				f.Must(f.Admin.Delete(t.Context(), object.DeepCopyObject().(client.Object)))
				for range 2 {
					f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ObjectMissingReason, kind+" viewer-docs was deleted, or has lost its labels, and spec.driftDetection.mode is "+string(mode))
					f.restart()
				}
				if diff := cmp.Diff([]string{"write the status of MarkdownView docs"}, f.Requests()); diff != "" {
					t.Error(diff)
				}
				f.update("docs", func(v *v1.MarkdownView) { v.Spec.DriftDetection = nil })
				f.reconcile("docs")
				f.rollOut("docs")
				f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
			})
		}
	}
}

// TestDriftIsLeftWhileAViewIsInvalid has a bad edit keep what is there, drift too.
func TestDriftIsLeftWhileAViewIsInvalid(t *testing.T) {
	for name, forget := range map[string]func(*fixture){"remembered": func(*fixture) {}, "after a restart": (*fixture).restart} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.servedWith(v1.DriftDetectionWarn)
			f.page("# Other\n")
			fakecluster.Edit(f.Cluster, "autoscaler", &appsv1.Deployment{}, "docs", "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(4)) })
			f.reconcile("docs")
			f.events.GetEvents()
			f.Requests()
			f.update("docs", func(v *v1.MarkdownView) { delete(v.Spec.Markdowns, "start.md") })
			forget(f)
			f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.InvalidReason, "; drift is left as it is: ConfigMap markdowns-docs (/data/start.md), Deployment viewer-docs (/spec/replicas)")
			f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Start\n" })
			forget(f)
			f.reconcile("docs")
			for _, request := range f.Requests() {
				if request != "write the status of MarkdownView docs" {
					t.Errorf("written: %s", request)
				}
			}
			for _, event := range f.eventMessages() {
				if strings.Contains(event, "Drift") {
					t.Errorf("it is told again: %s", event)
				}
			}
			f.update("docs", func(v *v1.MarkdownView) {
				delete(v.Spec.Markdowns, "start.md")
				v.Spec.Replicas = new(int32(2))
			})
			forget(f)
			f.reconcile("docs")
			want := int32(2)
			if name == "after a restart" {
				want = 4 // what was applied of it isn't known
			}
			if got := *fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs").Spec.Replicas; got != want {
				t.Errorf("it is scaled to %d, not %d", got, want)
			}
			f.reconcile("docs")
			f.page("# Other again\n")
			fakecluster.Edit(f.Cluster, "kubectl-edit", &appsv1.Deployment{}, "docs", "viewer-docs", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 9 })
			f.Requests()
			f.reconcile("docs")
			f.reconcile("docs")
			for _, request := range f.Requests() {
				if request != "write the status of MarkdownView docs" {
					t.Errorf("written once it was scaled: %s", request)
				}
			}
		})
	}
}

func TestRuleThatMeansNothingIsToldOf(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) {
		v.Spec.DriftDetection = &v1.DriftDetection{Ignore: []v1.IgnoreRule{{Target: v1.PatchTarget{Kind: "Deployment"}, Paths: []string{"/spec/replica"}}}}
	})
	f.reconcile("docs")
	want := []string{"Warning PagesWarning: spec.driftDetection.ignore[0].paths[0]: /spec/replica isn't generated, and is left to others anyway: drop it, unless somebody sets it with kubectl edit, patch or replace"}
	if diff := cmp.Diff(want, f.eventMessages()); diff != "" {
		t.Error(diff)
	}
	f.reconcile("docs")
	if events := f.eventMessages(); len(events) > 0 {
		t.Errorf("it is told again: %v", events)
	}
}

func TestDigestIsKeptOnlyWhereDriftIsLeft(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	digest := func() string {
		return fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs").Status.LastAppliedDigest
	}
	if got := digest(); got != "" {
		t.Errorf("it is %s where drift is undone", got)
	}
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.DriftDetection = &v1.DriftDetection{Mode: v1.DriftDetectionWarn} })
	f.reconcile("docs")
	if got := digest(); !strings.HasPrefix(got, "sha256:") {
		t.Errorf("it is %q", got)
	}
}

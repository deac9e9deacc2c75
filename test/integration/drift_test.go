package integration

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
)

// detecting returns a view with a mode of drift detection.
func (f *fixture) detecting(name string, mode v1.DriftDetectionMode) *v1.MarkdownView {
	view := f.view(name)
	view.Spec.DriftDetection = &v1.DriftDetection{Mode: mode}
	return view
}

// warned waits until a view is Ready and tells of drift.
func (f *fixture) warned(name string, drift ...string) {
	f.Helper()
	f.eventually("drift to be told", func() string {
		message := readyMessage(f.ready(name))
		for _, text := range drift {
			if !strings.Contains(message, text) {
				return "it says: " + message
			}
		}
		return ""
	})
}

// childWrites are the controller's writes to a view's objects.
func (f *fixture) childWrites(since cluster.Mark) []cluster.Request {
	f.Helper()
	list, err := f.Cluster.Requests(f.Context(), since, cluster.By(controllerUser), cluster.In(f.namespace), writesOf("configmaps", "deployments.apps", "services"))
	f.must(err)
	return list
}

// TestDriftIsLeftWhereAViewSaysSo has a hostile editor change all of a view's objects
// again and again, in a view that only warns.
func TestDriftIsLeftWhereAViewSaysSo(t *testing.T) {
	f := newFixture(t)
	since := f.mark()
	f.create(f.detecting("docs", v1.DriftDetectionWarn))
	f.ready("docs")
	f.atMost(6, since)

	f.settled("docs")
	since = f.mark()
	for i := range 30 {
		update(f, &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = fmt.Sprint("# Hacked ", i) })
		update(f, &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Spec.Ports[0].Port = int32(81 + i) })
		update(f, &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { *d.Spec.Replicas = int32(2 + i%2) })
	}
	f.warned("docs", "; drift is left as it is: ", "ConfigMap markdowns-docs (/data/start.md)", "Deployment viewer-docs (/spec/replicas)", "Service viewer-docs (/spec/ports")
	f.event("docs", "DriftDetected: ConfigMap markdowns-docs was changed and is left so: /data/start.md")
	if list := f.childWrites(since); len(list) > 0 {
		t.Errorf("it is written:\n%s", lines(list))
	}
	told := 0
	for _, event := range f.events("docs") {
		if strings.HasPrefix(event, "DriftDetected: ") {
			told++
		}
		if strings.HasPrefix(event, "DriftCorrected: ") {
			t.Error(event)
		}
	}
	if told == 0 || told > 9 {
		t.Errorf("90 changes are told in %d events:\n%s", told, strings.Join(f.events("docs"), "\n"))
	}

	// A change of the view is applied all the same, and all else with it.
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Changed\n" })
	f.served(1)
	if data := f.configMap().Data; data["start.md"] != "# Start\n" || data["next.md"] != "# Changed\n" {
		t.Errorf("the pages are %v", data)
	}
	if message := readyMessage(f.ready("docs")); strings.Contains(message, "drift") {
		t.Errorf("it says: %s", message)
	}
}

func TestWhatIsDeletedStaysDeletedWhereAViewSaysSo(t *testing.T) {
	for _, mode := range []v1.DriftDetectionMode{v1.DriftDetectionWarn, v1.DriftDetectionDisabled} {
		t.Run(string(mode), func(t *testing.T) {
			f := newFixture(t)
			f.create(f.detecting("docs", mode))
			f.settled("docs")
			since := f.mark()
			f.must(admin.Delete(t.Context(), f.configMap()))
			if mode == v1.DriftDetectionWarn {
				f.warned("docs", "ConfigMap markdowns-docs (deleted)")
			}
			f.must(admin.Delete(t.Context(), f.deployment()))
			f.status("docs", metav1.ConditionFalse, v1.ObjectMissingReason)
			if list := f.childWrites(since); len(list) > 0 {
				t.Errorf("it is written:\n%s", lines(list))
			}
			update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.DriftDetection.Mode = v1.DriftDetectionEnabled })
			f.ready("docs")
			f.configMap()
		})
	}
}

// TestARestartWritesNothingInAnyMode restarts the controller beside drift.
func TestARestartWritesNothingInAnyMode(t *testing.T) {
	f := newCluster(t)
	controller := f.controller("controller")
	names := map[string]v1.DriftDetectionMode{"enabled": v1.DriftDetectionEnabled, "warn": v1.DriftDetectionWarn, "disabled": v1.DriftDetectionDisabled}
	for name, mode := range names {
		view := f.detecting(name, mode)
		view.Spec.DriftDetection.Ignore = ignoredReplicas()
		f.create(view)
	}
	for name := range names {
		f.ready(name)
	}
	hack := func(name string) {
		update(f, &corev1.ConfigMap{}, "markdowns-"+name, func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Hacked\n" })
	}
	hack("warn")
	hack("disabled")
	f.warned("warn", "ConfigMap markdowns-warn (/data/start.md)")
	f.event("warn", "DriftDetected: ConfigMap markdowns-warn was changed")

	f.settled("enabled", "warn", "disabled")
	since := f.mark()
	events := len(f.events("warn"))
	f.must(controller.Restart(t.Context()))
	// It has looked at all of them when it has done what it is asked for then.
	last := f.view("last")
	f.create(last)
	f.ready("last")
	f.passes(*atRest)
	list, err := f.Cluster.Requests(t.Context(), since, cluster.By(controllerUser), cluster.In(f.namespace), cluster.Not(cluster.Events), func(r cluster.Request) bool {
		return r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" && !strings.HasSuffix(r.Name, "last")
	})
	f.must(err)
	if len(list) > 0 {
		t.Errorf("after a restart it writes:\n%s", lines(list))
	}
	f.warned("warn", "ConfigMap markdowns-warn (/data/start.md)")
	if got := len(f.events("warn")); got != events {
		t.Errorf("there are %d events, before it was %d:\n%s", got, events, strings.Join(f.events("warn"), "\n"))
	}

	// What was changed while it didn't run is told, and left.
	f.must(controller.Stop(t.Context()))
	service := &corev1.Service{}
	f.get(service, "viewer-warn")
	f.must(f.Client.Delete(t.Context(), service, client.Preconditions{UID: &service.UID}))
	f.must(controller.Start(t.Context()))
	view := f.status("warn", metav1.ConditionFalse, v1.ObjectMissingReason)
	if message := readyMessage(view); !strings.Contains(message, "ConfigMap markdowns-warn (/data/start.md), Service viewer-warn (deleted)") {
		t.Errorf("it says: %s", message)
	}
}

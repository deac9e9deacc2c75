package reconciler

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

var errAway = errors.New("connection refused")

// TestLogHasOneLinePerOutcome follows a view through its life.
func TestLogHasOneLinePerOutcome(t *testing.T) {
	f := newFixture(t)
	f.view("docs")
	for _, step := range []struct {
		do   func()
		want []string // of the one line; nil if there is none
	}{
		{func() {}, []string{
			`"reason"="Progressing"`, `"revision"="sha256:`, "ConfigMap markdowns-docs (create)", "Deployment viewer-docs (create)", "Service viewer-docs (create)",
		}},
		{func() {}, nil},
		{func() { f.rollOut("docs") }, []string{`"ready"=true`, `"reason"="Healthy"`, `"message"="1 replica serves`}},
		{func() {}, nil},
		{func() {
			fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Data = nil })
		}, []string{`"reason"="Healthy"`, "ConfigMap markdowns-docs (apply)"}},
		{func() { f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns = nil }) }, []string{`"ready"=false`, `"reason"="Invalid"`}},
		{func() {}, nil},
	} {
		step.do()
		f.reconcile("docs")
		lines := f.logged()
		if (len(lines) == 1) != (step.want != nil) || len(lines) > 1 {
			t.Fatalf("logged: %q", lines)
		}
		for _, want := range step.want {
			if !strings.Contains(lines[0], want) {
				t.Errorf("%s isn't in %s", want, lines[0])
			}
		}
	}
}

func TestDebugLogTellsWhy(t *testing.T) {
	f := newFixture(t)
	f.debug = true
	f.served("docs")
	f.reconcile("docs")
	fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["x"] = "" })
	f.reconcile("docs")
	all := strings.Join(f.logged(), "\n")
	for _, want := range []string{
		`"object"="Deployment viewer-docs" "action"="nothing" "reason"="neither it nor what is wanted has changed`,
		`"msg"="nothing changed" "reason"="Healthy"`,
		`"msg"="rendering" "reason"="the ConfigMaps changed"`,
		`"object"="ConfigMap markdowns-docs" "action"="remove keys" "reason"="/data/x aren't wanted"`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s isn't in\n%s", want, all)
		}
	}
}

package fluxe2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/flux"
	"github.com/zoetrope/markdown-view/test/product"
)

const fiveMinutes = 5 * time.Minute

// TestFluxAndTheControllerLeaveEachOtherAlone has both look at the same views every
// minute.
func TestFluxAndTheControllerLeaveEachOtherAlone(t *testing.T) {
	f := newFixture(t)
	repository := f.repository(example("beside-its-pages"))
	f.must(repository.Write(map[string]string{
		"docs/markdownview.yaml": f.mustRead(repository.Folder+"/docs/markdownview.yaml") + "  interval: 1m\n",
		"handbook/SUMMARY.md":    "- [Start](start.md)\n",
		"handbook/start.md":      "# Start\n",
	}))
	_, err := repository.Push(t.Context(), "Look every minute")
	f.must(err)
	f.apply("beside-its-pages", repository)
	f.patch(&sourcev1.GitRepository{}, "team", `{"spec":{"interval":"1m"}}`)
	f.patch(newKustomization(), "team", `{"spec":{"interval":"1m"}}`)
	f.sourceView("handbook", "team", "handbook")
	f.applied("team", "")
	f.ready("handbook")
	f.ready("runbook")
	f.CaughtUp()
	f.quiet()

	since, before := f.mark(), f.versions()
	<-time.After(fiveMinutes)
	if writes := f.writes(since); len(writes) > 0 {
		t.Errorf("in five minutes there were writes:\n%s", lines(writes))
	}
	for _, reader := range slices.Concat(flux.Users, []string{product.User}) {
		t.Logf("%s: %d requests in five minutes", reader, len(f.requests(since, cluster.By(reader))))
	}
	if looked := f.requests(since, cluster.By(flux.Users[1]), dryRun); len(looked) == 0 {
		t.Error("Flux didn't look at the view")
	}
	if changed := changed(before, f.versions()); len(changed) > 0 {
		t.Errorf("these were changed: %v", changed)
	}

	t.Log("a child is edited")
	since = f.mark()
	f.patch(&corev1.ConfigMap{}, "markdowns-runbook", `{"data":{"keys.md":"# Edited\n"}}`)
	f.eventually("the repair", func() string {
		configMap := &corev1.ConfigMap{}
		f.get(configMap, "markdowns-runbook")
		if strings.Contains(configMap.Data["keys.md"], "Edited") {
			return "there is none"
		}
		return ""
	})
	<-time.After(time.Minute + 10*time.Second) // Flux has looked, too
	f.repairedOnce(since)
}

// repairedOnce checks that our controller repaired a ConfigMap, and nobody else.
func (f *fixture) repairedOnce(since cluster.Mark) {
	f.Helper()
	writes := f.writes(since)
	for _, w := range writes {
		if w.User != product.User || w.Name != "markdowns-runbook" {
			f.Errorf("unexpected: %s", w)
		}
	}
	if len(writes) == 0 || len(writes) > 3 {
		f.Errorf("the repair took %d writes:\n%s", len(writes), lines(writes))
	}
	var list corev1.EventList
	f.must(f.Client.List(f.Context(), &list, client.InNamespace(f.namespace)))
	repairs := 0
	for _, event := range list.Items {
		if event.Reason == "DriftCorrected" {
			repairs += max(1, int(event.Count))
			f.Logf("the event says: %s", event.Message)
		}
	}
	if repairs != 1 {
		f.Errorf("%d events of a repair, not one", repairs)
	}
}

// quiet waits until neither Flux nor the controller has written for a while.
func (f *fixture) quiet() {
	f.Helper()
	since, end := f.mark(), time.Now().Add(10*time.Second)
	f.eventually("quiet", func() string {
		if writes := f.writes(since); len(writes) > 0 {
			since, end = f.mark(), time.Now().Add(10*time.Second)
			return lines(writes)
		}
		if time.Now().Before(end) {
			return "it has just begun"
		}
		return ""
	})
}

// writes are those of Flux and of the controller, but for what Flux notes on its own
// objects, for events, and for what was only tried.
func (f *fixture) writes(since cluster.Mark) []cluster.Request {
	f.Helper()
	return f.requests(since, cluster.Writes, cluster.Not(cluster.Events), cluster.Not(dryRun), func(r cluster.Request) bool {
		ours := r.User == product.User || slices.Contains(flux.Users, r.User)
		return ours && !strings.HasSuffix(r.Resource, ".toolkit.fluxcd.io")
	})
}

func dryRun(r cluster.Request) bool { return strings.Contains(r.URI, "dryRun=All") }

// versions are the resource versions of the views and of what they made.
func (f *fixture) versions() map[string]string {
	f.Helper()
	out := f.kubectl("get", "markdownviews,configmaps,deployments,services",
		"--output=jsonpath={range .items[*]}{.kind} {.metadata.name}={.metadata.resourceVersion}{\"\\n\"}{end}")
	versions := map[string]string{}
	for line := range strings.Lines(out) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), "=")
		versions[name] = version
	}
	return versions
}

package fluxe2e

import (
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// aWhile is long enough for what shouldn't happen to happen.
const aWhile = 5 * time.Second

func TestASuspendedViewIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	repository := f.repository(example("docs-repository"))
	f.gitRepository("handbook", repository)
	f.sourceView("handbook", "handbook", "docs")
	f.settled("handbook")
	old := f.ready("handbook").Status.LastAppliedRevision

	f.patch(&v1.MarkdownView{}, "handbook", `{"spec":{"suspend":true}}`)
	f.CaughtUp()
	revision := f.push(repository, "handbook", map[string]string{"docs/welcome.md": "# Changed\n"})
	f.fetched("handbook", revision)
	f.staysAt("handbook", old)
	f.patch(&v1.MarkdownView{}, "handbook", `{"spec":{"suspend":false}}`)
	f.readyAt("handbook", revision)
}

func TestASuspendedSourceKeepsItsPages(t *testing.T) {
	f := newFixture(t)
	repository := f.repository(example("docs-repository"))
	f.gitRepository("handbook", repository)
	f.sourceView("handbook", "handbook", "docs")
	f.settled("handbook")
	old := f.ready("handbook").Status.LastAppliedRevision

	f.patch(&sourcev1.GitRepository{}, "handbook", `{"spec":{"suspend":true}}`)
	revision := f.push(repository, "handbook", map[string]string{"docs/welcome.md": "# Changed\n"})
	f.staysAt("handbook", old)
	f.sourceView("another", "handbook", "docs")
	f.readyAt("another", old)
	f.ready("handbook")
	f.patch(&sourcev1.GitRepository{}, "handbook", `{"spec":{"suspend":false}}`)
	f.readyAt("handbook", revision)
	f.readyAt("another", revision)
}

func TestASuspendedKustomizationIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	repository := f.repository(example("beside-its-pages"))
	f.apply("beside-its-pages", repository)
	f.applied("team", "")
	f.settled("runbook")
	old := f.ready("runbook").Status.LastAppliedRevision

	f.patch(newKustomization(), "team", `{"spec":{"suspend":true}}`)
	revision := f.push(repository, "team", map[string]string{"docs/pages/keys.md": "# Changed\n"})
	f.fetched("team", revision)
	f.staysAt("runbook", old)
	f.patch(newKustomization(), "team", `{"spec":{"suspend":false}}`)
	f.applied("team", revision)
	if now := f.ready("runbook").Status.LastAppliedRevision; now == old {
		t.Error("the view has the old pages")
	}
}

// staysAt holds a view to a revision for a while.
func (f *fixture) staysAt(name, revision string) {
	f.Helper()
	deployment := f.deployment(name).ResourceVersion
	f.while(aWhile, name+" was changed", func() string {
		view := &v1.MarkdownView{}
		f.get(view, name)
		if now := differs(view.Status.LastAppliedRevision, revision); now != "" {
			return now
		}
		return differs(f.deployment(name).ResourceVersion, deployment)
	})
}

func TestRequestedReconciliationsAreEchoed(t *testing.T) {
	f := newFixture(t)
	repository := f.repository(example("beside-its-pages"))
	f.must(repository.Write(map[string]string{"handbook/SUMMARY.md": "- [Start](start.md)\n", "handbook/start.md": "# Start\n"}))
	_, err := repository.Push(t.Context(), "Add a handbook")
	f.must(err)
	f.apply("beside-its-pages", repository)
	f.sourceView("handbook", "team", "handbook")
	f.applied("team", "")
	f.ready("handbook")
	for name, handled := range map[string]func() string{
		"runbook":  func() string { return f.handled("runbook") },
		"handbook": func() string { return f.handled("handbook") },
	} {
		at := f.request(&v1.MarkdownView{}, name)
		f.eventually("the echo of "+name, func() string { return differs(handled(), at) })
	}
	at := f.request(newKustomization(), "team")
	f.eventually("the echo of the Kustomization", func() string { return differs(f.kustomization("team").handled, at) })
	at = f.request(&sourcev1.GitRepository{}, "team")
	f.eventually("the echo of the GitRepository", func() string {
		source := &sourcev1.GitRepository{}
		f.get(source, "team")
		return differs(source.Status.LastHandledReconcileAt, at)
	})
	f.ready("handbook")
	f.ready("runbook")
	f.applied("team", "")
}

func (f *fixture) handled(view string) string {
	f.Helper()
	object := &v1.MarkdownView{}
	f.get(object, view)
	return object.Status.LastHandledReconcileAt
}

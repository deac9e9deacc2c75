package fluxe2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/flux"
	"github.com/zoetrope/markdown-view/test/viewer"
)

// TestACommittedPageIsServed commits pages in a repository that a view names as its
// source, and measures how long it takes until readers see them.
func TestACommittedPageIsServed(t *testing.T) {
	f := newRealFixture(t)
	repository := f.repository(example("docs-repository"))
	f.must(repository.Write(reference()))
	_, err := repository.Push(t.Context(), "Add a reference")
	f.must(err)
	f.apply("docs-repository", repository)
	f.ready("handbook")
	site := f.site("handbook")
	site.Shows("/welcome.html", "This is how we work.")
	if shards := len(f.configMaps("handbook")); shards < 3 {
		t.Fatalf("the book is in %d ConfigMaps: too few to see which are written", shards)
	}

	var figures []figure
	for i := range 5 {
		figures = append(figures, f.commitAPage(repository, site, fmt.Sprintf("Edition %d of the welcome.", i)))
	}
	slices.SortFunc(figures, func(a, b figure) int { return int(a.ours - b.ours) })
	for _, measured := range figures {
		t.Logf("from push to the first new answer: %.2fs, of which Flux %.2fs, ours %.2fs; Ready after %.2fs",
			measured.flux.Seconds()+measured.ours.Seconds(), measured.flux.Seconds(), measured.ours.Seconds(), measured.ready.Seconds())
	}
}

// figure is how long a page took.
type figure struct {
	flux  time.Duration // from push until the artifact's revision is new
	ours  time.Duration // from there to the first new answer
	ready time.Duration // from there until the view is Ready
}

// commitAPage commits a page while somebody reads it.
func (f *fixture) commitAPage(repository *flux.Repository, site *viewer.Site, text string) figure {
	f.Helper()
	f.settled("handbook")
	before := f.configMaps("handbook")
	reader := site.Reader("/welcome.html")
	f.eventually("a second of reading", func() string { return atLeast(reader, 10) })

	pushed := time.Now()
	revision := f.push(repository, "handbook", map[string]string{"docs/welcome.md": "# Welcome\n\n" + text + "\n"})
	f.fetched("handbook", revision)
	fetched := time.Now()
	f.readyAt("handbook", revision)
	ready := time.Now()
	seen := reader.Count()
	f.eventually("ten more seconds of reading", func() string { return atLeast(reader, seen+100) })

	measured := figure{flux: fetched.Sub(pushed), ready: ready.Sub(fetched)}
	answers := reader.End()
	for _, a := range viewer.Failures(answers) {
		f.Errorf("at %s: %s", a.At.Format(time.StampMilli), a.Failed)
	}
	isNew := func(a viewer.Answer) bool { return strings.Contains(a.Body, text) }
	first := slices.IndexFunc(answers, isNew)
	if first < 0 {
		f.Fatal("nobody was shown the page")
	}
	measured.ours = answers[first].At.Sub(fetched)
	for _, a := range answers {
		if a.At.After(ready) && !isNew(a) {
			f.Errorf("an old page was served %s after the view was Ready", a.At.Sub(ready))
		}
	}
	written := changed(before, f.configMaps("handbook"))
	pages := slices.DeleteFunc(slices.Clone(written), func(name string) bool {
		_, isCopy := generator.CutLast(name, "handbook")
		return isCopy
	})
	if len(pages) != 1 || len(written) > 2 {
		f.Errorf("there were written %v, not one ConfigMap and the copy of what it held", written)
	}
	f.Logf("%d answers, %d failed", len(answers), len(viewer.Failures(answers)))
	return measured
}

func atLeast(r *viewer.Reader, count int) string {
	if got := r.Count(); got < count {
		return fmt.Sprintf("%d of %d answers", got, count)
	}
	return ""
}

// reference is enough text for several ConfigMaps.
func reference() map[string]string {
	files := map[string]string{}
	summary := "# Summary\n\n[Welcome](welcome.md)\n\n- [On call](on-call/rules.md)\n"
	for i := range 25 {
		name := fmt.Sprintf("reference/part-%02d.md", i)
		files["docs/"+name] = "# Part\n\n" + strings.Repeat("A line of the reference.\n", 4000)
		summary += fmt.Sprintf("- [Part %d](%s)\n", i, name)
	}
	files["docs/SUMMARY.md"] = summary
	return files
}

// changed are the names whose versions differ.
func changed(before, after map[string]string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	return names
}

package fluxe2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/product"
)

// TestACommitRollsOutOnlyTheViewsWhosePagesChanged has one commit touch the pages of
// few of them.
func TestACommitRollsOutOnlyTheViewsWhosePagesChanged(t *testing.T) {
	const all, touched = 200, 10
	f := newFixture(t)
	repository, err := f.flux.Git.Repository(t.Context(), f.namespace)
	f.must(err)
	files := map[string]string{}
	for i := range all {
		files[fmt.Sprintf("book-%03d/SUMMARY.md", i)] = "- [Start](start.md)\n"
		files[fmt.Sprintf("book-%03d/start.md", i)] = fmt.Sprintf("# Book %d\n", i)
	}
	f.must(repository.Write(files))
	first, err := repository.Push(t.Context(), "Write the books")
	f.must(err)
	f.gitRepository("books", repository)
	for i := range all {
		f.sourceView(fmt.Sprintf("book-%03d", i), "books", fmt.Sprintf("book-%03d", i))
	}
	f.allAt(all, first)
	if asked := f.flux.Artifacts.Asked("/" + f.namespace + "/"); asked != 1 {
		t.Errorf("200 views have the artifact fetched %d times, not once", asked)
	}

	f.CaughtUp()
	since := f.mark()
	files = map[string]string{}
	for i := range touched {
		files[fmt.Sprintf("book-%03d/start.md", i)] = fmt.Sprintf("# Book %d, second edition\n", i)
	}
	began := time.Now()
	second := f.push(repository, "books", files)
	f.fetched("books", second)
	fetched := time.Now()
	f.allAt(all, second)
	done := time.Now()

	if asked := f.flux.Artifacts.Asked("/" + f.namespace + "/"); asked != 2 {
		t.Errorf("the new artifact was fetched %d times, not once", asked-1)
	}
	for i := range all {
		want := int64(1)
		if i < touched {
			want = 2
		}
		if generation := f.deployment(fmt.Sprintf("book-%03d", i)).Generation; generation != want {
			t.Errorf("book %d is at its Deployment's generation %d, not %d", i, generation, want)
		}
	}
	writes := f.requests(since, cluster.By(product.User), cluster.Writes, cluster.Not(cluster.Events))
	children := slices.DeleteFunc(slices.Clone(writes), func(r cluster.Request) bool { return r.Subresource == "status" })
	for _, r := range children {
		var book int
		name := strings.TrimSuffix(r.Name, ".last") // the copy of what was served
		if _, err := fmt.Sscanf(name[len(name)-3:], "%d", &book); err != nil || book >= touched {
			t.Errorf("a child was written of a view whose pages didn't change: %s", r)
		}
	}
	t.Logf("%d views, %d touched: %d download, %d writes to children, %d of statuses; Flux took %.1fs, all views another %.1fs",
		all, touched, f.flux.Artifacts.Asked("/"+f.namespace+"/")-1, len(children), len(writes)-len(children), fetched.Sub(began).Seconds(), done.Sub(fetched).Seconds())
	if len(children) != 3*touched {
		t.Errorf("%d writes to children, not a ConfigMap, its copy and a Deployment of each of the %d:\n%s", len(children), touched, lines(children))
	}
}

// allAt waits until all books are Ready at a revision.
func (f *fixture) allAt(count int, revision string) {
	f.Helper()
	for i := range count {
		f.readyAt(fmt.Sprintf("book-%03d", i), revision)
	}
}

package generator

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
)

func TestMemoryLimit(t *testing.T) {
	const mi = 1 << 20
	tests := map[string]struct{ estimate, want int64 }{ // MiB
		"hardly anything":             {14, 64},
		"the most that takes no more": {53, 64},
		"somewhat more":               {54, 80},
		"a book of 1.7 MB":            {330, 400},
		"words that never repeat":     {2400, 2880},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := memoryLimit(test.estimate*mi) / mi; got != test.want {
				t.Errorf("limit = %d MiB, want %d", got, test.want)
			}
		})
	}
}

func TestMemoryLimitOnlyGrows(t *testing.T) {
	last := int64(0)
	for estimate := int64(0); estimate < 4<<30; estimate += 12345678 {
		limit := memoryLimit(estimate)
		if limit < last || limit%memoryStep != 0 || limit < estimate {
			t.Fatalf("limit for %d bytes = %d after %d", estimate, limit, last)
		}
		last = limit
	}
}

// withSummary adds a SUMMARY.md where there is none.
func withSummary(pages map[string]string) map[string]string {
	if _, ok := pages["SUMMARY.md"]; ok {
		return pages
	}
	return withPages(pages)
}

// numbers are so many words, none twice.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d ", i)
	}
	return b.String()
}

func TestMemoryOfABook(t *testing.T) {
	const includes = "# A\n\n{{#include part.txt}}\n"
	part := numbers(20_000)
	tests := map[string]struct {
		pages map[string]string
		toml  string
		want  string
	}{
		"one page":                         {map[string]string{"a.md": "# A\n"}, "", "64Mi"},
		"an image":                         {map[string]string{"a.md": "# A\n", "a.png": part}, "", "64Mi"},
		"a file that nobody includes":      {map[string]string{"a.md": "# A\n", "part.txt": part}, "", "64Mi"},
		"a page that is no chapter":        {map[string]string{"a.md": "# A\n", "SUMMARY.md": "- [A](a.md)\n", "b.md": part}, "", "64Mi"},
		"a page":                           {map[string]string{"a.md": "# A\n\n" + part}, "", "112Mi"},
		"a page that includes it":          {map[string]string{"a.md": includes, "part.txt": part}, "", "112Mi"},
		"five pages that include it":       {map[string]string{"a.md": includes, "b.md": includes, "c.md": includes, "d.md": includes, "e.md": includes, "part.txt": part}, "", "192Mi"},
		"an include that isn't expanded":   {map[string]string{"a.md": includes, "part.txt": part}, "build.use-default-preprocessors = false\n", "64Mi"},
		"a page without a search index":    {map[string]string{"a.md": "# A\n\n" + part}, "output.html.search.enable = false\n", "64Mi"},
		"a search index, for all that":     {map[string]string{"a.md": "# A\n\n" + part}, "output.html = {search.enable = false, nonsense = 1}\n", "112Mi"},
		"a script that mdBook has to read": {map[string]string{"a.md": "# A\n", "x.js": strings.Repeat("x", 1_000_000), "y.js": strings.Repeat("x", 1_000_000)}, "", "64Mi"},
		"headings":                         {map[string]string{"a.md": strings.Repeat("## Next part\n\ntext of it\n\n", 20_000)}, "", "288Mi"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := newView("a", withSummary(test.pages))
			view.Spec.BookToml = test.toml
			resources := mustGenerate(t, view).Deployment.Spec.Template.Spec.Containers[0].Resources
			limit, request := (*resources.Limits)["memory"], (*resources.Requests)["memory"]
			if limit.String() != test.want {
				t.Errorf("limit = %s, want %s", limit.String(), test.want)
			}
			if request.Value() != limit.Value()/2 {
				t.Errorf("request = %s of %s", request.String(), limit.String())
			}
			if _, limited := (*resources.Limits)["cpu"]; limited {
				t.Error("there is a CPU limit")
			}
		})
	}
}

func TestSlowBooksGetMoreTime(t *testing.T) {
	pages := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprintf("%d.md", i)] = ""
		}
		return m
	}
	tests := map[string]struct {
		pages map[string]string
		want  bool
	}{
		"a small book":               {pages(3), false},
		"as many pages as is quick":  {pages(slowChapters), false},
		"a page more":                {pages(slowChapters + 1), true},
		"drafts":                     {map[string]string{"SUMMARY.md": "- [A](a.md)\n" + strings.Repeat("- [B]()\n", slowChapters), "a.md": "# A\n"}, true},
		"much text":                  {map[string]string{"a.md": strings.Repeat("x", slowBytes+1)}, true},
		"much text that is included": {map[string]string{"a.md": "{{#include a.txt}}", "a.txt": strings.Repeat("x", slowBytes+1)}, true},
		"a large search index":       {map[string]string{"a.md": numbers(20_000)}, true},
		"a large image":              {map[string]string{"a.md": "", "a.png": strings.Repeat("x", slowBytes+1)}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			container := mustGenerate(t, newView("a", withSummary(test.pages))).Deployment.Spec.Template.Spec.Containers[0]
			if got := container.StartupProbe != nil; got != test.want {
				t.Errorf("startup probe: %t, want %t", got, test.want)
			}
		})
	}
}

func TestABookThatIncludesTooMuchIsRefused(t *testing.T) {
	large := strings.Repeat(strings.Repeat("x", 999)+"\n", 1000)
	tests := map[string]struct {
		pages map[string]string
		want  string
	}{
		"a file that includes itself ten times": {map[string]string{"a.md": strings.Repeat("{{#include a.md}}\n", 10) + strings.Repeat("x", 1000)}, "a.md: the chapters include more than 100000 files"},
		"many includes of a large file":         {map[string]string{"a.md": strings.Repeat("{{#include a.txt}}\n", 40), "a.txt": large}, "a.md: with what they include, the chapters have more than 32 MiB"},
		"the same in many chapters":             {map[string]string{"a.md": strings.Repeat("{{#include a.txt}}\n", 20), "b.md": "{{#include a.md}}\n", "a.txt": large}, "a.md: with what they include, the chapters have more than 32 MiB"},
		"many includes of a line of it":         {map[string]string{"a.md": strings.Repeat("{{#include a.txt:1}}\n", 600), "a.txt": large}, "a.md: the chapters include files of more than 512 MiB together"},
		"many includes of nothing":              {map[string]string{"a.md": strings.Repeat("{{#include a.txt}}\n", 5), "a.txt": strings.Repeat("{{#include b.txt}}\n", 50_000), "b.txt": ""}, "a.md: the chapters include more than 100000 files"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Generate(newView("a", withPages(test.pages)), nil)
			invalid, ok := errors.AsType[*InvalidError](err)
			want := "spec.markdowns: " + test.want + ", this one most of all: include less, or split the book into several views"
			if !ok || len(invalid.Problems) != 1 || invalid.Problems[0].String() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestABookThatTakesMuchMemoryIsWarnedOf(t *testing.T) {
	pages := map[string][]byte{"SUMMARY.md": []byte("- [A](a.md)\n"), "a.md": []byte(numbers(100_000))}
	for i := range 26 {
		page := fmt.Sprintf("%d.md", i)
		pages["SUMMARY.md"] = fmt.Appendf(pages["SUMMARY.md"], "- [P](%s)\n", page)
		pages[page] = []byte("{{#include a.md}}\n")
	}
	fromDirectory := newView("a", nil)
	fromDirectory.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "x"}}}
	output, err := Generate(fromDirectory, []Content{{Field: "x", Book: book.Book{Pages: pages}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(output.Warnings) != 1 || !strings.Contains(output.Warnings[0].Message, "[output.html.search]") {
		t.Errorf("got %v", output.Warnings)
	}
}

package summary

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// justified are the faults that this package finds and mdBook doesn't: what it
// would build has no front page, loses a page, is written outside of the site,
// or isn't what the author means.
var justified = []string{
	"the book has no front page",
	"a file can be one chapter only", // by another path
	"outside the book's src folder",
	`list item "-"`, // empty, right after a link definition: text to mdBook
}

// TestAgainstMDBook lets a real mdBook build books, and compares what it makes
// of each with what this package says. MDBOOK names the program, MDBOOK_BOOKS the
// number of random SUMMARY.md.
func TestAgainstMDBook(t *testing.T) {
	program := os.Getenv("MDBOOK")
	if program == "" {
		t.Skip("MDBOOK names no mdbook program")
	}
	count, _ := strconv.Atoi(cmp.Or(os.Getenv("MDBOOK_BOOKS"), "300"))
	seed, _ := strconv.Atoi(os.Getenv("MDBOOK_SEED"))
	r := rand.New(rand.NewPCG(uint64(seed), 2))
	texts := slices.Clone(handmade)
	for i := range count {
		text := randomSummary(r)
		if i%3 == 0 {
			text = mutate(r, text)
		}
		texts = append(texts, text)
	}

	work := make(chan string)
	var results [3]int // built by both, refused by both, refused here only
	var mutex sync.Mutex
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			book := newTestBook(t, program)
			for text := range work {
				result, diff := book.compare(text)
				mutex.Lock()
				if diff != "" {
					t.Errorf("%q:\n%s", text, diff)
				} else {
					results[result]++
				}
				mutex.Unlock()
			}
		})
	}
	for _, text := range texts {
		work <- text
	}
	close(work)
	group.Wait()
	t.Logf("of %d books %d are built by both, %d refused by both, %d refused here for a reason that mdBook doesn't know",
		len(texts), results[0], results[1], results[2])
}

// handmade are faults that chance rarely makes.
var handmade = []string{
	"", "# S\n", "[A]()\n", "text\n", "- [A](a.md)\n", "- [A](print.md)\n", "- [A](./print.md)\n", "- [A](d/print.md)\n",
	"- [A](clash.md)\n", "- [A](image.png)\n", "- [A](d)\n", "- [A](d/)\n", "- [A](a.md/)\n", "- [A](nope/../a.md)\n", "- [A](d/../a.md)\n",
	"- [A](a.md/../b.md)\n", "- [A](../outside.md)\n", "- [A](../src/a.md)\n", "- [A](/a.md)\n", "- [A](https://example.com/a.md)\n",
	"- [A](a.md#x)\n", "- [A](a.md?x)\n", "- [A](A.md)\n", "- [A](%61.md)\n", "- [A](%C3%A9.md)\n", "- [A](é.md)\n", "- [A](d/f%20g.md)\n",
	"- [A](a.md)\n- [B](./a.md)\n", "- [A](a.md)\n- [B](a.md)\n", "- [A](README.md)\n- [B](d/README.md)\n", "- [A](z.txt)\n", "- [A](SUMMARY.md)\n",
	"- [A](d//e.md)\n- [B](d/./e.md)\n", "- [A](.)\n", "- [A](..)\n", "- [A](d/..)\n", "- [A](<>)\n", "- [A](%20)\n", "- [A](.md)\n", "- [A](noext)\n",
}

// testBook is a folder with a book whose SUMMARY.md changes.
type testBook struct {
	program, dir string
	files        map[string][]byte
}

func newTestBook(t *testing.T, program string) *testBook {
	b := &testBook{program: program, dir: t.TempDir(), files: pages("src/a.md", "src/b.md", "src/c.md", "src/d/e.md", "src/d/f g.md", "src/h&i.md",
		"src/README.md", "src/d/README.md", "src/z.txt", "src/print.md", "src/d/print.md", "src/clash.md", "src/clash.html/x.txt", "src/é.md", "src/.md",
		"src/noext", "outside.md")}
	b.files["src/image.png"] = []byte("\x89PNG")
	b.files["book.toml"] = []byte("[output.html]\nsearch.enable = false\nprint.enable = false\n")
	for name, content := range b.files {
		b.write(t, name, content)
	}
	return b
}

func (b *testBook) write(t *testing.T, name string, content []byte) {
	file := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

// compare builds the book with a SUMMARY.md. It returns an index of results, or
// how the two disagree.
func (b *testBook) compare(text string) (result int, diff string) {
	if err := os.WriteFile(filepath.Join(b.dir, "src", FileName), []byte(text), 0o666); err != nil {
		return 0, err.Error()
	}
	b.files["src/"+FileName] = []byte(text)
	s, err := Load(b.files, "src")

	site, output, failed := b.build()
	switch {
	case failed != nil && err == nil:
		return 0, fmt.Sprintf("accepted, but mdBook fails: %s", output)
	case failed != nil:
		return 1, ""
	case err != nil:
		if fault := unjustified(err); fault != nil {
			return 0, fmt.Sprintf("refused, but mdBook builds it: %v", fault)
		}
		return 2, ""
	}
	want := map[string]bool{"index.html": true}
	for c := range s.Chapters() {
		if !c.Draft() {
			want[c.HTML()] = true
		}
	}
	diff = gocmp.Diff(slices.Sorted(maps.Keys(want)), site)
	toc, err := os.ReadFile(filepath.Join(b.dir, "book", "toc.html"))
	if err != nil {
		return 0, err.Error()
	}
	return 0, diff + gocmp.Diff(contents(s), mdBookContents(string(toc)))
}

// unjustified returns a fault without a reason, in a line that has no justified
// one. A pitfall can change how all of the file is read.
func unjustified(err error) *diagnostic.Problem {
	errs := diagnostic.FromError(err)
	lines := map[int]bool{}
	for _, fault := range errs {
		if strings.Contains(fault.Message, "mdBook takes") {
			return nil
		}
		lines[fault.Line] = lines[fault.Line] ||
			slices.ContainsFunc(justified, func(reason string) bool { return strings.Contains(fault.Message, reason) })
	}
	for _, fault := range errs {
		if !lines[fault.Line] {
			return &fault
		}
	}
	return nil
}

// build returns the pages of the site.
func (b *testBook) build() (pages []string, output []byte, failed error) {
	site := filepath.Join(b.dir, "book")
	for _, old := range []string{site, filepath.Join(b.dir, "src", "a.html")} { // where ../src/a.md is written to
		if err := os.RemoveAll(old); err != nil {
			return nil, nil, err
		}
	}
	command := exec.CommandContext(context.Background(), b.program, "build", b.dir)
	command.Env = append(os.Environ(), "MDBOOK_BUILD__CREATE_MISSING=false")
	if output, err := command.CombinedOutput(); err != nil {
		return nil, output, err
	}
	err := filepath.WalkDir(site, func(file string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(site, file)
		if err == nil && !entry.IsDir() && filepath.Ext(name) == ".html" && name != "toc.html" && name != "404.html" {
			pages = append(pages, filepath.ToSlash(name))
		}
		return err
	})
	slices.Sort(pages)
	return pages, nil, err
}

// contents is the table of contents, a line for each item.
func contents(s *Summary) []string {
	var list []string
	var chapter func(c *Chapter, number string)
	chapter = func(c *Chapter, number string) {
		list = append(list, fmt.Sprintf("%s %s <%s>", number, squeeze(c.Name), c.HTML()))
		for i, nested := range c.Nested {
			chapter(nested, fmt.Sprintf("%s%d.", number, i+1))
		}
	}
	items := func(items []Item, numbered bool) {
		n := 0
		for _, item := range items {
			switch item.Kind {
			case Separator:
				list = append(list, "---")
			case PartTitle:
				list = append(list, "# "+squeeze(item.Title))
			case Link:
				number := ""
				if n++; numbered {
					number = fmt.Sprintf("%d.", n)
				}
				chapter(item.Chapter, number)
			}
		}
	}
	items(s.Prefix, false)
	items(s.Numbered, true)
	items(s.Suffix, false)
	return list
}

var tocItem = regexp.MustCompile(`<li class="(spacer)">|<li class="part-title">([^<]*)</li>|` +
	`<span class="chapter-link-wrapper">(?:<a href="([^"]*)"[^>]*>|<span>)(?:<strong aria-hidden="true">([0-9.]*)</strong> )?([^<]*)<`)

// mdBookContents reads the same from mdBook's toc.html.
func mdBookContents(toc string) []string {
	var list []string
	for _, m := range tocItem.FindAllStringSubmatch(toc, -1) {
		switch {
		case m[1] != "":
			list = append(list, "---")
		case strings.HasPrefix(m[0], `<li class="part`):
			list = append(list, "# "+squeeze(html.UnescapeString(m[2])))
		default:
			page := m[3]
			if page != "" {
				page = filepath.ToSlash(filepath.Clean(html.UnescapeString(page)))
			}
			list = append(list, fmt.Sprintf("%s %s <%s>", m[4], squeeze(html.UnescapeString(m[5])), page))
		}
	}
	return list
}

// squeeze evens out white space: pulldown_cmark keeps the indent of a line in a
// code span.
func squeeze(s string) string {
	return strings.Join(strings.Fields(s), " ")
}

package e2e

import (
	"cmp"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zoetrope/markdown-view/generator/summary"
)

// plain replaces the books' own configuration, which names preprocessors that
// only their authors have.
const plain = "[book]\ntitle = \"Handbook\"\n"

// handbook is the example with nested folders, an image and a Japanese name.
const handbook = "../../examples/folder/base/pages"

func TestEveryPageOfABookIsServed(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]string{
		"the handbook among the examples": handbook,
		"the Cluster API book":            books() + "/cluster-api-book/src",
		"mdBook's own guide":              books() + "/mdbook-guide/src",
	} {
		t.Run("rendered by the function: "+name, func(t *testing.T) {
			f := newBookFixture(t, folder)
			f.applyBook(folder)
			f.servesBook(folder)
		})
	}
	t.Run("applied by the controller: mdBook's own guide", func(t *testing.T) {
		folder := books() + "/mdbook-guide/src"
		f := newBookFixture(t, folder)
		view := f.view("docs", nil)
		view.Spec.Markdowns = textFiles(t, folder)
		view.Spec.Markdowns["障害/対応 手順.md"] = "# 障害対応\n"
		view.Spec.Markdowns["SUMMARY.md"] += "\n[障害対応](障害/対応%20手順.md)\n"
		view.Spec.BookToml = plain
		f.create(view)
		f.ready()
		f.site().Shows("/障害/対応 手順.html", "障害対応")
		f.servesChapters(view.Spec.Markdowns["SUMMARY.md"])
		f.publishesNothingOfTheMount()
	})
}

func TestAFlatBookPublishesNothingOfItsMount(t *testing.T) {
	f := newFixture(t)
	f.serve("", tutorial)
	f.publishesNothingOfTheMount()
}

// books is the folder of the large books that the tests read.
func books() string { return cmp.Or(os.Getenv("E2E_BOOKS"), "../../../shared/books") }

func newBookFixture(t *testing.T, folder string) *fixture {
	t.Helper()
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("%v; E2E_BOOKS names the folder with cluster-api-book and mdbook-guide", err)
	}
	return newFixture(t)
}

// applyBook applies what the function makes of a folder, as the view docs.
func (f *fixture) applyBook(folder string) {
	f.Helper()
	manifest := "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata:\n  name: docs\nspec:\n" +
		"  contentFrom:\n  - directory: {path: " + filepath.Base(folder) + "}\n  bookToml: |\n    " +
		strings.ReplaceAll(strings.TrimSpace(plain), "\n", "\n    ") + "\n"
	objects, err := function(f.Context(), filepath.Dir(folder), manifest)
	if err != nil {
		f.Fatal(err)
	}
	f.kubectlWith(objects, "apply", "--server-side", "-f", "-")
	f.kubectl("rollout", "status", "deployment/viewer-docs", "--timeout=3m")
}

func (f *fixture) servesBook(folder string) {
	f.Helper()
	content, err := os.ReadFile(filepath.Join(folder, summary.FileName))
	if err != nil {
		f.Fatal(err)
	}
	f.servesChapters(string(content))
	site, count := f.site(), 0
	for _, file := range files(f.T, folder) {
		if path.Ext(file) == ".md" {
			continue
		}
		count++
		want, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			f.Fatal(err)
		}
		if status, got, err := site.Ask(f.Context(), escape(file)); err != nil || status != http.StatusOK || got != string(want) {
			f.Errorf("%s: status %d, %v, %d bytes of %d", file, status, err, len(got), len(want))
		}
	}
	f.Logf("%d files that aren't Markdown are served as they are", count)
	f.publishesNothingOfTheMount()
}

// servesChapters asks for every chapter of a SUMMARY.md.
func (f *fixture) servesChapters(text string) {
	f.Helper()
	book, err := summary.Parse([]byte(text))
	if err != nil {
		f.Fatal(err)
	}
	site, count := f.site(), 0
	site.Page("/")
	for chapter := range book.Chapters() {
		if chapter.Draft() {
			continue
		}
		count++
		if status, _, err := site.Ask(f.Context(), escape(chapter.HTML())); err != nil || status != http.StatusOK {
			f.Errorf("%s: status %d, %v", chapter.HTML(), status, err)
		}
	}
	if count == 0 {
		f.Error("the book has no chapter")
	}
	f.Logf("%d chapters are served", count)
}

// publishesNothingOfTheMount looks through the site in the pod for what a
// mounted ConfigMap has beside its files.
func (f *fixture) publishesNothingOfTheMount() {
	f.Helper()
	site := f.kubectl("exec", "deployment/viewer-docs", "--", "sh", "-c", `find "$MDBOOK_BUILD__BUILD_DIR" -type f`)
	if !strings.Contains(site, "/index.html") {
		f.Errorf("the site has no index.html:\n%s", site)
	}
	for line := range strings.Lines(site) {
		if file := strings.TrimSpace(line); strings.Contains(file, "/..") || strings.Contains(file, "revision") {
			f.Errorf("the site holds %s of the mount", file)
		}
	}
}

// files lists those below a folder, as the function takes them.
func files(t *testing.T, folder string) []string {
	t.Helper()
	var list []string
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func textFiles(t *testing.T, folder string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, file := range files(t, folder) {
		content, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		if utf8.Valid(content) {
			texts[file] = string(content)
		}
	}
	return texts
}

// escape makes a path of a URL's.
func escape(file string) string {
	return (&url.URL{Path: file}).EscapedPath()
}

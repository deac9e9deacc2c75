package examples

import (
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/zoetrope/markdown-view/internal/schematest"
)

// thisDocumentation is the example whose commands run in the root of the source tree.
const thisDocumentation = "this-documentation"

func TestTheDocumentationIsServedAsItIs(t *testing.T) {
	fn := exec.CommandContext(t.Context(), filepath.Join(programs, "fn"), "examples/this-documentation/markdownview.yaml")
	fn.Dir = repository
	got := resultOf(t, fn)
	if got.failed || got.stderr != "" {
		t.Fatalf("fn failed: %t, and says:\n%s", got.failed, got.stderr)
	}
	if err := schematest.Validate([]byte(got.stdout)); err != nil {
		t.Errorf("the output isn't valid: %v", err)
	}
	want := map[string]string{}
	err := fs.WalkDir(os.DirFS(repository), "docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			want["/book/"+name] = textOf(t, repository, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	objects := parse(t, got.stdout)
	if diff := cmp.Diff(want, objects.book(t, objects.deployments[0])); diff != "" {
		t.Errorf("the book in the viewer's container (-want +got):\n%s", diff)
	}
}

// TestTheDocumentationIsABook builds it as `make docs` does.
func TestTheDocumentationIsABook(t *testing.T) {
	mdbook := os.Getenv("MDBOOK")
	if mdbook == "" {
		t.Skip("MDBOOK names no mdBook")
	}
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), mdbook, "build", "--dest-dir", folder, filepath.Join(repository, "docs"))
	build.Env = append(os.Environ(), "MDBOOK_LOG=warn")
	if got := resultOf(t, build); got.failed || got.stdout+got.stderr != "" {
		t.Errorf("mdbook failed: %t, and says:\n%s", got.failed, got.stdout+got.stderr)
	}
	site := readSite(t, folder)
	chapters, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, chapter := range chapters {
		switch name := filepath.Base(chapter); name {
		case "SUMMARY.md", "README.md":
		default:
			if site[strings.TrimSuffix(name, ".md")+".html"] == nil {
				t.Errorf("docs/%s isn't a chapter: list it in docs/SUMMARY.md", name)
			}
		}
	}
	links := 0
	for name, page := range site {
		for _, link := range page.links {
			links++
			if fault := site.fault(name, link); fault != "" {
				t.Errorf("%s: link to %s: %s", name, link, fault)
			}
		}
	}
	if links == 0 {
		t.Error("no link was found in the book")
	}
}

// site are the files that mdBook has written, by their paths.
type site map[string]*sitePage

// sitePage is what a page links to and what it can be linked by. Other files have
// neither.
type sitePage struct {
	links []string
	ids   map[string]bool
}

func readSite(t *testing.T, folder string) site {
	t.Helper()
	s := site{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		page := &sitePage{ids: map[string]bool{}}
		s[name] = page
		if path.Ext(name) != ".html" {
			return nil
		}
		file, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it was only read
		root, err := html.Parse(file)
		if err != nil {
			return err
		}
		for n := range root.Descendants() {
			page.add(n.Attr)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *sitePage) add(attributes []html.Attribute) {
	for _, attribute := range attributes {
		switch attribute.Key {
		case "href", "src":
			p.links = append(p.links, attribute.Val)
		case "id", "name":
			p.ids[attribute.Val] = true
		}
	}
}

// fault says what a link of a page lacks.
func (s site) fault(from, link string) string {
	if name, ok := inTree(link); ok {
		name, _, _ = strings.Cut(name, "#")
		if _, err := os.Stat(filepath.Join(repository, filepath.FromSlash(name))); err != nil {
			return err.Error()
		}
		return ""
	}
	address, err := url.Parse(link)
	if err != nil {
		return err.Error()
	}
	if address.Scheme != "" {
		return ""
	}
	name := from
	if address.Path != "" {
		name = path.Join(path.Dir(from), address.Path)
	}
	if address.Path == "/" { // the base of the page for unknown addresses
		name = "index.html"
	}
	switch page := s[name]; {
	case page == nil:
		return "the book has no such file"
	case address.Fragment != "" && !page.ids[address.Fragment]:
		return "the page has no such anchor"
	}
	return ""
}

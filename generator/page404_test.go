package generator

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// mdBook writes the page for unknown addresses relative to the site as it is to the
// source folder. In the pod nothing outside of the site can be written.
func TestPage404OutsideOfTheSourceFolder(t *testing.T) {
	b := fatalBook{toml: "output.html.input-404 = '../errors/404.md'", files: map[string]string{"errors/404.md": ""}}
	view := newView("a", nil)
	view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
	want := []string{"book.toml: output.html.input-404 names ../errors/404.md, which is outside of the source folder, so that mdBook would write it outside of the site, " +
		"where the pod lets it write nothing: move it into the source folder"}
	if diff := cmp.Diff(want, faultsOf(t, view, Content{Field: "spec.contentFrom[0].directory", Book: b.book()})); diff != "" {
		t.Error(diff)
	}

	program := os.Getenv("MDBOOK")
	if program == "" {
		t.Skip("MDBOOK names no mdbook program")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"src/SUMMARY.md": "- [A](a.md)", "src/a.md": "", "errors/404.md": "", "book.toml": b.toml} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if output, err := exec.CommandContext(t.Context(), program, "build", dir, "--dest-dir", filepath.Join(dir, "out", "site")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if _, err := os.Stat(filepath.Join(dir, "out", "errors", "404.html")); err != nil {
		t.Error(err)
	}
}

func TestPage404OfAFlatBook(t *testing.T) {
	view := newView("a", nil)
	view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
	content := fromFolder(map[string]string{"SUMMARY.md": "- [A](a.md)", "a.md": "", "404.md": "\xff"}, nil, "")
	want := []string{folder + "404.md: is not UTF-8 text, as which mdBook reads this file: save it as UTF-8"}
	if diff := cmp.Diff(want, problemsOf(t, view, content)); diff != "" {
		t.Error(diff)
	}
}

package generator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
)

func TestIncludedFilesAreTakenForNothingElse(t *testing.T) {
	folder := func(page, file, text string) book.Book {
		return book.Book{Pages: map[string][]byte{page: []byte("{{#include ../" + file + "}}\n")}, Files: map[string][]byte{file: []byte(text)}, Included: []string{file}}
	}
	project := func(page, file, text string) book.Book {
		b := folder(page, file, text)
		if file != "inc/i.txt" {
			b.Included = nil
		}
		b.Toml = []byte("[output.html]\nadditional-css = [\"x.css\"]\n")
		b.Files["x.css"] = []byte("/* " + page + " */")
		return b
	}
	const (
		config = "b: book.toml: pages include it from beside their folder, where mdBook would take it for the book's configuration: name the folder of the whole project, or move the file"
		part   = "b: theme/head.hbs: pages include it from beside their folder, where mdBook would take it for a part of the book's theme: name the folder of the whole project, or move the file"
		other  = ": inc/i.txt: pages include it by a path by which "
		remedy = " has another file: rename one of them, or make two views of them"
	)
	for name, test := range map[string]struct {
		a, b book.Book
		toml string
		want []string
	}{
		"mdBook's configuration":                 {b: folder("b.md", "book.toml", "[book]"), want: []string{config}},
		"a theme":                                {b: folder("b.md", "theme/head.hbs", "x"), want: []string{part}},
		"a theme in another folder":              {b: folder("b.md", "theme/head.hbs", "x"), toml: "[output.html]\ntheme = \"theme\"", want: []string{part}},
		"what only looks like a theme":           {b: folder("b.md", "theme/notes.txt", "x")},
		"the folder of no theme":                 {b: folder("b.md", "theme/head.hbs", "x"), toml: "[output.html]\ntheme = \"src\""},
		"a project's theme":                      {b: project("b.md", "theme/head.hbs", "x")},
		"two files of one path":                  {a: folder("a.md", "inc/i.txt", "a"), b: folder("b.md", "inc/i.txt", "b"), want: []string{"a" + other + "b" + remedy, "b" + other + "a" + remedy}},
		"two projects' files of one path":        {a: project("a.md", "inc/i.txt", "a"), b: project("b.md", "inc/i.txt", "b"), want: []string{"a" + other + "b" + remedy, "b" + other + "a" + remedy}},
		"the same file twice":                    {a: folder("a.md", "inc/i.txt", "a"), b: folder("b.md", "inc/i.txt", "a")},
		"a theme that takes another one's place": {a: project("a.md", "theme/head.hbs", "a"), b: project("b.md", "theme/head.hbs", "b")},
	} {
		t.Run(name, func(t *testing.T) {
			view := &v1.MarkdownView{Spec: v1.MarkdownViewSpec{BookToml: test.toml, Markdowns: map[string]string{"SUMMARY.md": "- [A](a.md)\n- [B](b.md)\n", "a.md": ""}}}
			view.Name = "docs"
			contents := []Content{{Field: "a", Book: test.a}, {Field: "b", Book: test.b}}
			if diff := cmp.Diff(test.want, problemsOf(t, view, contents...)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

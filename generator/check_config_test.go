package generator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestBadConfig(t *testing.T) {
	tests := map[string]struct {
		toml  string
		files map[string]string
		want  []string
	}{
		"what isn't TOML": {
			toml: "[book]\ntitle = Handbook\n",
			want: []string{"book.toml:2: column 9: unexpected character U+0048 'H' at start of value"},
		},
		"a source folder that is outside of everything": {
			toml: "[book]\nsrc = '/x'\n",
			want: []string{`book.toml:2: column 1: book.src is "/x", which is outside of the book's folder: the viewer has only what is inside, so move it there`},
		},
		"files beside the root that are missing": {
			toml:  "[output.html]\nadditional-css = ['../a.css', '../b.css']\ntheme = '../theme'\ninput-404 = '../../404.md'\n",
			files: map[string]string{"../a.css": ""},
			want: []string{
				"book.toml: output.html.additional-css names ../b.css, which isn't below the working directory, or in the artifact, that the book is taken from: add it, or drop it from the list",
				"book.toml: output.html.input-404 names ../../404.md, which isn't in the source folder: add it, or drop the key",
				"book.toml: output.html.theme names the folder ../theme, which isn't below the working directory, or in the artifact, that the book is taken from: add it, or drop the key",
			},
		},
		"paths through folders that are missing": {
			toml:  "[output.html]\nadditional-css = ['gone/../a.css', 'src/../a.css']\ninput-404 = 'gone/../x.md'\n",
			files: map[string]string{"a.css": ""},
			want: []string{
				`book.toml: the path "gone/../a.css" leads through the folder gone, which isn't in the book: drop it from the path`,
				`book.toml: the path "src/gone/../x.md" leads through the folder src/gone, which isn't in the book: drop it from the path`,
			},
		},
		"files beside the root that are there": {
			toml:  "[output.html]\nadditional-css = ['../a.css']\ntheme = '../theme'\ninput-404 = '../../404.md'\n",
			files: map[string]string{"../a.css": "", "../theme/head.hbs": "", "../404.md": ""},
		},
		"a key that mdBook doesn't know": {
			toml: "[book]\ncolour = 1\n",
			want: []string{"book.toml:2: mdBook 0.5 doesn't know the key book.colour; it doesn't start: remove it, or set spec.viewerImage to an mdBook that knows it"},
		},
		"no site": {
			toml: "[output.markdown]\n",
			want: []string{"book.toml: [output] names no html, so there would be no site to serve: add a table [output.html]"},
		},
		"a style sheet that is missing": {
			toml:  "[output.html]\nadditional-css = ['a.css', 'src/x.css', 'b.css']\nadditional-js = ['a.js']\n",
			files: map[string]string{"a.css": ""},
			want: []string{
				"book.toml: output.html.additional-css names b.css, which isn't in the book: add it, or drop it from the list",
				"book.toml: output.html.additional-js names a.js, which isn't in the book: add it, or drop it from the list",
			},
		},
		"a theme that is missing": {
			toml: "[output.html]\ntheme = 'my-theme'\n",
			want: []string{"book.toml: output.html.theme names the folder my-theme, which isn't in the book: add it, or drop the key"},
		},
		"a theme that is there": {
			toml:  "[output.html]\ntheme = 'my-theme'\n",
			files: map[string]string{"my-theme/head.hbs": ""},
		},
		"a page for unknown addresses that is missing": {
			toml: "[output.html]\ninput-404 = 'lost.md'\n",
			want: []string{"book.toml: output.html.input-404 names lost.md, which isn't in the source folder: add it, or drop the key"},
		},
		"a page for unknown addresses that is there, in a source folder that is the root": {
			toml: "[book]\nsrc = '.'\n[output.html]\ninput-404 = 'x.md'\n",
		},
		"a page for unknown addresses that is there": {
			toml: "[output.html]\ninput-404 = 'x.md'\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := newView("a", nil)
			view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
			content := fromFolder(map[string]string{"SUMMARY.md": "- [X](x.md)\n", "x.md": "", "x.css": ""}, test.files, test.toml)
			want := mapped(test.want, func(s string) string { return folder + s })
			if diff := cmp.Diff(want, problemsOf(t, view, content)); diff != "" {
				t.Error(diff)
			}

			view.Spec.BookToml, content.Book.Toml = test.toml, nil
			want = mapped(test.want, func(s string) string { return "spec.bookToml: " + s })
			if diff := cmp.Diff(want, problemsOf(t, view, content)); diff != "" {
				t.Errorf("as bookToml: %s", diff)
			}
		})
	}
}

func TestOnlyAProjectHasPagesBesideItsRoot(t *testing.T) {
	const toml = "[book]\nsrc = '../x'\n"
	view := newView("a", withPages(map[string]string{"a.md": ""}))
	view.Spec.BookToml = toml
	want := []string{`spec.bookToml: book.toml: book.src is "../x", which is outside of the book's folder: only an mdBook project can have its pages there`}
	if diff := cmp.Diff(want, problemsOf(t, view)); diff != "" {
		t.Error(diff)
	}

	view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
	mustGenerate(t, view, fromFolder(nil, nil, "[book]\n"))
}

func TestConfigWarnings(t *testing.T) {
	lacks := func(table, program string) string {
		return "[" + table + "] needs the program " + program + ", which the image peaceiris/mdbook:v0.5.4 lacks, so that mdBook fails: " +
			"drop the table, add optional = true, or set viewerImage to an image that has it"
	}
	tests := map[string]struct {
		toml, image string
		want        []string
	}{
		"programs that the image has": {
			toml: "[preprocessor.mermaid]\n[preprocessor.toc]\ncommand = 'mdbook-toc --flag'\n[preprocessor.links]\n",
		},
		"programs that the image lacks": {
			toml: "[preprocessor.admonish]\n\n[preprocessor.x]\ncommand = 'python3 -m x'\n[output.html]\n[output.linkcheck]\n",
			want: []string{
				"spec.bookToml: book.toml:1: " + lacks("preprocessor.admonish", "mdbook-admonish"),
				"spec.bookToml: book.toml:3: " + lacks("preprocessor.x", "python3"),
				"spec.bookToml: book.toml:6: " + lacks("output.linkcheck", "mdbook-linkcheck"),
			},
		},
		"programs that mdBook can do without": {
			toml: "[preprocessor.admonish]\noptional = true\n",
		},
		"an image that is not known": {
			toml:  "[preprocessor.admonish]\n",
			image: "example.com/mdbook",
		},
		"a key that mdBook doesn't know, where it goes on": {
			toml: "[output.html]\nfavicon = 'x'\n",
			want: []string{"spec.bookToml: book.toml:2: mdBook 0.5 doesn't know the key output.html.favicon; it ignores all of [output.html] then: remove it, or set spec.viewerImage to an mdBook that knows it"},
		},
		"a key that another version may know": {
			toml:  "[book]\ncolour = 1\n",
			image: "example.com/mdbook",
			want:  []string{"spec.bookToml: book.toml:2: mdBook 0.5 doesn't know the key book.colour; it doesn't start: remove it, or set spec.viewerImage to an mdBook that knows it"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := newView("a", withPages(map[string]string{"a.md": ""}))
			view.Spec.BookToml, view.Spec.ViewerImage = test.toml, test.image
			got := mapped(mustGenerate(t, view).Warnings, Problem.String)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

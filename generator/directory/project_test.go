package directory

import (
	"strings"
	"testing"
)

func TestReadProject(t *testing.T) {
	tests := map[string]readTest{
		"pages, theme and additional files come, the rest stays": {
			files: map[string]string{
				"p/book.toml":           "[output.html]\nadditional-css = ['./css/a.css', 'theme/b.css', 'gone.css']\nadditional-js = ['x.js']\n",
				"p/src/SUMMARY.md":      "s",
				"p/src/img/a.svg":       "<svg/>",
				"p/theme/head.hbs":      "h",
				"p/theme/b.css":         "b",
				"p/theme/fonts/f.woff2": "f",
				"p/theme/head.hbs~":     "",
				"p/css/a.css":           "a",
				"p/css/other.css":       "",
				"p/x.js":                "x",
				"p/book/index.html":     "built",
				"p/Cargo.toml":          "",
				"other/src/x.md":        "",
			},
			dir:    "./p",
			pages:  map[string]string{"SUMMARY.md": "s", "img/a.svg": "<svg/>"},
			beside: map[string]string{"css/a.css": "a", "theme/b.css": "b", "theme/head.hbs": "h", "theme/fonts/f.woff2": "f", "x.js": "x"},
			toml:   "[output.html]\nadditional-css = ['./css/a.css', 'theme/b.css', 'gone.css']\nadditional-js = ['x.js']\n",
		},
		"a source folder of another name": {
			files:  map[string]string{"book.toml": "book.src = './docs/en/'", "docs/en/a.md": "a", "docs/de/a.md": "", "src/b.md": ""},
			dir:    ".",
			pages:  map[string]string{"a.md": "a"},
			beside: map[string]string{},
			toml:   "book.src = './docs/en/'",
		},
		"the root as source folder": {
			files: map[string]string{
				"p/book.toml":         "[book]\nsrc = '.'\n[output.html]\nadditional-css = ['css/a.css']",
				"p/SUMMARY.md":        "s",
				"p/css/a.css":         "a",
				"p/css/a.png":         "png",
				"p/theme/head.hbs":    "h",
				"p/book/index.html":   "built",
				"p/guide/book.toml":   "not this book's",
				"p/guide/book/a.html": "not this book's",
			},
			dir:    "p",
			pages:  map[string]string{"SUMMARY.md": "s", "css/a.png": "png", "guide/book.toml": "not this book's", "guide/book/a.html": "not this book's"},
			beside: map[string]string{"css/a.css": "a", "theme/head.hbs": "h"},
			toml:   "[book]\nsrc = '.'\n[output.html]\nadditional-css = ['css/a.css']",
		},
		"the root as source folder and as theme": {
			files:  map[string]string{"book.toml": "book.src = '.'\noutput.html.theme = ''", "SUMMARY.md": "s", "head.hbs": "h"},
			dir:    ".",
			pages:  map[string]string{"SUMMARY.md": "s", "head.hbs": "h"},
			beside: map[string]string{},
			toml:   "book.src = '.'\noutput.html.theme = ''",
		},
		"a build folder among the pages": {
			files:  map[string]string{"book.toml": "build.build-dir = 'src/out'", "src/a.md": "a", "src/out/a.html": "", "book/x": ""},
			dir:    ".",
			pages:  map[string]string{"a.md": "a"},
			beside: map[string]string{},
			toml:   "build.build-dir = 'src/out'",
		},
		"theme and additional files among the pages come once": {
			files: map[string]string{
				"book.toml":          "[output.html]\ntheme = 'src/look'\nadditional-css = ['src/css/a.css']",
				"src/css/a.css":      "a",
				"src/look/index.hbs": "i",
			},
			dir:    ".",
			pages:  map[string]string{"css/a.css": "a", "look/index.hbs": "i"},
			beside: map[string]string{},
			toml:   "[output.html]\ntheme = 'src/look'\nadditional-css = ['src/css/a.css']",
		},
		"a theme that holds the source folder": {
			files:  map[string]string{"book.toml": "output.html.theme = '.'", "src/a.md": "a", "head.hbs": "h", "book/a.html": ""},
			dir:    ".",
			pages:  map[string]string{"a.md": "a"},
			beside: map[string]string{"head.hbs": "h"},
			toml:   "output.html.theme = '.'",
		},
		"the page for unknown addresses, beside the others": {
			files:  map[string]string{"book.toml": "output.html.input-404 = '../err/404.md'", "src/a.md": "a", "err/404.md": "e"},
			dir:    ".",
			pages:  map[string]string{"a.md": "a"},
			beside: map[string]string{"err/404.md": "e"},
			toml:   "output.html.input-404 = '../err/404.md'",
		},
		"the page for unknown addresses, in a source folder that is the root": {
			files:  map[string]string{"book.toml": "book.src = '.'\noutput.html.input-404 = '404.md'", "a.md": "a", "404.md": "e"},
			dir:    ".",
			pages:  map[string]string{"a.md": "a", "404.md": "e"},
			beside: map[string]string{},
			toml:   "book.src = '.'\noutput.html.input-404 = '404.md'",
		},
		"the book's own configuration is no file beside it": {
			files: map[string]string{
				"book.toml": "output.html.additional-js = ['book.toml'] # {{#include x.rs}}", "x.rs": "x",
				"src/a.md": "{{#include ../book.toml}}",
			},
			dir:    ".",
			pages:  map[string]string{"a.md": "{{#include ../book.toml}}"},
			beside: map[string]string{"x.rs": "x"},
			toml:   "output.html.additional-js = ['book.toml'] # {{#include x.rs}}",
		},
		"patterns are relative to the project": {
			files: map[string]string{
				"p/book.toml": "output.html.additional-js = ['x.js']", "p/x.js": "", "p/src/a.md": "a", "p/src/b.md": "", "p/theme/head.hbs": "", "p/src/theme/c.md": "c",
			},
			dir:    "p",
			opts:   Options{Ignore: "/src/b.md\n/theme/\nx.js"},
			pages:  map[string]string{"a.md": "a", "theme/c.md": "c"},
			beside: map[string]string{},
			toml:   "output.html.additional-js = ['x.js']",
		},
		"what pages include from elsewhere in the project": {
			files: map[string]string{
				"p/book.toml":      "",
				"p/src/a.md":       "{{#include ../code/x.rs:2:3}} {{#include ../../../secret}} {{#include ../gone.rs}}\n{{#include /etc/passwd}}",
				"p/src/b/c.md":     "{{#rustdoc_include ../../code/y.rs:anchor}}\n{{#playground ../../code/z.rs}} \\{{#include ../../code/no.rs}}",
				"p/src/b/d.txt":    "{{#include ../../code/not-a-page.rs}}",
				"p/code/x.rs":      "{{#include more/x.rs}} {{#include ../src/snippet.rs}} {{#include x.rs}}",
				"p/code/more/x.rs": "x",
				"p/src/snippet.rs": "{{#include ../code/s.rs}}",
				"p/code/s.rs":      "s",
				"p/code/y.rs":      "y",
				"p/code/z.rs":      "z",
				"p/code/no.rs":     "", "p/code/not-a-page.rs": "", "secret": "",
			},
			dir: "p",
			pages: map[string]string{
				"a.md":       "{{#include ../code/x.rs:2:3}} {{#include ../../../secret}} {{#include ../gone.rs}}\n{{#include /etc/passwd}}",
				"b/c.md":     "{{#rustdoc_include ../../code/y.rs:anchor}}\n{{#playground ../../code/z.rs}} \\{{#include ../../code/no.rs}}",
				"b/d.txt":    "{{#include ../../code/not-a-page.rs}}",
				"snippet.rs": "{{#include ../code/s.rs}}",
			},
			beside: map[string]string{
				"code/x.rs":      "{{#include more/x.rs}} {{#include ../src/snippet.rs}} {{#include x.rs}}",
				"code/more/x.rs": "x", "code/s.rs": "s", "code/y.rs": "y", "code/z.rs": "z",
			},
		},
		"ignored files are not included": {
			files:  map[string]string{"book.toml": "", "src/a.md": "{{#include ../code/x.rs}}{{#include ../.git/config}}{{#include ../code}}", "code/x.rs": "", ".git/config": ""},
			dir:    ".",
			opts:   Options{Ignore: "/code/x.rs"},
			pages:  map[string]string{"a.md": "{{#include ../code/x.rs}}{{#include ../.git/config}}{{#include ../code}}"},
			beside: map[string]string{},
		},
		"without mdBook's own preprocessors nothing is included": {
			files:  map[string]string{"book.toml": "build.use-default-preprocessors = false", "src/a.md": "{{#include ../x.rs}}", "x.rs": ""},
			dir:    ".",
			pages:  map[string]string{"a.md": "{{#include ../x.rs}}"},
			beside: map[string]string{},
			toml:   "build.use-default-preprocessors = false",
		},
		"everything may be a link": {
			files: map[string]string{
				"p/book.toml": "-> ../etc/book.toml", "etc/book.toml": "output.html.additional-js = ['x.js']", "p/src": "-> ../pages", "pages/a.md": "a",
				"p/theme": "-> ../look", "look/head.hbs": "h", "p/x.js": "-> ../y.js", "y.js": "y",
			},
			dir:    "p",
			pages:  map[string]string{"a.md": "a"},
			beside: map[string]string{"theme/head.hbs": "h", "x.js": "y"},
			toml:   "output.html.additional-js = ['x.js']",
		},
		"a book.toml of the view says which files are needed": {
			files: map[string]string{
				"book.toml": "[output.html]\nadditional-css = ['a.css']", "src/a.md": "a", "a.css": "", "b.css": "b", "theme/head.hbs": "", "look/head.hbs": "h",
			},
			dir:    ".",
			opts:   Options{BookToml: []byte("[output.html]\ntheme = 'look'\nadditional-css = ['b.css']")},
			pages:  map[string]string{"a.md": "a"},
			beside: map[string]string{"b.css": "b", "look/head.hbs": "h"},
			toml:   "[output.html]\nadditional-css = ['a.css']",
		},
		"a book.toml of the view says where everything is": {
			files: map[string]string{
				"book.toml": "book.src = 'src/en'", "src/en/a.md": "en", "src/ja/a.md": "ja {{#include ../../x.rs}} {{#include ../../out/y}}", "src/ja/theme/head.hbs": "h",
				"theme/head.hbs": "", "x.rs": "x", "out/y": "", "src/ja/out/z": "",
			},
			dir:    ".",
			opts:   Options{BookToml: []byte("book.src = 'src/ja'\nbuild.build-dir = 'src/ja/out'\noutput.html.theme = 'src/ja/theme'")},
			pages:  map[string]string{"a.md": "ja {{#include ../../x.rs}} {{#include ../../out/y}}", "theme/head.hbs": "h"},
			beside: map[string]string{"x.rs": "x", "out/y": ""},
			toml:   "book.src = 'src/en'",
		},
		"a book.toml of the view that takes the place of a faulty one": {
			files:  map[string]string{"book.toml": "[book", "src/a.md": "a"},
			dir:    ".",
			opts:   Options{BookToml: []byte("[book]")},
			pages:  map[string]string{"a.md": "a"},
			beside: map[string]string{},
			toml:   "[book",
		},
		"a book.toml of the view that is faulty is the view's matter": {
			files:  map[string]string{"book.toml": "", "src/a.md": "a"},
			dir:    ".",
			opts:   Options{BookToml: []byte("[book")},
			pages:  map[string]string{"a.md": "a"},
			beside: map[string]string{},
		},
	}
	for name, test := range tests {
		t.Run(name, test.run)
	}

	t.Run("an empty book.toml isn't a missing one", func(t *testing.T) {
		got, err := Read(tree(map[string]string{"book.toml": "", "src/a.md": ""}), ".", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Toml == nil {
			t.Error("Toml is nil")
		}
	})
}

func TestReadProjectErrors(t *testing.T) {
	tests := map[string]errorTest{
		"a book.toml that isn't TOML": {
			files: map[string]string{"p/book.toml": "[book]\nsrc =\n", "p/src/a.md": ""},
			dir:   "./p",
			want:  "./p/book.toml:2: column 6: unexpected character U+000A at start of value",
		},
		"a book.toml that is too large": {
			files: map[string]string{"p/book.toml": strings.Repeat("#", 256<<10+1), "p/src/a.md": ""},
			dir:   "./p",
			want:  "./p/book.toml: has 262145 bytes, may have at most 262144: keep in it what mdBook reads, or make several books of it",
		},
		"a book.toml that is a link out": {
			files: map[string]string{"p/book.toml": "-> ../../book.toml"},
			dir:   "./p",
			want:  `./p/book.toml: the link p/book.toml to "../../book.toml" leads out of the working directory: put the files themselves there, or ignore the link`,
		},
		"a source folder that is missing": {
			files: map[string]string{"p/book.toml": ""},
			dir:   "./p",
			want:  "./p/src: no such folder: SUMMARY.md and the pages are there, unless book.toml has another one as src in [book]",
		},
		"a source folder that is a file": {
			files: map[string]string{"p/book.toml": "book.src = 'a.md'", "p/a.md": ""},
			dir:   "./p",
			want:  "./p/a.md: is a file, not a folder: book.toml names it as the source folder",
		},
		"a source folder that is ignored": {
			files: map[string]string{"p/book.toml": "book.src = 'x/pages'", "p/x/pages/a.md": ""},
			dir:   "./p",
			opts:  Options{Ignore: "x/"},
			want:  "./p/x/pages: is ignored, but book.toml names it as the source folder",
		},
		"a source folder outside": {
			files: map[string]string{"p/book.toml": "[book]\nsrc = '../../pages'"},
			dir:   "./p",
			want:  "./p: book.toml names the source folder ../../pages, which is outside of the working directory",
		},
		"a source folder beside the project that is missing": {
			files: map[string]string{"p/book.toml": "[book]\nsrc = '../pages'"},
			dir:   "./p",
			want:  "pages: no such folder: book.toml names it as the source folder, where SUMMARY.md is",
		},
		"a source folder of the view's that is missing": {
			files: map[string]string{"p/book.toml": "[book]\nsrc = 'docs'", "p/docs/SUMMARY.md": ""},
			dir:   "./p",
			opts:  Options{BookToml: []byte("[book]\ntitle = 'x'")},
			want:  `./p/src: no such folder: bookToml names it as the source folder, where SUMMARY.md is; the project's own book.toml names docs: add src = "docs" to [book]`,
		},
		"links that lead out, everywhere": {
			files: map[string]string{
				"p/book.toml": "output.html.additional-css = ['a.css']", "p/src/a.md": "-> /etc/passwd", "p/theme": "-> ../../theme", "p/a.css": "-> ../../a.css",
			},
			dir: "./p",
			want: `./p/theme: the link p/theme to "../../theme" leads out of the working directory: put the files themselves there, or ignore the link
./p/a.css: the link p/a.css to "../../a.css" leads out of the working directory: put the files themselves there, or ignore the link
./p/src/a.md: the link p/src/a.md to "/etc/passwd" leads out of the working directory: put the files themselves there, or ignore the link`,
		},
		"a link from the pages to the project": {
			files: map[string]string{"p/book.toml": "", "p/src/up": "-> .."},
			dir:   "./p",
			want:  "./p/src/up: is a link to a folder that it is in itself: remove the link, or ignore it",
		},
		"limits hold for pages and files together": {
			files: map[string]string{"p/book.toml": "", "p/src/a.md": "0123", "p/theme/b.css": "01234"},
			dir:   "./p",
			opts:  Options{Limits: Limits{BookBytes: 8}},
			want:  "./p: its files have 9 bytes together, a book may have at most 8: ignore some, or make several books of it; the largest are theme/b.css (5 bytes), src/a.md (4 bytes)",
		},
		"an include that is a link out": {
			files: map[string]string{"p/book.toml": "", "p/src/a.md": "{{#include ../x.rs}}", "p/x.rs": "-> ../../x.rs"},
			dir:   "./p",
			want:  `./p/x.rs: the link p/x.rs to "../../x.rs" leads out of the working directory: put the files themselves there, or ignore the link`,
		},
		"includes that don't fit": {
			files: map[string]string{"p/book.toml": "", "p/src/a.md": "{{#include ../x}}{{#include ../y}}", "p/x": "0123", "p/y": "0"},
			dir:   "./p",
			opts:  Options{Limits: Limits{BookBytes: 38}},
			want:  "./p/y: can't be read: with it, the files have more than 38 bytes, the most that a book may have: ignore some, or make several books of it",
		},
		"too many includes": {
			files: map[string]string{"p/book.toml": "", "p/src/a.md": "{{#include ../x}}{{#include ../y}}", "p/x": "0123", "p/y": "0"},
			dir:   "./p",
			opts:  Options{Limits: Limits{Files: 2}},
			want:  "./p: holds more than 2 files, the most that a book may have: ignore some, or make several books of it",
		},
		"too many includes to look for": {
			files: map[string]string{"p/book.toml": "", "p/src/a.md": "{{#include ../x}}{{#include ../y}}"},
			dir:   "./p",
			opts:  Options{Limits: Limits{Entries: 2}},
			want:  "./p/src/a.md: with what it includes, more than 2 files and folders are looked for: include less, or make several books of it",
		},
		"an additional file that is too large": {
			files: map[string]string{"p/book.toml": "output.html.additional-js = ['a.js']", "p/src/a.md": "", "p/a.js": "0123"},
			dir:   "./p",
			opts:  Options{Limits: Limits{FileBytes: 3}},
			want:  "./p/a.js: has 4 bytes, a file of a book may have at most 3: make it smaller, or ignore it",
		},
	}
	for name, test := range tests {
		t.Run(name, test.run)
	}
}

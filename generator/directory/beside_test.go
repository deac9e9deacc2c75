package directory

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/book"
)

func TestReadBesideTheRoot(t *testing.T) {
	bytesOf := func(texts map[string]string) map[string][]byte {
		m := map[string][]byte{}
		for p, text := range texts {
			m[p] = []byte(text)
		}
		return m
	}
	tests := map[string]struct {
		files   map[string]string
		dir     string
		opts    Options
		pages   []string // names
		beside  map[string]string
		folders []string
		root    string
	}{
		"what pages include, and what that includes, but nothing else": {
			files: map[string]string{
				"docs/guide/book.toml":  "",
				"docs/guide/src/a.md":   "{{#include ../../../CHANGELOG.md}} {{#rustdoc_include ../../lib.rs:x}} {{#playground ../../../../out.rs}}",
				"CHANGELOG.md":          "{{#include docs/more.md}}",
				"docs/more.md":          "more",
				"docs/lib.rs":           "lib",
				"docs/other.md":         "",
				"docs/guide/Cargo.toml": "",
			},
			dir:     "docs/guide",
			pages:   []string{"a.md"},
			beside:  map[string]string{"../../CHANGELOG.md": "{{#include docs/more.md}}", "../more.md": "more", "../lib.rs": "lib"},
			folders: []string{"../../.."}, // where mdBook is to find nothing, too
			root:    "docs/guide",
		},
		"what chapters include, whatever their ending": {
			files: map[string]string{
				"p/book.toml": "", "p/src/SUMMARY.md": "- [Notes](notes.txt)\n- [Draft]()\n- [Gone](gone.txt)\n- [Guide](./guide/.md)\n",
				"p/src/notes.txt": "{{#include ../x.rs}}", "p/src/guide/.md": "{{#include ../../y.rs}}", "p/src/other.txt": "{{#include ../z.rs}}",
				"p/x.rs": "x", "p/y.rs": "y", "p/z.rs": "z",
			},
			dir:    "p",
			pages:  []string{"SUMMARY.md", "guide/.md", "notes.txt", "other.txt"},
			beside: map[string]string{"x.rs": "x", "y.rs": "y"},
			root:   "p",
		},
		"a way through the project's own folder": {
			files:   map[string]string{"guide/book.toml": "", "guide/src/a.md": "{{#include ../../guide/x.rs}} {{#include ../../guide/src/b.md}}", "guide/src/b.md": "b", "guide/x.rs": "x"},
			dir:     "guide",
			pages:   []string{"a.md", "b.md"},
			beside:  map[string]string{"x.rs": "x"},
			folders: []string{".."},
			root:    "guide",
		},
		"style sheets, scripts, theme and the page for unknown addresses": {
			files: map[string]string{
				"p/book.toml":   "[output.html]\ntheme = '../look'\nadditional-css = ['../ferris.css']\nadditional-js = ['../js/x.js']\ninput-404 = '../../404.md'",
				"p/src/a.md":    "",
				"ferris.css":    "f",
				"js/x.js":       "x",
				"js/y.js":       "",
				"404.md":        "404",
				"look/head.hbs": "h", "look/css/general.css": "g", "look/css/other.css": "", "look/fonts/a.woff2": "w", "look/fonts/deep/a.woff2": "", "look/notes.txt": "",
			},
			dir:   "p",
			pages: []string{"a.md"},
			beside: map[string]string{
				"../ferris.css": "f", "../js/x.js": "x", "../404.md": "404",
				"../look/head.hbs": "h", "../look/css/general.css": "g", "../look/fonts/a.woff2": "w",
			},
			root: "p",
		},
		"a theme that is the whole repository": {
			files:  map[string]string{"p/book.toml": "output.html.theme = '..'", "p/src/a.md": "", "head.hbs": "h", "x.md": "", "p/index.hbs": ""},
			dir:    "p",
			pages:  []string{"a.md"},
			beside: map[string]string{"../head.hbs": "h"},
			root:   "p",
		},
		"a source folder beside the project": {
			files:  map[string]string{"p/book.toml": "book.src = '../text'", "text/a.md": "{{#include ../x.rs}} {{#include ../p/y.rs}}", "x.rs": "x", "p/y.rs": "y"},
			dir:    "p",
			pages:  []string{"a.md"},
			beside: map[string]string{"../x.rs": "x", "y.rs": "y"},
			root:   "p",
		},
		"a source folder that holds the project": {
			files: map[string]string{
				"d/p/book.toml": "book.src = '..'\noutput.html.additional-css = ['x.css']", "d/a.md": "{{#include p/x.css}}", "d/p/x.css": "x", "d/p/y.css": "y", "d/p/book/z.html": "", "d/p/theme/head.hbs": "h", "z": "",
			},
			dir:    "d/p",
			pages:  []string{"a.md", "p/y.css"},
			beside: map[string]string{"x.css": "x", "theme/head.hbs": "h"},
			root:   "d/p",
		},
		"folders that a way leads through": {
			files: map[string]string{
				"p/book.toml": "output.html.additional-css = ['assets/../css/x.css']", "p/assets/logo.png": "", "p/css/x.css": "x",
				"p/src/a.md": "{{#include ../lib/../x.rs}} {{#include ../gone/../y.rs}}", "p/lib/z.rs": "", "p/x.rs": "x", "p/y.rs": "",
			},
			dir:     "p",
			pages:   []string{"a.md"},
			beside:  map[string]string{"css/x.css": "x", "x.rs": "x"},
			folders: []string{"assets", "lib"},
			root:    "p",
		},
		"a link to a folder, and up from there": {
			files: map[string]string{
				"p/book.toml": "", "p/src/a.md": "{{#include ../lib/../x.rs}}", "p/lib": "-> ../deep/lib", "deep/lib/y": "", "deep/x.rs": "{{#include y.rs}}", "p/y.rs": "", "deep/y.rs": "y",
			},
			dir:     "p",
			pages:   []string{"a.md"},
			beside:  map[string]string{"x.rs": "{{#include y.rs}}", "y.rs": "y"},
			folders: []string{"lib"},
			root:    "p",
		},
		"a source folder that is a link": {
			files:  map[string]string{"p/book.toml": "", "p/src": "-> ../text", "text/a.md": "{{#include ../README.md}}", "README.md": "the other", "p/README.md": ""},
			dir:    "p",
			pages:  []string{"a.md"},
			beside: map[string]string{"README.md": "the other"},
			root:   "p",
		},
		"a folder that is only named by a link is itself": {
			files:  map[string]string{"guide": "-> docs/real", "docs/real/book.toml": "", "docs/real/src/a.md": "{{#include ../../x}}", "docs/x": "x", "x": ""},
			dir:    "guide",
			pages:  []string{"a.md"},
			beside: map[string]string{"../x": "x"},
			root:   "docs/real",
		},
		"what is ignored, and git's data, stay behind": {
			files: map[string]string{
				"p/book.toml": "output.html.additional-css = ['../.hidden/x.css']", "p/src/a.md": "{{#include ../../x.rs}} {{#include ../../.git/config}} {{#include ../../y.rs}}",
				"x.rs": "", "y.rs": "y", ".git/config": "", ".hidden/x.css": "",
			},
			dir:    "p",
			opts:   Options{Ignore: ".*\nx.rs\n/y.rs"},
			pages:  []string{"a.md"},
			beside: map[string]string{"../y.rs": "y"},
			root:   "p",
		},
		"pages without a project": {
			files:   map[string]string{"docs/text/a.md": "{{#include ../x.rs}} {{#include ../../y.rs}} {{#include ../../docs/text/b.rs}} {{#include ../../../z.rs}}", "docs/x.rs": "x", "y.rs": "y", "docs/text/b.rs": "b"},
			dir:     "docs/text",
			pages:   []string{"a.md", "b.rs"},
			beside:  map[string]string{"x.rs": "x", "../y.rs": "y", "../docs/text/b.rs": "b"},
			folders: []string{"../.."},
		},
		"pages without a project, in a source folder of another depth": {
			files:  map[string]string{"docs/text/a.md": "{{#include ../x.rs}} {{#include ../../y.rs}}", "docs/x.rs": "x", "y.rs": "y"},
			dir:    "docs/text",
			opts:   Options{BookToml: []byte("book.src = '.'")},
			pages:  []string{"a.md"},
			beside: map[string]string{"../x.rs": "x", "../../y.rs": "y"},
		},
		"pages in the working directory itself": {
			files: map[string]string{"a.md": "{{#include ../x.rs}}"},
			dir:   ".",
			pages: []string{"a.md"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Read(tree(test.files), test.dir, test.opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.pages, slices.Sorted(maps.Keys(got.Pages))); diff != "" {
				t.Errorf("pages: %s", diff)
			}
			want := book.Book{Files: bytesOf(test.beside), Folders: test.folders, Root: test.root, Pages: got.Pages, Toml: got.Toml}
			if len(got.Files) == 0 {
				got.Files = map[string][]byte{}
			}
			// All but what mdBook's configuration names.
			for _, file := range slices.Sorted(maps.Keys(got.Files)) {
				if !slices.Contains([]string{".css", ".js", ".hbs", ".woff2"}, path.Ext(file)) && path.Base(file) != "404.md" {
					want.Included = append(want.Included, file)
				}
			}
			slices.Sort(got.Included)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadBesideTheRootErrors(t *testing.T) {
	tests := map[string]errorTest{
		"two files in one place, because of a link": {
			files: map[string]string{
				"p/book.toml": "", "p/src/a.md": "{{#include ../lib/../x.rs}} {{#include ../x.rs}}", "p/lib": "-> ../deep/lib", "deep/lib/y": "", "deep/x.rs": "1", "p/x.rs": "2",
			},
			dir:  "p",
			want: "p/x.rs: is deep/x.rs to one page and p/x.rs to another, because a path leads through a link and then up: name the file without going through the link",
		},
		"a file beside the project that is a link out": {
			files: map[string]string{"p/book.toml": "", "p/src/a.md": "{{#include ../../x.rs}}", "x.rs": "-> /etc/passwd"},
			dir:   "p",
			want:  `x.rs: the link x.rs to "/etc/passwd" leads out of the working directory: put the files themselves there, or ignore the link`,
		},
		"what is included counts": {
			files: map[string]string{"p/book.toml": "", "p/src/a.md": "{{#include ../../x.rs}}", "x.rs": strings.Repeat("x", 100)},
			dir:   "p",
			opts:  Options{Limits: Limits{BookBytes: 100}},
			want:  "x.rs: can't be read: with it, the files have more than 100 bytes, the most that a book may have: ignore some, or make several books of it",
		},
		"ways without end": {
			files: map[string]string{
				"p/book.toml": "", "p/src/a.md": "{{#include ../l/x.md}}", "p/l": "-> ../m", "m/l": "-> .",
				"m/x.md": "{{#include l/x.md}} {{#include ./l/./x.md}} {{#include l/l/x.md}} {{#include l/../m/x.md}}",
			},
			dir:  "p",
			opts: Options{Limits: Limits{Entries: 3000}},
			want: "p/l/m/m/l/m/m/x.md: with what it includes, more than 3000 files and folders are looked for: include less, or make several books of it",
		},
	}
	for name, test := range tests {
		t.Run(name, test.run)
	}
}

// The function reads a folder of the working directory, the controller one of an
// artifact.
func TestReadFromAnyBase(t *testing.T) {
	fsys := tree(map[string]string{
		"docs/guide/book.toml": "", "docs/guide/src/a.md": "{{#include ../../x.rs}} {{#include ../lib/../../x.rs}}", "docs/guide/lib/y": "", "docs/x.rs": "x",
	})
	want, err := Read(fsys, "./docs/guide", Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(fsys, "docs/guide/", Options{Base: "the artifact of GitRepository docs"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got.Files) == 0 {
		t.Errorf("in an artifact: %s", diff)
	}

	// Nearer by, the book is the same, as long as all that it needs is there.
	docs, err := fs.Sub(fsys, "docs")
	if err != nil {
		t.Fatal(err)
	}
	if got, err = Read(docs, "guide", Options{}); err != nil {
		t.Fatal(err)
	}
	if got.Root != "guide" || want.Root != "docs/guide" {
		t.Errorf("roots %s and %s", got.Root, want.Root)
	}
	got.Root = want.Root
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in docs: %s", diff)
	}
}

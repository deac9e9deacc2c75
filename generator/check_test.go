package generator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
)

const (
	inline = "spec.markdowns: "
	folder = "spec.contentFrom[0].directory: "
)

func TestBadViews(t *testing.T) {
	minusOne := int32(-1)
	tests := map[string]struct {
		change func(view *v1.MarkdownView)
		want   []string
	}{
		"no spec": {
			change: func(v *v1.MarkdownView) { v.Spec = v1.MarkdownViewSpec{} },
			want:   []string{"spec: Required value: no pages: set markdowns, contentFrom or both"},
		},
		"no name": {
			change: func(v *v1.MarkdownView) { v.Name = "" },
			want:   []string{"metadata.name: Required value: name the view: its objects are called markdowns-<name> and viewer-<name>"},
		},
		"a name of 57 characters": {
			change: func(v *v1.MarkdownView) { v.Name = strings.Repeat("a", 57) },
			want:   []string{"metadata.name: Too long: may not be more than 56 bytes"},
		},
		"a dotted name": {
			change: func(v *v1.MarkdownView) { v.Name = "a.b" },
			want:   []string{`metadata.name: Invalid value: "a.b": must not contain dots`},
		},
		"an upper case name": {
			change: func(v *v1.MarkdownView) { v.Name = "Handbook" },
			want: []string{`metadata.name: Invalid value: "Handbook": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
				`and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`},
		},
		"fewer than no replicas": {
			change: func(v *v1.MarkdownView) { v.Spec.Replicas = &minusOne },
			want:   []string{"spec.replicas: Invalid value: -1: must be 0 or more"},
		},
		"several faults at once": {
			change: func(v *v1.MarkdownView) {
				v.Name, v.Spec.Replicas, v.Spec.BookToml = "a.b", &minusOne, "["
				v.Spec.Markdowns["../x.md"] = ""
				v.Spec.Markdowns["SUMMARY.md"] = "- [A](a.md)\n- [B](b.md)\n"
			},
			want: []string{
				`metadata.name: Invalid value: "a.b": must not contain dots`,
				inline + `Invalid value: "../x.md": must not contain "..": only files of the book itself can be pages`,
				"spec.replicas: Invalid value: -1: must be 0 or more",
				"spec.bookToml: book.toml:1: column 1: expected key but reached end of input",
				inline + `SUMMARY.md:2: chapter "B" links to b.md, which is not among the pages: add the page or remove the line`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := newView("a", withPages(map[string]string{"a.md": ""}))
			test.change(view)
			if diff := cmp.Diff(test.want, problemsOf(t, view)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadPages(t *testing.T) {
	tests := map[string]struct {
		pages map[string]string
		want  []string
	}{
		"a page that leads out": {
			map[string]string{"../x": ""},
			[]string{`Invalid value: "../x": must not contain "..": only files of the book itself can be pages`},
		},
		"an absolute path": {
			map[string]string{"/x": ""},
			[]string{`Invalid value: "/x": must be relative: drop the leading "/"`},
		},
		"an empty element": {
			map[string]string{"a//b": ""},
			[]string{`Invalid value: "a//b": must be clean: write "a/b"`},
		},
		"a folder": {
			map[string]string{".": ""},
			[]string{`Invalid value: ".": must name a file such as guide/intro.md, not a folder`},
		},
		"300 characters": {
			map[string]string{strings.Repeat("x", 300): ""},
			[]string{`Invalid value: "` + strings.Repeat("x", 120) + `…": each file or folder name must have at most 240 bytes, "xxxxxxxxxxxxxxxx"… has 300: shorten it`},
		},
		"a NUL": {
			map[string]string{"a\x00b": ""},
			[]string{`Invalid value: "a\x00b": must not contain control or invisible formatting characters: rename the file`},
		},
		"no name": {
			map[string]string{"": ""},
			[]string{`Invalid value: "": must not be empty: name a file such as guide/intro.md`},
		},
		"the same path after cleaning": {
			map[string]string{"a.md": "", "./a.md": ""},
			[]string{`Invalid value: "./a.md": must be clean: write "a.md"`},
		},
		"text that is not UTF-8": {
			map[string]string{"x.md": "\xff", "b.bin": "\xff"},
			[]string{`SUMMARY.md:1: chapter "X" links to x.md, which is not UTF-8 text: save it as UTF-8, or link to it from a page if it is no page`},
		},
		"a page of 16 MiB and one byte": {
			map[string]string{"a.md": strings.Repeat("x", 16<<20+1)},
			[]string{"a.md: has 16777217 bytes, may have at most 16777216: split the page or shrink the image"},
		},
		"a file where another needs a folder": {
			map[string]string{"a": "", "a/b.md": "", "a/c.md": ""},
			[]string{"a: is a file, but a/b.md needs a folder of that name: rename one of them"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pages := map[string]string{"SUMMARY.md": "- [X](x.md)\n", "x.md": ""}
			maps.Copy(pages, test.pages)
			want := mapped(test.want, func(s string) string { return inline + s })
			if diff := cmp.Diff(want, problemsOf(t, newView("a", pages))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadFolders(t *testing.T) {
	many := map[string]string{}
	for i := range book.MaxFiles {
		many[fmt.Sprintf("%d.png", i)] = ""
	}
	longNames := map[string]string{}
	for i := range 1500 {
		longNames[fmt.Sprintf("%d%s.png", i, strings.Repeat("/"+strings.Repeat("x", 230), 4))] = ""
	}
	heavy := map[string]string{}
	for i := range 41 {
		heavy[fmt.Sprintf("%d.png", i)] = strings.Repeat("x", 1_000_000)
	}
	tests := map[string]struct {
		pages, files map[string]string
		toml         string
		want         []string
	}{
		"a name that no page can have": {
			pages: map[string]string{"a/../b.md": ""},
			want:  []string{folder + `file name "a/../b.md": must not contain "..": only files of the book itself can be pages`},
		},
		"a book of 41 MB": {
			pages: heavy,
			want:  []string{"spec: the book has 41000012 bytes, may have at most 33554432: leave out what isn't part of it, or split it into several views"},
		},
		"too many files": {
			pages: many,
			want:  []string{"spec: the book has 5002 files, may have at most 5000: leave out what isn't part of it, or split it into several views"},
		},
		"names that fill the Deployment": {
			pages: longNames,
			want:  []string{"spec: the names of the book's 1502 files take 1539468 bytes in the pod's volume, may take at most 1048576: use fewer files or shorter names"},
		},
		"a file beside the pages that takes a page's place": {
			files: map[string]string{"src/x.md": ""},
			want:  []string{folder + "x.md: and src/x.md are both at src/x.md in the book's root folder: rename one of them"},
		},
		"a file that takes the source folder's place": {
			files: map[string]string{"src": ""},
			want:  []string{folder + "src: is a file, but SUMMARY.md needs a folder of that name: rename one of them"},
		},
		"a page and a folder beside the pages of one name": {
			pages: map[string]string{"theme": ""},
			files: map[string]string{"theme/head.hbs": ""},
		},
		"a file that takes a revision key's place": {
			files: map[string]string{".revision-1": ""},
			want:  []string{folder + `.revision-1: names in the book's root folder that start with ".revision" are reserved: rename it`},
		},
		"a source folder that takes a revision key's place": {
			toml: "[book]\nsrc = '.revision'\n",
			want: []string{
				folder + `SUMMARY.md: names in the book's root folder that start with ".revision" are reserved: rename it`,
				folder + `x.md: names in the book's root folder that start with ".revision" are reserved: rename it`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := newView("a", nil)
			view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
			pages := map[string]string{"SUMMARY.md": "- [X](x.md)\n", "x.md": ""}
			maps.Copy(pages, test.pages)
			if diff := cmp.Diff(test.want, problemsOf(t, view, fromFolder(pages, test.files, test.toml))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProblemsNameTheFieldThatThePageIsFrom(t *testing.T) {
	view := newView("a", map[string]string{"inline": ""})
	view.Spec.ContentFrom = make([]v1.ContentSource, 2)
	for i := range view.Spec.ContentFrom {
		view.Spec.ContentFrom[i].ConfigMapRef = &v1.ConfigMapSource{Name: "pages"}
	}
	first := Content{Field: "spec.contentFrom[0].configMapRef", Book: book.Book{Pages: bytesOf(map[string]string{
		"SUMMARY.md": "- [X](x.md)\n", "x.md": "", "first": "", "first/x": "", "both": "", "both/x": "", "inline": "", "inline/x": "",
	})}}
	second := Content{Field: "spec.contentFrom[1].configMapRef", Book: book.Book{Pages: bytesOf(map[string]string{"both": ""})}}
	want := []string{
		"spec.contentFrom[1].configMapRef: both: is a file, but both/x needs a folder of that name: rename one of them",
		"spec.contentFrom[0].configMapRef: first: is a file, but first/x needs a folder of that name: rename one of them",
		inline + "inline: is a file, but inline/x needs a folder of that name: rename one of them",
	}
	if diff := cmp.Diff(want, problemsOf(t, view, first, second)); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidError(t *testing.T) {
	one := []Problem{{Field: "spec.markdowns", File: "SUMMARY.md", Line: 3, Message: "no"}}
	many := append(slices.Clone(one), Problem{Field: "spec", Message: "b"}, Problem{File: "a.md", Message: "c"}, Problem{Message: "d"})
	tests := map[string]struct {
		err           InvalidError
		want, summary string
	}{
		"one problem": {
			InvalidError{Name: "a", Problems: one},
			"MarkdownView a: spec.markdowns: SUMMARY.md:3: no",
			"spec.markdowns: SUMMARY.md:3: no",
		},
		"several, in a namespace": {
			InvalidError{Name: "a", Namespace: "docs", Problems: many},
			"MarkdownView docs/a has 4 problems:\n- spec.markdowns: SUMMARY.md:3: no\n- spec: b\n- a.md: c\n- d",
			"spec.markdowns: SUMMARY.md:3: no; spec: b; a.md: c; and 1 more",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.err.Error()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.summary, test.err.Summary()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

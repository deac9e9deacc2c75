package generator

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestBadSummary(t *testing.T) {
	tests := map[string]struct {
		summary string
		want    []string
	}{
		"a chapter that is missing": {
			"# Summary\n\n- [A](a.md)\n  - [B](b.md)\n",
			[]string{`SUMMARY.md:4: chapter "B" links to b.md, which is not among the pages: add the page or remove the line`},
		},
		"a chapter twice": {
			"- [A](a.md)\n- [Again](a.md)\n",
			[]string{`SUMMARY.md:2: chapter "Again" links to a.md, as chapter "A" in line 1 does: a file can be one chapter only, remove one of the lines`},
		},
		"a chapter twice under two names": {
			"- [A](a.md)\n- [Again](./a.md)\n",
			[]string{`SUMMARY.md:2: chapter "Again" links to ./a.md, as chapter "A" in line 1 does: a file can be one chapter only, remove one of the lines`},
		},
		"a list item that isn't a link": {
			"- [A](a.md)\n- text\n",
			[]string{`SUMMARY.md:2: list item "- text" doesn't begin with a link to its chapter: write - [Title](page.md), or - [Title]() for a draft`},
		},
		"a list after suffix chapters": {
			"- [A](a.md)\n\n[X](x.md)\n\n- [Y](y.md)\n",
			[]string{"SUMMARY.md:5: this list comes after the paragraph in line 3, with which mdBook begins the suffix chapters: move it above that paragraph, or make the paragraph a heading of level 2 (## …)"},
		},
		"no chapter": {
			"# Summary\n",
			[]string{"SUMMARY.md: it has no chapter, so mdBook writes no index.html and the book has no front page: add one, like - [Introduction](introduction.md)"},
		},
		"nothing but drafts": {
			"- [A]()\n",
			[]string{"SUMMARY.md:1: all chapters are drafts, so mdBook writes no index.html and the book has no front page: give one a page, like [A](page.md)"},
		},
		"text that isn't UTF-8": {
			"- [A](a.md)\n\xff\n",
			[]string{"SUMMARY.md:2: not UTF-8 text: save the file as UTF-8"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pages := map[string]string{"SUMMARY.md": test.summary, "a.md": "", "x.md": "", "y.md": ""}
			want := mapped(test.want, func(s string) string { return inline + s })
			if diff := cmp.Diff(want, problemsOf(t, newView("a", pages))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMissingSummary(t *testing.T) {
	want := []string{"spec: SUMMARY.md: not among the pages: mdBook reads from it which pages are chapters, so add one, like - [Introduction](introduction.md)"}
	if diff := cmp.Diff(want, problemsOf(t, newView("a", map[string]string{"a.md": ""}))); diff != "" {
		t.Error(diff)
	}
}

func TestLinkWarnings(t *testing.T) {
	pages := map[string]string{
		"SUMMARY.md":  "- [A](a.md)\n- [B](b/b.md)\n",
		"a.md":        "[B](b/b.md) [gone](gone.md)\n\n![gone](img/gone.png)\n",
		"b/b.md":      "[A](../a.md)\n{{#include ../gone.txt}}\n{{#include ../../theme/head.hbs}}\n",
		"unlisted.md": "[gone](gone.md)\n",
	}
	view := newView("a", pages)
	view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
	files := map[string]string{"theme/head.hbs": ""}
	tests := map[string]struct {
		inline      map[string]string
		toml, field string
		gone, theme string // what the page b/b.md includes
	}{
		"inline":                   {inline: pages, field: inline, gone: "src/gone.txt"},
		"in a folder":              {field: folder, gone: "src/gone.txt"},
		"in another source folder": {toml: "[book]\nsrc = 'docs'\n", field: folder, gone: "docs/gone.txt"},
		"in the root of a project": {
			toml: "[book]\nsrc = '.'\n", field: folder, gone: "gone.txt",
			theme: "../theme/head.hbs is outside the book",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := view.DeepCopy()
			view.Spec.Markdowns = test.inline
			want := []string{
				test.field + "a.md:1: the link to gone.md leads nowhere: the book has no such file",
				test.field + "a.md:3: the image img/gone.png leads nowhere: the book has no such file",
				test.field + "b/b.md:2: {{#include ../gone.txt}}: the book has no file " + test.gone + ", so mdBook leaves this text in the page",
			}
			if test.theme != "" {
				want = append(want, test.field+"b/b.md:3: {{#include ../../theme/head.hbs}}: "+test.theme+", so mdBook leaves this text in the page")
			}
			output := mustGenerate(t, view, fromFolder(maps.Clone(pages), files, test.toml))
			if diff := cmp.Diff(want, mapped(output.Warnings, Problem.String)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package links

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zoetrope/markdown-view/generator/summary"
	"github.com/zoetrope/markdown-view/generator/summary/commonmark"
)

// FuzzCheck looks for pages whose broken links the quick look misses, and for
// warnings about lines that a page doesn't have.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"[a](x.md)", "![a]( <x y.md> 'z')", "> [a](\n> x.md)", "[a]\n\n[a]:\n  <x.md>", "[a][b]\n\n[b]: x\\)&amp;", "a <a\nHREF\n=\n'x'>",
		"<img alt=\"=\" src=x>", "[^1]\n\n[^1]: x", "| [a](x) |\n|-|\n", "{{#include a.md}}{{#include b.md:a}}\\{{#include}}", "<!-- --> <a href=x>\n\n<p>\n<a href = \"&lt;\"/>"} {
		f.Add(seed)
	}
	s, err := summary.Parse([]byte("- [A](d/a.md)\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := map[string][]byte{"d/a.md": []byte(text), "b.md": []byte("<!-- ANCHOR: a -->\n" + text), "d/b.md": []byte(text)}
		for _, w := range Check(files, "", s, Options{}) {
			if last := strings.Count(string(files[w.File]), "\n") + 1; w.Line < 0 || w.Line > last {
				t.Errorf("%s has %d lines: %s", w.File, last, w)
			}
		}
		if !utf8.ValidString(text) || commonmark.Cost([]byte(text)) > commonmark.MaxCost/100 {
			return
		}
		everything := func(l link) bool { return len(l.destination) < longest/2 && !foreign.MatchString(l.destination) }
		for at, l := range brokenLinks([]byte(text), everything) {
			if !suspicious([]byte(text), everything) {
				t.Errorf("link %+v at %d is missed", l, at)
			}
		}
	})
}

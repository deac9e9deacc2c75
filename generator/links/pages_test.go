package links

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/summary"
)

func TestPages(t *testing.T) {
	files := map[string][]byte{
		"src/SUMMARY.md": []byte("- [A](a.md)\n- [Draft]()\n- [B](d/b.md)\n"),
		"src/a.md":       []byte("\ufeffone {{#include ../x.rs:1}} two\n"),
		"src/d/b.md":     []byte("{{#rustdoc_include ../../x.rs:1}}\n{{#playground ../../x.rs}}\n{{#include gone}}\n"),
		"src/lost.md":    []byte("nobody's\n"),
		"x.rs":           []byte("first\nsecond\n"),
	}
	tests := map[string]struct {
		expand bool
		want   map[string]string
	}{
		// Of rustdoc_include the other lines are in the page too, hidden.
		"with what they include": {true, map[string]string{"a.md": "one first two\n", "d/b.md": "first\nsecond\n```rust\nfirst\nsecond\n\n```\n\n{{#include gone}}\n"}},
		"as they are":            {false, map[string]string{"a.md": "one {{#include ../x.rs:1}} two\n", "d/b.md": string(files["src/d/b.md"])}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			if err := Pages(files, "src", load(t, files), test.expand, func(c *summary.Chapter, text []byte) {
				got[c.Path()] = string(text)
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingIsSaidOfIncludesThatAreNotExpanded(t *testing.T) {
	files := map[string][]byte{"SUMMARY.md": []byte("- [A](a.md)\n"), "a.md": []byte("{{#include gone.txt}}\n")}
	if got := Check(files, "", loadFlat(t, files), Options{NoIncludes: true}); len(got) > 0 {
		t.Errorf("warned of %v", got)
	}
	if got := Check(files, "", loadFlat(t, files), Options{}); len(got) != 1 {
		t.Errorf("with includes: %v", got)
	}
}

func TestPagesEndWhereTheyHaveTooMuch(t *testing.T) {
	files := map[string][]byte{"SUMMARY.md": []byte("- [A](a.md)\n- [B](b.md)\n- [C](c.md)\n"), "a.md": []byte("a"), "b.md": []byte(strings.Repeat("{{#include x}}\n", 40)), "c.md": nil, "x": make([]byte, 1<<20)}
	seen := 0
	err := Pages(files, "", loadFlat(t, files), true, func(*summary.Chapter, []byte) { seen++ })
	if err == nil || seen != 1 {
		t.Errorf("%d pages, %v", seen, err)
	}
}

func loadFlat(t *testing.T, files map[string][]byte) *summary.Summary {
	t.Helper()
	s, err := summary.Load(files, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

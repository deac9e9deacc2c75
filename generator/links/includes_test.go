package links

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/summary"
)

func TestIncludes(t *testing.T) {
	tests := []struct {
		name, text string
		want       []Include
	}{
		{"none", "text {{#include}} {{#include }} {{# include x}} {{include x}} {{#include x} } {#include x}", nil},
		{"all kinds, anywhere in a page", "{{#include a.rs}}\n```\n{{#rustdoc_include ../b.rs}} `{{#playground ../../c.rs editable}}`\n{{#playpen d.rs}} {{#title x}} {{#tabs x}}", []Include{
			{Kind: "include", Target: "a.rs", Path: "src/d/a.rs", Line: 1}, {Kind: "rustdoc_include", Target: "../b.rs", Path: "src/b.rs", Line: 3},
			{Kind: "playground", Target: "../../c.rs", Path: "c.rs", Line: 3}, {Kind: "playground", Target: "d.rs", Path: "src/d/d.rs", Line: 4}}},
		{"white space", "{{\n #include\n\n\u2003a.rs\t x }}{{ #include b.rs}}", []Include{
			{Kind: "include", Target: "a.rs", Path: "src/d/a.rs", Line: 1}, {Kind: "include", Target: "b.rs", Path: "src/d/b.rs", Line: 4}}},
		{"lines and anchors belong to no path, except in a playground", "{{#include a.rs:2:5}} {{#rustdoc_include b.rs:x}} {{#playground c.rs:1}}", []Include{
			{Kind: "include", Target: "a.rs", Path: "src/d/a.rs", Line: 1}, {Kind: "rustdoc_include", Target: "b.rs", Path: "src/d/b.rs", Line: 1},
			{Kind: "playground", Target: "c.rs:1", Path: "src/d/c.rs:1", Line: 1}}},
		{"outside of the book", "{{#include ../../../a.rs}} {{#include /etc/passwd}}", []Include{
			{Kind: "include", Target: "../../../a.rs", Path: "../a.rs", Line: 1}, {Kind: "include", Target: "/etc/passwd", Path: "/etc/passwd", Line: 1}}},
		{"a backslash escapes all up to the last braces of the line", `\{{#include a}} {{#include b}} x` + "\n" + `{{#include c}} \{{#include d}}`, []Include{
			{Kind: "include", Target: "c", Path: "src/d/c", Line: 2}}},
		{"a backslash escapes nothing before a space or without braces", `\{{ #include a}} \{{#include` + "\nb}}", []Include{
			{Kind: "include", Target: "a", Path: "src/d/a", Line: 1}, {Kind: "include", Target: "b", Path: "src/d/b", Line: 1}}},
		{"more braces than needed", "{{{#include a}}} {{ {{#include b}}", []Include{
			{Kind: "include", Target: "a", Path: "src/d/a", Line: 1}, {Kind: "include", Target: "b", Path: "src/d/b", Line: 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, slices.Collect(Includes("src/d/page.md", []byte(tt.text))), cmpopts.IgnoreUnexported(Include{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	const numbers = "one\ntwo\r\nthree\nfour\n"
	const anchors = "before\n// ANCHOR: a\nin a\n// ANCHOR:b\nin both\n// ANCHOR_END: a\nin b\n"
	tests := []struct{ name, page, want string }{
		{"a file without its last line end", "<{{#include n}}>", "<one\ntwo\r\nthree\nfour>"},
		{"all lines", "<{{#include n:}}><{{#include n::}}><{{#include n::x}}>", "<one\ntwo\r\nthree\nfour><one\ntwo\r\nthree\nfour><one\ntwo\r\nthree\nfour>"},
		{"one line", "<{{#include n:3}}><{{#include n:0}}><{{#include n:+1}}>", "<three><one><one>"},
		{"some lines", "<{{#include n:2:3}}><{{#include n:3:}}><{{#include n::2}}><{{#include n:3:x}}>", "<two\r\nthree><three\nfour><one\ntwo\r><three\nfour>"},
		{"no lines", "<{{#include n:3:2}}><{{#include n:9}}>", "<><>"},
		{"an anchor without lines that hold anchors", "<{{#include a:a}}><{{#include a:b}}><{{#include a:a:9}}>", "<in a\nin both><in both\nin b><in a\nin both>"},
		{"a playground in a fence", "<{{#playground n}}>", "<```rust\n" + numbers + "\n```\n>"},
		{"an escape without its backslash", `<\{{#include n}}>`, "<{{#include n}}>"},
		{"a title, which is nothing", "<{{#title My Title}}>", "<>"},
		{"what isn't mdBook's, or not there", "<{{#tabs x}}><{{#include gone}}>", "<{{#tabs x}}><{{#include gone}}>"},
		{"what an included file includes, from its own folder", "<{{#include d/x}}>", "<[y]>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &checker{expanded: maxExpanded, expansions: maxExpansions, warned: map[diagnostic.Problem]bool{}, files: map[string][]byte{
				"page": []byte(tt.page), "n": []byte(numbers), "a": []byte(anchors), "d/x": []byte("[{{#include y}}]"), "d/y": []byte("y")}}
			if diff := cmp.Diff(tt.want, string(c.expand("page").text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestIncludeWarnings(t *testing.T) {
	files := map[string]string{
		"src/a.md": "{{#include gone.md}}\n\n{{#include ../code/x.rs:1:2}} {{#rustdoc_include ../code/gone.rs:x}} {{#include ../../up.md:Anchor}}\n" +
			"{{#include /etc/passwd}} {{#include ../code/x.rs:nope}} {{#include binary}} \\{{#include gone}}\n",
		"src/b.md": "{{#include part/list.md}} {{#include part/list.md}}", "src/part/list.md": "# Part\n\n{{#include gone.md}}\n[1](c.md) [2](../b.md)\n",
		"src/c.md": "{{#include c.md}}", "src/lost.md": "{{#include gone.md}}",
		"code/x.rs": "fn main() {}\n", "src/binary": "\xff",
	}
	want := []string{
		"src/a.md:1: {{#include gone.md}}: the book has no file src/gone.md, so mdBook leaves this text in the page",
		"src/a.md:3: {{#rustdoc_include ../code/gone.rs:x}}: the book has no file code/gone.rs, so mdBook leaves this text in the page",
		"src/a.md:3: {{#include ../../up.md:Anchor}}: ../up.md is outside the book, so mdBook leaves this text in the page",
		"src/a.md:4: {{#include /etc/passwd}}: a path that begins with / is outside the book, so mdBook leaves this text in the page",
		"src/a.md:4: {{#include ../code/x.rs:nope}}: code/x.rs has no anchor nope, so mdBook includes nothing",
		"src/a.md:4: {{#include binary}}: src/binary is not UTF-8 text, so mdBook leaves this text in the page",
		"src/part/list.md:3: {{#include gone.md}}: the book has no file src/part/gone.md, so mdBook leaves this text in the page",
		"src/part/list.md:4: the link to ../b.md leads nowhere from src/b.md (which includes this): it is outside the book's src folder, so it isn't in the site",
		"src/c.md:1: {{#include c.md}}: nested 10 deep, so mdBook leaves it out: does the file include itself?",
	}
	if diff := cmp.Diff(want, check(t, files, "src", "a.md", "b.md", "c.md")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLinesOfIncludedText(t *testing.T) {
	files := map[string]string{
		"a.md": "one {{#include b.md:2:3}}\n[1](x1) {{#title a\nb}}\n[2](x2) {{#include b.md:a}}\n[3](x3)\n",
		"b.md": "1\n[b](y2)\n3\n<!-- ANCHOR: a -->\n[b](y5)\n<!-- ANCHOR: b -->\n[b](y7)\n",
	}
	var got []string
	for _, w := range check(t, files, "", "a.md") {
		got = append(got, strings.Join(strings.Fields(w)[:5], " "))
	}
	want := []string{"b.md:2: the link to y2", "a.md:2: the link to x1", "a.md:4: the link to x2", "b.md:5: the link to y5", "b.md:7: the link to y7", "a.md:5: the link to x3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestIncludesThatGrowWithoutEnd(t *testing.T) {
	s, err := summary.Parse([]byte("- [A](a.md)\n- [B](b.md)\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"many files": "{{#include a.md}}{{#include a.md}}{{#include a.md}}{{#include a.md}}", "many bytes": "{{#include a.md}}{{#include a.md}}" + strings.Repeat("x", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			got := Check(map[string][]byte{"a.md": []byte(text), "b.md": []byte("[x](y.md)")}, "", s, Options{})
			want := "SUMMARY.md: the chapters include more than 32 MiB or 20000 files, so their links aren't checked"
			if len(got) == 0 || got[len(got)-1].String() != want {
				t.Errorf("warnings are %v, want the last to be %q", got, want)
			}
		})
	}
}

// mdBookPattern is the pattern of mdBook's links preprocessor as it is there,
// but for what \s means to Go.
var mdBookPattern = regexp.MustCompile(`\\\{\{#.*\}\}|\{\{` + space + `*#([a-zA-Z0-9_]+)` + space + `+([^}]+)\}\}`)

func FuzzIncludes(f *testing.F) {
	for _, seed := range []string{"", "{{#include a}}", `\{{#include a}} {{#include b}}`, "{{\n#include\u00a0a:1:2 b}}", "{{{{#include a}}}}", `\{{#x` + "\n}}", `{{#a b}\{{#c d}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want, got []string
		for _, m := range mdBookPattern.FindAllStringSubmatchIndex(text, -1) {
			d := fmt.Sprintln(m[0], m[1], strings.Count(text[:m[0]], "\n")+1)
			if m[2] >= 0 {
				d += text[m[2]:m[3]] + "\n" + text[m[4]:m[5]]
			}
			want = append(want, d)
		}
		for d := range directives([]byte(text)) {
			s := fmt.Sprintln(d.start, d.end, d.line)
			if d.kind != "" {
				s += d.kind + "\n" + d.args
			}
			got = append(got, s)
		}
		// The line of an escaped one is that of its braces, which is the same.
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

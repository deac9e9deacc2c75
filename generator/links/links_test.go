package links

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/summary"
)

// check runs Check on a book whose SUMMARY.md lists some chapters.
func check(t *testing.T, files map[string]string, src string, chapters ...string) []string {
	t.Helper()
	var list strings.Builder
	for _, name := range chapters {
		list.WriteString("- [" + name + "](<" + name + ">)\n")
	}
	s, err := summary.Parse([]byte(list.String()))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{}
	for name, text := range files {
		content[name] = []byte(text)
	}
	var warnings []string
	for _, w := range Check(content, src, s, Options{}) {
		warnings = append(warnings, w.String())
	}
	return warnings
}

func TestLinks(t *testing.T) {
	const noFile = " leads nowhere: the book has no such file"
	tests := []struct {
		name, page string // of src/d/a.md
		want       []string
	}{
		{"links that work", `[1](b.md) [2](../c.md#x) [3](b.html?q) [4](<é x.md>) [5](%C3%A9%20x.md) [6](../pic.png) ![7](../pic.png)
			[8](../) [9](./) [10](../e/) [11](../e) [12](../e/index.md) [13](../print.html) [14](../toc.html) [15](b.mdx) [16](../notes.txt) [17](../notes.html)
			<a href="../c.md">x</a> <img src='../pic.png'> [18](&#98;.md)
			`, nil},
		{"what isn't looked at", `[1](https://example.com/x.md) [2](//example.com) [3](/x.md) [4](#x) [5](mailto:me@example.com) [6]() [7](?x) [8](HTTP://x)
			<https://example.com/x> <me@example.com> <a href="https://example.com"> <a name="x"> <img alt="src=x">`, nil},
		{"code, comments, escapes, footnotes and includes aren't links", "`[1](x.md)` \\[2](x.md) <!-- [3](x.md) <a href=\"x.md\"> --> [^4]\n\n" +
			"    [5](x.md)\n\n```\n[6](x.md)\n```\n\n[^4]: x.md\n\n\\{{#include x.md}} {{#title x.md}}\n", nil},
		{"missing pages and images, with their lines", "[1](x.md)\n\n![2](x.png)\nand [3](x)\n\n[4]: x.html\n\n- [4]\n  [5][4]\n", []string{
			"src/d/a.md:1: the link to x.md" + noFile, "src/d/a.md:3: the image x.png" + noFile, "src/d/a.md:4: the link to x" + noFile,
			"src/d/a.md:8: the link to x.html" + noFile, "src/d/a.md:9: the link to x.html" + noFile}},
		{"missing pages and images in HTML", "a <a class=x HREF = 'x.md'>\nb <img alt=\"\" src=x.png>\n\n<div>\n<p><a href=\"x&amp;y.html\">\n</div>\n", []string{
			"src/d/a.md:1: the link to x.md" + noFile, "src/d/a.md:2: the image x.png" + noFile, "src/d/a.md:5: the link to x&y.html" + noFile}},
		{"an image of a page", `<img src="b.md">`, []string{"src/d/a.md:1: the image b.md leads nowhere: it is a page, and mdBook renders it to d/b.html"}},
		{"an image of a folder", `![1](../e/)`, []string{"src/d/a.md:1: the image ../e/ leads nowhere: it is a folder without an index.html"}},
		{"links in tables and in quotes over lines", "| a | b |\n|---|---|\n| [1](x.md) | `|` |\n\n> [2](\n> y.md)\n", []string{
			"src/d/a.md:3: the link to x.md" + noFile, "src/d/a.md:5: the link to y.md" + noFile}},
		{"pages that aren't chapters", "[1](lost.md) [2](lost.html) [3](lost)\n", []string{
			"src/d/a.md:1: the link to lost.md leads nowhere: d/lost.md isn't a chapter, so mdBook doesn't render it: list it in SUMMARY.md",
			"src/d/a.md:1: the link to lost.html leads nowhere: d/lost.md isn't a chapter, so mdBook doesn't render it: list it in SUMMARY.md",
			"src/d/a.md:1: the link to lost leads nowhere: d/lost.md isn't a chapter, so mdBook doesn't render it: list it in SUMMARY.md"}},
		{"a README", "[1](../e/README.md#x) [2](README.md) [3](../e/readme.html)\n", []string{
			"src/d/a.md:1: the link to ../e/README.md#x leads nowhere: mdBook renders the page to e/index.html, write ../e/#x",
			"src/d/a.md:1: the link to README.md leads nowhere: mdBook renders the page to d/index.html, write ./",
			"src/d/a.md:1: the link to ../e/readme.html leads nowhere: did you mean e/README.md?"}},
		{"other letters", "[1](B.md) ![2](../PIC.png) [3](É%20x.md)", []string{
			"src/d/a.md:1: the link to B.md leads nowhere: did you mean d/b.md?", "src/d/a.md:1: the image ../PIC.png leads nowhere: did you mean pic.png?",
			"src/d/a.md:1: the link to É%20x.md leads nowhere: did you mean d/é x.md?"}},
		{"outside of src", "[1](../../book.toml) [2](../..)", []string{
			"src/d/a.md:1: the link to ../../book.toml leads nowhere: it is outside the book's src folder, so it isn't in the site",
			"src/d/a.md:1: the link to ../.. leads nowhere: it is outside the book's src folder, so it isn't in the site"}},
		{"a folder without a page of its own", "[1](../img/)", []string{"src/d/a.md:1: the link to ../img/ leads nowhere: it is a folder without an index.html"}},
		{"what mdBook takes for the ending .md", "[1](../data.md5) [2](b.md#x.md)", []string{
			"src/d/a.md:1: the link to ../data.md5 leads nowhere: mdBook takes .md for its ending and links to data.html",
			"src/d/a.md:1: the link to b.md#x.md leads nowhere: mdBook takes .md for its ending and links to d/b.md"}},
		{"a byte order mark and Windows line ends", "\ufeff# A\r\n\r\n[1](x.md)\r\n", []string{"src/d/a.md:3: the link to x.md" + noFile}},
		{"a page made to keep the parser busy", strings.Repeat("[a](x ", 10_000), []string{
			"src/d/a.md: it is nested too deeply, or has a paragraph of many thousand links, so its links aren't checked"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"book.toml": "", "src/SUMMARY.md": "", "src/d/b.md": "", "src/c.md": "", "src/d/é x.md": "", "src/pic.png": "",
				"src/e/README.md": "", "src/d/README.md": "", "src/notes.txt": "", "src/d/lost.md": "", "src/img/x.png": "", "src/data.md5": "", "src/d/b.mdx": "",
				"src/d/a.md": tt.page}
			got := check(t, files, "src", "c.md", "d/a.md", "d/b.md", "d/é x.md", "e/README.md", "d/README.md", "notes.txt")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLinksOfABookWithoutAFolder(t *testing.T) {
	got := check(t, map[string]string{"a.md": "[1](b.md) [2](../b.md)", "b.md": ""}, "", "a.md", "b.md", "gone.md")
	want := []string{"a.md:1: the link to ../b.md leads nowhere: it is outside the book's src folder, so it isn't in the site"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFrontPageInAFolder(t *testing.T) {
	got := check(t, map[string]string{"d/a.md": "[1](b.md) [2](../c.md) [3](../d/b.md)", "d/b.md": "[1](a.md)", "c.md": ""}, "", "d/a.md", "d/b.md", "c.md")
	const end = " leads nowhere on the book's front page, where mdBook shows the first chapter too: let the first chapter be a page that isn't in a folder"
	want := []string{"d/a.md:1: the link to b.md" + end, "d/a.md:1: the link to ../c.md" + end, "d/a.md:1: the link to ../d/b.md" + end}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWarningsAboutSummary(t *testing.T) {
	s, err := summary.Parse([]byte("- [A](a.md) [B](b.md) [C](c.md) [D](d.md) [E](https://example.com)\n- [C](c.md)\n- [I](index.md)\n- [R](README.md)\n- [T](c.txt)\n"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"src/a.md": nil, "src/b.md": nil, "src/c.md": nil, "src/index.md": nil, "src/README.md": nil, "src/c.txt": nil}
	want := diagnostic.List{
		{Severity: diagnostic.Warning, File: "src/SUMMARY.md", Line: 1, Message: "mdBook passes over the link to b.md and doesn't render the page: make it a list item of its own"},
		{Severity: diagnostic.Warning, File: "src/SUMMARY.md", Line: 4, Message: "mdBook renders README.md to index.html, as it does index.md in line 3, so only this one can be read: rename one of them"},
		{Severity: diagnostic.Warning, File: "src/SUMMARY.md", Line: 5, Message: "mdBook renders c.txt to c.html, as it does c.md in line 2, so only this one can be read: rename one of them"},
	}
	if diff := cmp.Diff(want, Check(files, "src", s, Options{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

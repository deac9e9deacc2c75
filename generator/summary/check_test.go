package summary

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// pages makes files of a line each.
func pages(names ...string) map[string][]byte {
	files := map[string][]byte{}
	for _, name := range names {
		files[name] = []byte("# " + name + "\n")
	}
	return files
}

func TestCheck(t *testing.T) {
	files := pages("SUMMARY.md", "a.md", "b c.md", "d/e.md", "d/README.md", "notes.txt", "Upper.md", "é.md", "print.md", "x.md", "x.html/y.png", "d/..md")
	files["image.png"] = []byte("\x89PNG")
	const front = "so mdBook writes no index.html and the book has no front page"
	tests := []struct {
		name, text, want string
	}{
		{"pages that exist, however their paths are written",
			"- [1](a.md)\n- [2](b%20c.md)\n- [3](./d/../d//e.md)\n- [4](notes.txt)\n- [5](é.md)\n- [6](SUMMARY.md)\n- [7]()\n", "<nil>"},
		{"a missing page", "- [A](a.md)\n- [In\"tro](intro.md)\n", `SUMMARY.md:2: chapter "In\"tro" links to intro.md, which is not among the pages: add the page or remove the line`},
		{"all missing pages at once", "[P](p.md)\n\n- [A](a.md)\n  - [N](n.md)\n\n[S](s.md)\n", lines(
			`SUMMARY.md:1: chapter "P" links to p.md, which is not among the pages: add the page or remove the line`,
			`SUMMARY.md:4: chapter "N" links to n.md, which is not among the pages: add the page or remove the line`,
			`SUMMARY.md:6: chapter "S" links to s.md, which is not among the pages: add the page or remove the line`)},
		{"other letters", "- [A](A.md)\n- [U](upper.MD)\n", lines(
			`SUMMARY.md:1: chapter "A" links to A.md, which is not among the pages: did you mean a.md?`,
			`SUMMARY.md:2: chapter "U" links to upper.MD, which is not among the pages: did you mean Upper.md?`)},
		{"no ending, backslashes, folders that don't exist, a slash at the end", "- [A](a)\n- [E](d\\\\e.md)\n- [F](nope/../b%20c.md)\n- [G](notes.txt/)\n- [H](x.md/../x.md)", lines(
			`SUMMARY.md:1: chapter "A" links to a, which is not among the pages: did you mean a.md?`,
			`SUMMARY.md:2: chapter "E" links to d\e.md, which is not among the pages: did you mean d/e.md?`,
			`SUMMARY.md:3: chapter "F" links to nope/../b c.md, which is not among the pages: did you mean <b c.md>?`,
			`SUMMARY.md:4: chapter "G" links to notes.txt/, which is not among the pages: did you mean notes.txt?`,
			`SUMMARY.md:5: chapter "H" links to x.md/../x.md, which is not among the pages: did you mean x.md?`)},
		{"fragments", "- [A](a.md#top)\n- [B](b.md#top)\n- [C](#top)\n", lines(
			`SUMMARY.md:1: chapter "A" links to a.md#top, which is not among the pages: mdBook takes #top for part of the file's name, write a.md`,
			`SUMMARY.md:2: chapter "B" links to b.md#top, which is not among the pages: add the page or remove the line`,
			`SUMMARY.md:3: chapter "C" links to #top, which is not among the pages: add the page or remove the line`)},
		{"percent encoding", "- [A](%C3%A9.md)\n- [B](%zz.md)\n", lines(
			`SUMMARY.md:1: chapter "A" links to %C3%A9.md, which is not among the pages: mdBook decodes nothing but %20, write é.md`,
			`SUMMARY.md:2: chapter "B" links to %zz.md, which is not among the pages: add the page or remove the line`)},
		{"control characters", "- [A\\\nB](a&#10;&#27;b)\n", `SUMMARY.md:1: chapter "AB" links to a\n\x1bb, which is not among the pages: add the page or remove the line`},
		{"folders", "- [A](d)\n- [B](d/)\n- [C](.)\n- [D](d/..)\n", lines(
			`SUMMARY.md:1: chapter "A" links to d, which is a folder: link to a page in it`,
			`SUMMARY.md:2: chapter "B" links to d/, which is a folder: link to a page in it`,
			`SUMMARY.md:3: chapter "C" links to ., which is a folder: link to a page in it`,
			`SUMMARY.md:4: chapter "D" links to d/.., which is a folder: link to a page in it`)},
		{"paths that lead out", "- [A](../a.md)\n- [B](/d/e.md)\n- [C](d/../../z.md)\n- [D](/z.md)\n", lines(
			`SUMMARY.md:1: chapter "A" links to ../a.md, which is outside the book's src folder: did you mean a.md?`,
			`SUMMARY.md:2: chapter "B" links to /d/e.md, which begins with /, but paths are relative to SUMMARY.md: did you mean d/e.md?`,
			`SUMMARY.md:3: chapter "C" links to d/../../z.md, which is outside the book's src folder: move the page into it`,
			`SUMMARY.md:4: chapter "D" links to /z.md, which begins with /, but paths are relative to SUMMARY.md: move the page into the book's src folder`)},
		{"addresses", "- [A](https://example.com/a.md)\n- <me@example.com>\n", lines(
			`SUMMARY.md:1: chapter "A" links to https://example.com/a.md, which mdBook takes for a file's name: a chapter is a page of the book, so make one that links there`,
			`SUMMARY.md:2: chapter "me@example.com" links to me@example.com, which is not among the pages: add the page or remove the line`)},
		{"a page that isn't text", "- [A](image.png)\n", `SUMMARY.md:1: chapter "A" links to image.png, which is not UTF-8 text: save it as UTF-8, or link to it from a page if it is no page`},
		{"the page that mdBook keeps for itself", "- [A](./print.md)\n", `SUMMARY.md:1: chapter "A" links to ./print.md, a name that mdBook keeps for the page that it makes for printing: rename the page`},
		{"a page whose name has no more than its ending", "- [A](d/..md)\n", `SUMMARY.md:1: chapter "A" links to d/..md, of whose name mdBook makes .., a folder: rename the page`},
		{"a page that is written where a folder is", "- [A](x.md)\n", `SUMMARY.md:1: chapter "A" links to x.md, which mdBook writes to x.html, but the book has a folder of that name: rename one of them`},
		{"nothing", "# S\n", "SUMMARY.md: it has no chapter, " + front + ": add one, like - [Introduction](introduction.md)"},
		{"only chapters that are code", "# S\n\n\t- [A](a.md)\n\t- [B](b.md)\n", "SUMMARY.md:3: it has no chapter, " + front + ": mdBook takes this for code, because it is indented by a tab or four spaces, or fenced: unindent it"},
		{"only drafts", "- [A]()\n- [B]()\n", "SUMMARY.md:1: all chapters are drafts, " + front + ": give one a page, like [A](page.md)"},
		{"only links that mdBook passes over", "# S\n\n# Part\n\n[A](a.md)\n", "SUMMARY.md:5: mdBook passes over this link and finds no chapter, " + front + ": make it a list item, like - [Introduction](introduction.md)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := Parse([]byte(tt.text))
			if diff := cmp.Diff(strings.TrimSpace(tt.want), fmt.Sprint(s.Check(files, ""))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCheckOfUnusualFiles(t *testing.T) {
	files := pages("css", "fonts", "404.html/a.png", "index.html/b.md")
	files["a.md"] = nil
	s, _ := Parse([]byte("[A](a.md)"))
	want := strings.TrimSpace(lines(
		"SUMMARY.md: the folder 404.html has the name of a page that mdBook writes: rename the folder",
		"SUMMARY.md: the file css has the name of a folder that mdBook writes: rename the file",
		"SUMMARY.md: the file fonts has the name of a folder that mdBook writes: rename the file"))
	if diff := cmp.Diff(want, fmt.Sprint(s.Check(files, "."))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoad(t *testing.T) {
	tests := []struct {
		name, summary, src, want string
		files                    []string
	}{
		{name: "a book without a folder", summary: "SUMMARY.md", files: []string{"a.md"}, want: "<nil>"},
		{name: "a book in a folder", summary: "docs/src/SUMMARY.md", src: "docs/src/", files: []string{"docs/src/a.md"}, want: "<nil>"},
		{name: "a page beside the folder", summary: "src/SUMMARY.md", src: "src", files: []string{"a.md"},
			want: `SUMMARY.md:1: chapter "A" links to a.md, which is not among the pages: add the page or remove the line`},
		{name: "no SUMMARY.md", src: "src", summary: "SUMMARY.md",
			want: "SUMMARY.md: not among the pages: mdBook reads from it which pages are chapters, so add one, like - [Introduction](introduction.md)"},
		{name: "a SUMMARY.md in other letters", summary: "src/Summary.md", src: "src", want: "SUMMARY.md: not among the pages: rename Summary.md"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := pages(tt.files...)
			files[tt.summary] = []byte("- [A](a.md)\n")
			_, err := Load(files, tt.src)
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLoadTellsAllFaultsByLine(t *testing.T) {
	files := map[string][]byte{"SUMMARY.md": []byte("[M](missing.md)\n\n- Text\n- [D]()\n")}
	s, err := Load(files, "")
	want := strings.TrimSpace(lines(
		`SUMMARY.md:1: chapter "M" links to missing.md, which is not among the pages: add the page or remove the line`,
		`SUMMARY.md:3: list item "- Text" doesn't begin with a link to its chapter: write - [Title](page.md), or - [Title]() for a draft`))
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	all := diagnostic.FromError(err)
	if len(all) != 2 || all[0].Line != 1 || all[0].File != FileName {
		t.Errorf("it is no list of two whose first is in line 1: %#v", err)
	}
	if s == nil {
		t.Error("no summary")
	}
}

func TestChapters(t *testing.T) {
	s, err := Parse([]byte("[A](./a.md)\n\n- [B](b//README.md)\n  - [C]()\n- [D](d/../.md)\n\n[E](../e.x.md)\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for c := range s.Chapters() {
		got = append(got, c.Name+" "+c.Path()+" "+c.HTML())
	}
	want := []string{"A a.md a.html", "B b/README.md b/index.html", "C  ", "D .md .md.html", "E ../e.x.md ../e.x.html"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for c := range s.Chapters() { // stopping within nested chapters
		if c.Name == "C" {
			break
		}
	}
}

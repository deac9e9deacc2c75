package summary

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// outline writes a summary in a few words: one line for each item, `line: name
// <location>`, nested chapters with an indent.
func outline(s *Summary) string {
	var b strings.Builder
	if s.Title != "" {
		fmt.Fprintf(&b, "title %s\n", s.Title)
	}
	for _, part := range []struct {
		name  string
		items []Item
	}{{"prefix", s.Prefix}, {"numbered", s.Numbered}, {"suffix", s.Suffix}} {
		if len(part.items) > 0 {
			fmt.Fprintf(&b, "%s\n", part.name)
		}
		for _, item := range part.items {
			switch item.Kind {
			case Link:
				outlineChapter(&b, item.Chapter, "  ")
			case Separator:
				b.WriteString("  ---\n")
			case PartTitle:
				fmt.Fprintf(&b, "  # %s\n", item.Title)
			}
		}
	}
	for _, c := range s.Ignored {
		fmt.Fprintf(&b, "ignored %d: %s <%s>\n", c.Line, c.Name, c.Location)
	}
	return b.String()
}

func outlineChapter(b *strings.Builder, c *Chapter, indent string) {
	fmt.Fprintf(b, "%s%d: %s <%s>\n", indent, c.Line, c.Name, c.Location)
	for _, nested := range c.Nested {
		outlineChapter(b, nested, indent+"  ")
	}
}

func lines(s ...string) string {
	return strings.Join(s, "\n") + "\n"
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"nothing", "", ""},
		{"title, prefix, parts, numbered, separators and suffix", lines(
			"# Summary", "", "[Intro](intro.md)", "", "---", "", "# One", "", "- [A](a.md)", "  - [B](b/b.md)", "- [C](c.md)", "", "---", "",
			"# Two", "", "* [D](d.md)", "", "---", "", "[End](end.md)", "[Thanks](thanks.md)"), lines(
			"title Summary", "prefix", "  3: Intro <intro.md>", "  ---", "numbered", "  # One", "  9: A <a.md>", "    10: B <b/b.md>",
			"  11: C <c.md>", "  ---", "  # Two", "  17: D <d.md>", "  ---", "suffix", "  21: End <end.md>", "  22: Thanks <thanks.md>")},
		{"an indent of two, three, four spaces and a tab nests", lines(
			"- [A](a)", "  - [B](b)", "     - [C](c)", "         - [D](d)", "\t- [E](e)", "- [F](f)", "\t- [G](g)"), lines(
			"numbered", "  1: A <a>", "    2: B <b>", "      3: C <c>", "        4: D <d>", "      5: E <e>", "  6: F <f>", "    7: G <g>")},
		{"an indent of one space doesn't nest", lines("- [A](a)", " - [B](b)"), lines("numbered", "  1: A <a>", "  2: B <b>")},
		{"a tab after a nested marker counts from the marker", lines("1) [A](a)", "   -\t[B](b)", "    \t- [C](c)"), lines(
			"numbered", "  1: A <a>", "    2: B <b>", "      3: C <c>")},
		{"all markers of lists", lines("- [A](a)", "* [B](b)", "+ [C](c)", "1. [D](d)", "2) [E](e)"), lines(
			"numbered", "  1: A <a>", "  2: B <b>", "  3: C <c>", "  4: D <d>", "  5: E <e>")},
		{"empty lines between items", lines("- [A](a)", "", "  - [B](b)", "", "", "- [C](c)"), lines(
			"numbered", "  1: A <a>", "    3: B <b>", "  6: C <c>")},
		{"Windows line ends", "# S\r\n\r\n- [A](a.md)\r\n  - [B](b.md)\r\n", lines("title S", "numbered", "  3: A <a.md>", "    4: B <b.md>")},
		{"a byte order mark makes text of the first line", "\ufeff# S\n\n- [A](a)\n", lines("numbered", "  3: A <a>")},
		{"underlined headings", lines("Title", "=====", "", "- [A](a)", "", "Part", "===", "", "- [B](b)"), lines(
			"title Title", "numbered", "  4: A <a>", "  # Part", "  9: B <b>")},
		{"only the very first heading is the title", lines("[A](a)", "", "# Part", "- [B](b)"), lines(
			"prefix", "  1: A <a>", "numbered", "  # Part", "  4: B <b>")},
		{"headings of lower levels are nothing", lines("# S", "## X", "- [A](a)", "", "## Y", "", "- [B](b)"), lines(
			"title S", "numbered", "  3: A <a>", "  7: B <b>")},
		{"comments are nothing", lines("<!-- c -->", "# S", "<!--", "[A](a)", "-->", "- [B](b)", "<!-- c -->", "- [C](c)"), lines(
			"title S", "numbered", "  6: B <b>", "  8: C <c>")},
		{"an indented comment hides the title", lines(" <!-- c -->", "# S", "", "- [B](b)"), lines("numbered", "  # S", "  4: B <b>")},
		{"drafts", lines("[A]()", "", "- [B]()", "  - [C](<>)"), lines("prefix", "  1: A <>", "numbered", "  3: B <>", "    4: C <>")},
		{"markup in names", lines("- [`a` *b* **c** \\* &amp; d_e_f ![g](h) <i>j</i>](a)", "- [two", "  lines](b)", "- [two\\", "  lines](c)"), lines(
			"numbered", "  1: a b c * & d_e_f g j <a>", "  2: two lines <b>", "  4: twolines <c>")},
		{"only %20 is decoded", lines("- [A](a%20b.md)", "- [B](%E3%81%82.md)", "- [C](<a c.md>)", "- [D](日本.md)"), lines(
			"numbered", "  1: A <a b.md>", "  2: B <%E3%81%82.md>", "  3: C <a c.md>", "  4: D <日本.md>")},
		{"escapes and references in destinations", lines(`- [A](a\_b&amp;c&#35;&#x20;\&lt;&nosuch;.md)`, `- [B](a\(b "title")`), lines(
			"numbered", "  1: A <a_b&c# &lt;&nosuch;.md>", "  2: B <a(b>")},
		{"links by reference", lines("- [A]", "- [x][c]", "- [B][]", "", "[a]: a.md", "[b]: <b c.md> 'title'", "[C]: c.md"), lines(
			"numbered", "  1: A <a.md>", "  2: x <c.md>", "  3: B <b c.md>")},
		{"addresses in angle brackets are links", lines("- <https://example.com/a.md>", "- <me@example.com>"), lines(
			"numbered", "  1: https://example.com/a.md <https://example.com/a.md>", "  2: me@example.com <me@example.com>")},
		{"text after the link", lines("- [A](a) text", "- [B](b)", "  text", "- [C](c) ---"), lines("numbered", "  1: A <a>", "  2: B <b>", "  4: C <c>")},
		{"several links in one paragraph", "[A](a) and [B](b)\n[C](c)\n", lines("prefix", "  1: A <a>", "  1: B <b>", "  2: C <c>")},
		{"prefix chapters in quotes and lesser headings", lines("> [A](a)", "", "## [B](b)"), lines("prefix", "  1: A <a>", "  3: B <b>")},
		{"a list in a quote begins the numbered chapters", lines("> - [A](a)", "", "- [B](b)"), lines("numbered", "  1: A <a>", "  3: B <b>")},
		{"code is no link", lines("    - [A](a)", "", "```", "- [B](b)", "```", "", "- [C](c)"), lines("numbered", "  7: C <c>")},
		{"the second link of an item is passed over", lines("- [A](a) [B](b)"), lines("numbered", "  1: A <a>", "ignored 1: B <b>")},
		{"a second list in an item replaces the first", lines("- [A](a)", "  - [B](b)", "  * [C](c)"), lines(
			"numbered", "  1: A <a>", "    3: C <c>", "ignored 2: B <b>")},
		{"a paragraph right after a part's title is passed over", lines("# S", "", "# Part", "", "[A](a)", "", "- [B](b)"), lines(
			"title S", "numbered", "  # Part", "  7: B <b>", "ignored 5: A <a>")},
		{"links in headings and quotes of the numbered chapters are passed over", lines("# [S](s)", "- [A](a)", "", "> [B](b)", "", "# [P](p)"), lines(
			"title S", "numbered", "  2: A <a>", "  # P", "ignored 1: S <s>", "ignored 4: B <b>", "ignored 6: P <p>")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, outline(s)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestParseFaults(t *testing.T) {
	const item = " doesn't begin with a link to its chapter: write - [Title](page.md), or - [Title]() for a draft"
	const misread = "mdBook takes this link or image for text because of a < or an unmatched parenthesis in its destination: write \\< \\( \\)"
	tests := []struct {
		name, text, want string
	}{
		{"items that don't begin with a link", lines("- Text", "- **[A](a)**", "-", "  - [B](b)", "- [ ] [C](c)", "- ![D](d)", "- [E] (e)"), lines(
			`SUMMARY.md:1: list item "- Text"`+item, `SUMMARY.md:2: list item "- **[A](a)**"`+item, `SUMMARY.md:3: list item "-"`+item,
			`SUMMARY.md:5: list item "- [ ] [C](c)"`+item, `SUMMARY.md:6: list item "- ![D](d)"`+item, `SUMMARY.md:7: list item "- [E] (e)"`+item)},
		{"a list in a list item", lines("- - [A](a)"), lines(`SUMMARY.md:1: list item "- - [A](a)"` + item)},
		{"a faulty item below a faulty item", lines("- Text", "  - More"), lines(
			`SUMMARY.md:1: list item "- Text"`+item, `SUMMARY.md:2: list item "- More"`+item)},
		{"lists and parts after the suffix chapters", lines("- [A](a)", "", "[B](b)", "", "- [C](c)", "", "text", "", "# Part", "", "- [D](d)"), lines(
			"SUMMARY.md:5: this list comes after the paragraph in line 3, with which mdBook begins the suffix chapters: move it above that paragraph, or make the paragraph a heading of level 2 (## …)",
			"SUMMARY.md:9: this title of a part comes after the paragraph in line 7, with which mdBook begins the suffix chapters: move it above that paragraph, or make the paragraph a heading of level 2 (## …)")},
		{"the same file twice, by whatever path", lines("[A](a.md)", "", "- [B](./a.md)", "  - [C](b/../a.md)", "- [D](d//e.md)", "- [E](d/e.md)", "- [F]()", "- [G]()"), lines(
			`SUMMARY.md:3: chapter "B" links to ./a.md, as chapter "A" in line 1 does: a file can be one chapter only, remove one of the lines`,
			`SUMMARY.md:4: chapter "C" links to b/../a.md, as chapter "A" in line 1 does: a file can be one chapter only, remove one of the lines`,
			`SUMMARY.md:6: chapter "E" links to d/e.md, as chapter "D" in line 5 does: a file can be one chapter only, remove one of the lines`)},
		{"bytes that aren't UTF-8", "# S\n\n- [A](\xff)\n", "SUMMARY.md:3: not UTF-8 text: save the file as UTF-8\n"},
		{"a control character", "# S\n\n- [A](a\x00b)\n\f\n", "SUMMARY.md:3: mdBook takes the control character U+0000 now for text, now for white space: remove it\n"},
		{"destinations that goldmark understands and mdBook doesn't", lines("- [A](<a<b>)", "- [B](a(b \"t\")", "", "[c]: a(b"), lines(
			"SUMMARY.md:1: "+misread, "SUMMARY.md:2: "+misread, "SUMMARY.md:4: "+misread)},
		{"white space after a definition", lines("- [A]", "", "[a]: a.md", "    ", "- [B](b)"), lines(
			"SUMMARY.md:4: mdBook takes the white space in this line, after a link definition, for a paragraph: make the line empty")},
		{"a text made to keep the parser busy", strings.Repeat("[a](", 10_000),
			"SUMMARY.md: it is nested too deeply, or has a paragraph of many thousand links: write it as plain lists of links\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse([]byte(tt.text))
			if s == nil {
				t.Error("no summary")
			}
			if diff := cmp.Diff(tt.want, fmt.Sprintln(err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestThousandsOfFaultsAreCut(t *testing.T) {
	_, err := Parse([]byte(strings.Repeat("- no link\n", 50_000)))
	errs := diagnostic.FromError(err)
	if len(errs) != maxFaults+1 {
		t.Fatalf("%d faults, want %d", len(errs), maxFaults+1)
	}
	if last := errs[maxFaults]; last.Line != maxFaults+1 || !strings.Contains(last.Message, "more faults") {
		t.Errorf("the last is %q", last)
	}
}

package summary

import (
	"math/rand/v2"
	"strings"
)

// randomSummary makes up a SUMMARY.md of what people write into one, and of
// what they had better not.
func randomSummary(r *rand.Rand) string {
	pick := func(options ...string) string { return options[r.IntN(len(options))] }
	pages := []string{"a.md", "b.md", "c.md", "d/e.md", "d/f g.md", "h&i.md", "README.md", "d/README.md", "z.txt"}
	page := func() string {
		p := pages[r.IntN(len(pages))]
		switch r.IntN(12) {
		case 0:
			return "./" + p
		case 1:
			return "d/../" + p
		case 2:
			return pick("../a.md", "/a.md", "https://example.com/a.md", "missing.md", "d", "d/", "A.md", ".", "print.md", "d//e.md", "b.md/")
		case 3:
			return p + pick("#top", "?x", "%20", "%41", "&amp;", "\\_", "&#35;", "\\")
		}
		return p
	}
	name := func() string {
		return pick("One", "Two words", "`code`", "*em* b", "**strong**", "a\\*b", "&amp;", "", "日本", "a [b] c", "two\nlines",
			"![i](i.png)", "a <b>c</b>", "<!-- c -->", "<https://x.y>", "x_y_z", "a`b", "a\\\nb")
	}
	link := func() string {
		p := page()
		switch r.IntN(24) {
		case 0:
			return "[" + name() + "]()"
		case 1:
			return "[" + name() + "](<" + p + ">)"
		case 2:
			return "[" + name() + "](" + strings.ReplaceAll(p, " ", "%20") + " \"title\")"
		case 3:
			return pick("[ref]", "[One][ref]", "[ref][]", "[Two][other]", "[REF]", "[none]")
		case 4:
			return pick("<https://example.com>", "<me@example.com>", "![One](a.md)", "[One] (a.md)", "One", "**[One](a.md)**",
				"`[One](a.md)`", "\\[One](a.md)", "[One](a.md", "<!-- c --> [One](a.md)", "[ ] [One](a.md)", "[[One](a.md)](b.md)")
		case 5:
			return "[" + name() + "](" + p + ") " + pick("text", "[Two](b.md)", "<!-- c -->", "`x`", "  ", "\\")
		}
		if strings.Contains(p, " ") {
			p = pick(strings.ReplaceAll(p, " ", "%20"), "<"+p+">", p)
		}
		return "[" + name() + "](" + p + ")"
	}
	marker := func() string {
		return pick("- ", "- ", "- ", "- ", "* ", "+ ", "1. ", "2) ", "10. ", "-   ", "-\t", "-     ", "-")
	}
	indent := func() string {
		return pick("", "", "", "", "  ", "  ", "    ", "    ", " ", "   ", "      ", "        ", "\t", "\t\t")
	}
	line := func() string {
		switch r.IntN(20) {
		case 0:
			return pick("# Part", "# ", "# P *q* `r`", "#No", "Title\n===", "# [One](a.md)", "   # Part", "    # Code", "\\# no", "# Part #")
		case 1:
			return pick("## Sub", "Sub\n---", "### x [One](a.md)", "###### y")
		case 2:
			return pick("---", "***", "___", "- - -", "* * *", "-----", " ---", "    ---", "==")
		case 3:
			return pick("<!-- c -->", "<!--\n- [One](a.md)\n-->", "<div>", "</div>", "<!-- open", "<b>x</b>", "<?x?>")
		case 4:
			return pick("[ref]: a.md", "[other]: <d/e.md> 'title'", "[ref]: b.md \"a\nb\"", "  [ref]:\na.md", "[ref]: a.md x")
		case 5:
			return pick("text", "> quote", "> - [One](a.md)", "> [One](a.md)", "```\n- [One](a.md)\n```", "~~~", "    code", "\\", "a  ", "&nbsp;")
		case 6, 7:
			return ""
		case 8:
			return pick("  ", "\t", "    ", "\u00a0", "\ufeff")
		case 9, 10, 11:
			return link()
		case 12:
			return indent() + link()
		}
		return indent() + marker() + link()
	}
	var b strings.Builder
	if r.IntN(2) == 0 {
		b.WriteString("# Summary\n\n")
	}
	for range 1 + r.IntN(10) {
		b.WriteString(line())
		b.WriteString("\n")
		if r.IntN(4) == 0 {
			b.WriteString("\n")
		}
	}
	s := b.String()
	switch r.IntN(20) {
	case 0:
		s = strings.ReplaceAll(s, "\n", "\r\n")
	case 1:
		s = strings.TrimRight(s, "\n")
	case 2:
		s = "\ufeff" + s
	}
	return s
}

// mutate spoils a few bytes.
func mutate(r *rand.Rand, s string) string {
	const special = "\n\n\n  \t-*+#[]()<>!`\\&;:\"'_=~1.0\r\x00a"
	b := []byte(s)
	for range 1 + r.IntN(4) {
		i := r.IntN(len(b) + 1)
		j := min(len(b), i+1+r.IntN(6))
		switch r.IntN(4) {
		case 0:
			b = append(b[:i:i], b[j:]...)
		case 1:
			b = append(b[:j:j], b[i:]...)
		default:
			b = append(b[:i:i], append([]byte{special[r.IntN(len(special))]}, b[i:]...)...)
		}
	}
	return strings.ToValidUTF8(string(b), "?")
}

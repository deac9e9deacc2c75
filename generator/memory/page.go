package memory

import (
	"bytes"
	"iter"
	"strings"
	"unicode"
)

// longestWord is the longest that mdBook indexes, in bytes.
const longestWord = 80

// Page counts a chapter's page, with all that it includes. Names are the chapter's and
// those of the chapters that it is nested in: each section of the page is found by them.
func (c *Counter) Page(names iter.Seq[string], text []byte) {
	if c.bodies == nil {
		c.headings, c.bodies, c.paths = field{}, field{}, field{}
	}
	c.bytes += int64(len(text))
	c.countMarks(text)
	c.section()
	before, path := c.sections, int64(0)
	for name := range names {
		path += c.add(c.paths, strings.ToLower(name), false)
	}
	s := scanner{Counter: c}
	for line := range strings.Lines(string(bytes.ToLower(text))) {
		s.line(strings.TrimRight(strings.TrimLeft(line, " \t>"), " \t\r\n"))
	}
	c.places += path * (c.sections - before + 1)
}

// section begins a section of the search index.
func (c *Counter) section() {
	c.sections++
	c.longest, c.words = max(c.longest, c.words), 0
}

// countMarks counts the characters that may begin or end an element within a line.
func (c *Counter) countMarks(text []byte) {
	for _, b := range text {
		switch b {
		case '*', '_', '`', '|', '<', '~', '\\', '&', '"', '\'', '$':
			c.marks++
		case '[':
			c.marks++
			c.links++
		}
	}
	c.images += int64(bytes.Count(text, []byte("![")))
	c.notes += int64(bytes.Count(text, []byte("[!")))
}

// scanner goes through the lines of a page. It knows of Markdown what it takes not to
// count much too little: fences of code, in which # begins no heading, and headings.
type scanner struct {
	*Counter
	fence string // of the block of code that the line is in
	text  string // the line before, if that may be a heading's text
}

// line counts a line in small letters, without what it is indented by.
func (s *scanner) line(line string) {
	if line == "" {
		s.text = ""
		return
	}
	s.blocks++
	switch {
	case s.fence != "":
		if len(line) >= len(s.fence) && strings.Trim(line, s.fence[:1]) == "" {
			s.fence = ""
			return
		}
		if line[0] == '#' { // hidden, in Rust
			s.marks++
		}
		s.places += s.add(s.bodies, line, true)
		return
	case isHeading(line):
		s.heading(line)
	case s.text != "" && isUnderline(line):
		s.heading(s.text)
	default:
		s.fence = fenceOf(line)
		if s.text = line; s.fence != "" {
			s.text = ""
		}
	}
	s.places += s.add(s.bodies, line, false)
}

// heading begins a section with a heading.
func (s *scanner) heading(line string) {
	s.section()
	s.places += s.add(s.headings, line, false) + s.add(s.paths, line, false)
	s.text = ""
}

func isHeading(line string) bool {
	return strings.HasPrefix(line, "#") || strings.Contains(line, "<h")
}

// isUnderline reports whether a line makes a heading of the one before.
func isUnderline(line string) bool {
	return strings.Trim(line, "=") == "" || strings.Trim(line, "-") == ""
}

// fenceOf returns the fence of the block of code that a line begins, in a list perhaps;
// empty if it begins none.
func fenceOf(line string) string {
	line = strings.TrimLeft(line, "-*+.0123456789) ")
	for _, char := range []string{"`", "~"} {
		fence := line[:len(line)-len(strings.TrimLeft(line, char))]
		if len(fence) >= 3 && (char == "~" || !strings.Contains(line[len(fence):], "`")) {
			return fence
		}
	}
	return ""
}

// cutWord cuts a text at the end of its first word. Outside of code, the destination of
// a link and a tag aren't in the page's text: they end a word and are dropped.
func cutWord(text string, code bool) (word, rest string) {
	for i, r := range text {
		switch {
		case unicode.IsSpace(r), r == '-':
			return text[:i], text[i+len(string(r)):]
		case code:
		case r == '|':
			return text[:i], text[i+1:]
		case r == '<':
			if end := near(text[i:], '>'); end >= 0 {
				return text[:i], text[i+end+1:]
			}
		case r == ']' && strings.HasPrefix(text[i:], "]("):
			if end := near(text[i:], ')'); end >= 0 {
				return text[:i], text[i+end+1:]
			}
		}
	}
	return text, ""
}

// near finds where a tag or a destination ends, unless that is far away.
func near(text string, end byte) int {
	const longest = 1000
	return strings.IndexByte(text[:min(len(text), longest)], end)
}

// indexed yields what mdBook may index of a word. One that is too long is dropped,
// unless it is several that marks between them join.
func indexed(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(word) <= longestWord {
			yield(word)
			return
		}
		for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune("`*_[]()<>~\"'&\\", r) }) {
			if len(part) <= longestWord && !yield(part) {
				return
			}
		}
	}
}

// isTrimmed reports whether the search index trims a character off the ends of a word:
// all but ASCII letters, digits and underscores. So it holds no Japanese text.
func isTrimmed(r rune) bool {
	return r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
}

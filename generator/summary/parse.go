package summary

import (
	"bytes"
	"unicode/utf8"

	"github.com/zoetrope/markdown-view/generator/summary/commonmark"
)

// Parse reads a SUMMARY.md as mdBook's parse_summary does. Unlike mdBook it goes
// on after a fault, so that the error, a [diagnostic.List], holds all of them; the
// Summary is what could be read, and never nil. In it a list item that isn't a
// link is a draft without a name.
//
// mdBook refuses a second link to the same path, which it compares component by
// component: ./a.md and a.md are two files to it, and the second page overwrites
// the first. Here a file is the same however its path is written.
func Parse(text []byte) (*Summary, error) {
	s, errs := parse(text)
	return s, errs.err()
}

func parse(text []byte) (*Summary, faults) {
	var errs faults
	if line := invalidLine(text); line > 0 {
		errs.add(line, "not UTF-8 text: save the file as UTF-8")
		return &Summary{}, errs
	}
	if commonmark.Cost(text) > commonmark.MaxCost {
		errs.add(0, "it is nested too deeply, or has a paragraph of many thousand links: write it as plain lists of links")
		return &Summary{}, errs
	}
	text = normalize(text)
	var e emitter
	e.read(text)
	m := machine{source: text, lines: commonmark.NewLines(text), events: e.events, read: map[int]*Chapter{}}
	m.pitfalls(e)
	s := m.summary()
	return s, append(m.errs, duplicates(s)...)
}

// invalidLine is the line of the first byte that isn't UTF-8, or 0.
func invalidLine(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return bytes.Count(text[:i], []byte{'\n'}) + 1
		}
		i += size
	}
	return 0
}

// pitfalls finds what pulldown_cmark reads in ways of its own. mdBook may well
// build such a book, but hardly the one that its author means.
func (m *machine) pitfalls(e emitter) {
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }
	if i := bytes.IndexFunc(m.source, control); i >= 0 {
		m.errs.add(m.lines.Number(i), "mdBook takes the control character %U now for text, now for white space: remove it", m.source[i])
	}
	for _, pos := range e.misread {
		m.errs.add(m.lines.Number(pos), "mdBook takes this link or image for text because of a < or an unmatched parenthesis in its destination: write \\< \\( \\)")
	}
	for _, end := range e.definitions {
		next := m.lines.Number(end) // a number counts from 1: this is the index of the next line
		if next == len(m.lines) {
			continue
		}
		line, _, _ := bytes.Cut(m.source[m.lines[next]:], []byte{'\n'})
		if len(line) >= 4 && len(bytes.TrimLeft(line, " ")) == 0 {
			m.errs.add(next+1, "mdBook takes the white space in this line, after a link definition, for a paragraph: make the line empty")
		}
	}
}

func duplicates(s *Summary) faults {
	var errs faults
	first := map[string]*Chapter{}
	for c := range s.Chapters() {
		if c.Draft() {
			continue
		}
		earlier, ok := first[c.Path()]
		if !ok {
			first[c.Path()] = c
			continue
		}
		errs.add(c.Line, "chapter %q links to %s, as chapter %q in line %d does: a file can be one chapter only, remove one of the lines",
			c.Name, c.Location, earlier.Name, earlier.Line)
	}
	return errs
}

package summary

import (
	"bytes"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/summary/commonmark"
)

// machine is mdBook's SummaryParser. Its methods are that one's, in the same
// order and with the same twists.
type machine struct {
	source []byte
	lines  commonmark.Lines
	events []event
	next   int              // the event that comes next
	read   map[int]*Chapter // the links that became chapters, by event
	errs   faults
}

// take returns the next event and steps over it.
func (m *machine) take() (e event, ok bool) {
	if m.next == len(m.events) {
		return event{}, false
	}
	m.next++
	return m.events[m.next-1], true
}

// back undoes a take.
func (m *machine) back() {
	m.next--
}

func (m *machine) summary() *Summary {
	s := &Summary{Title: m.title()}
	s.Prefix = m.affix()
	for {
		s.Numbered = append(s.Numbered, m.parts()...)
		suffix := m.next
		s.Suffix = append(s.Suffix, m.affix()...)
		e, ok := m.take()
		if !ok {
			break
		}
		// Here mdBook gives up. Going on with another round finds the other faults.
		m.back()
		m.afterSuffix(m.events[suffix], e)
	}
	s.Ignored = m.ignored(s)
	if i := slices.IndexFunc(m.events, func(e event) bool { return e.starts(tagCodeBlock) }); i >= 0 {
		s.Code = m.lines.Number(m.events[i].pos)
	}
	return s
}

func (m *machine) afterSuffix(suffix, e event) {
	what := "list"
	if e.starts(tagHeading1) {
		what = "title of a part"
	}
	m.errs.add(m.lines.Number(e.pos), "this %s comes after the paragraph in line %d, with which mdBook begins the suffix chapters: "+
		"move it above that paragraph, or make the paragraph a heading of level 2 (## …)", what, m.lines.Number(suffix.pos))
}

func (m *machine) title() string {
	for {
		e, ok := m.take()
		switch {
		case !ok:
			return ""
		case e.starts(tagHeading1):
			return m.collect(tagHeading1)
		case e.kind == evHTML, e.tag == tagHTMLBlock && e.kind <= evEnd: // comments
		default:
			m.back()
			return ""
		}
	}
}

// affix reads chapters without numbers up to the next list or heading of level
// 1, at whatever depth: mdBook looks into quotes and lesser headings too.
func (m *machine) affix() []Item {
	var items []Item
	for {
		e, ok := m.take()
		switch {
		case !ok:
			return items
		case e.isList(), e.starts(tagHeading1):
			m.back()
			return items
		case e.starts(tagLink):
			items = append(items, Item{Kind: Link, Chapter: m.link(e)})
		case e.kind == evRule:
			items = append(items, Item{Kind: Separator})
		}
	}
}

func (m *machine) parts() []Item {
	var items []Item
	for {
		e, ok := m.take()
		switch {
		case !ok:
			return items
		case e.starts(tagParagraph): // the suffix chapters begin
			m.back()
			return items
		case e.starts(tagHeading1):
			items = append(items, Item{Kind: PartTitle, Title: m.collect(tagHeading1)})
		default:
			m.back()
		}
		items = append(items, m.numbered()...)
	}
}

// numbered reads the lists of a part.
func (m *machine) numbered() []Item {
	var items []Item
	// A paragraph ends the part, unless it is the very first event: then mdBook
	// skips its start, and so whatever it contains.
	for first := true; ; first = false {
		e, ok := m.take()
		switch {
		case !ok:
			return items
		case e.starts(tagParagraph) && first:
		case e.starts(tagParagraph), e.starts(tagHeading1):
			m.back()
			return items
		case e.isList():
			for _, c := range m.nested() {
				items = append(items, Item{Kind: Link, Chapter: c})
			}
		case e.kind == evStart:
			m.skip(e.tag)
		case e.kind == evRule:
			items = append(items, Item{Kind: Separator})
		}
	}
}

// skip steps over all up to the next end of a tag, were it that of a child.
func (m *machine) skip(t tag) {
	for {
		if e, ok := m.take(); !ok || e.kind == evEnd && e.tag == t {
			return
		}
	}
}

// nested reads the items of a list whose start has been taken.
func (m *machine) nested() []*Chapter {
	var chapters []*Chapter
	for {
		e, ok := m.take()
		switch {
		case !ok, e.kind == evEnd && (e.tag == tagList || e.tag == tagOrderedList):
			return chapters
		case e.starts(tagItem):
			chapters = append(chapters, m.item(e))
		case e.isList() && len(chapters) > 0:
			// A second list in the same item replaces the first: see Summary.Ignored.
			chapters[len(chapters)-1].Nested = m.nested()
		}
	}
}

// item reads the link at the beginning of a list item.
func (m *machine) item(i event) *Chapter {
	for {
		e, ok := m.take()
		switch {
		case ok && e.starts(tagParagraph):
			continue
		case ok && e.starts(tagLink):
			return m.link(e)
		case ok && e.isList():
			m.back() // for nested, to find the faults in there
		}
		m.notALink(i)
		return &Chapter{Line: m.lines.Number(i.pos)}
	}
}

func (m *machine) notALink(i event) {
	line, _, _ := bytes.Cut(m.source[i.pos:], []byte{'\n'})
	m.errs.add(m.lines.Number(i.pos), "list item %.60q doesn't begin with a link to its chapter: "+
		"write - [Title](page.md), or - [Title]() for a draft", bytes.TrimSpace(line))
}

// link makes the chapter of a link whose start has just been taken.
func (m *machine) link(e event) *Chapter {
	index := m.next - 1
	c := &Chapter{Location: strings.ReplaceAll(e.text, "%20", " "), Line: m.lines.Number(e.pos)}
	c.Name = m.collect(tagLink)
	m.read[index] = c
	return c
}

// collect returns the text up to the next end of a tag, as stringify_events
// does.
func (m *machine) collect(t tag) string {
	var b strings.Builder
	for {
		e, ok := m.take()
		switch {
		case !ok, e.kind == evEnd && e.tag == t:
			return b.String()
		case e.kind == evText:
			b.WriteString(e.text)
		case e.kind == evSoftBreak:
			b.WriteByte(' ')
		}
	}
}

// ignored finds the links that aren't chapters of s.
func (m *machine) ignored(s *Summary) []*Chapter {
	kept := map[*Chapter]bool{}
	for c := range s.Chapters() {
		kept[c] = true
	}
	var ignored []*Chapter
	for i, e := range m.events {
		if !e.starts(tagLink) {
			continue
		}
		c := m.read[i]
		if c == nil {
			m.next = i + 1
			c = m.link(e)
		}
		if !kept[c] {
			ignored = append(ignored, c)
		}
	}
	return ignored
}

package links

import (
	"bytes"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mdBook's limit. What is nested more deeply includes itself, most likely.
const maxDepth = 10

// page is a chapter's text with all that it includes, as mdBook renders it.
type page struct {
	text  []byte
	spans []span
}

// span begins at an offset of the page and tells where its text comes from.
type span struct {
	offset int
	file   string
	line   int
}

// origin finds where the text at an offset comes from.
func (p *page) origin(offset int) (file string, line int) {
	s := p.spans[sort.Search(len(p.spans), func(i int) bool { return p.spans[i].offset > offset })-1]
	return s.file, s.line + bytes.Count(p.text[s.offset:offset], []byte{'\n'})
}

func (p *page) add(file string, line int, text []byte) {
	if len(text) > 0 {
		p.spans = append(p.spans, span{len(p.text), file, line})
		p.text = append(p.text, text...)
	}
}

// expand returns a chapter's page. The text is not copied if it has no directives.
func (c *checker) expand(file string) *page {
	text := c.files[file]
	for range directives(text) {
		p := &page{}
		c.appendTo(p, part{file: file, line: 1, text: text}, 0)
		return p
	}
	return &page{text: text, spans: []span{{0, file, 1}}}
}

// part is a piece of a file that begins at a line.
type part struct {
	file string
	line int
	text []byte
}

// appendTo appends a part with all that it includes.
func (c *checker) appendTo(p *page, in part, depth int) {
	done, line := 0, in.line
	for d := range directives(in.text) {
		d.line += in.line - 1
		begin, parts := d.start, []part(nil)
		if include, ok := d.include(in.file); ok {
			if parts, ok = c.included(include, in.file, depth); !ok {
				continue // mdBook leaves it as it is
			}
		} else if d.kind == "" {
			parts = []part{{in.file, d.line, in.text[d.start+1 : d.end]}}
		} else if d.kind != "title" {
			continue
		}
		p.add(in.file, line, in.text[done:begin])
		for _, part := range parts {
			if d.kind == "" {
				p.add(part.file, part.line, part.text)
			} else {
				c.appendTo(p, part, depth+1)
			}
		}
		done, line = d.end, d.line+bytes.Count(in.text[d.start:d.end], []byte{'\n'})
	}
	p.add(in.file, line, in.text[done:])
}

// included returns what a directive in a file stands for; nothing if mdBook leaves
// the directive in the text.
func (c *checker) included(include Include, file string, depth int) ([]part, bool) {
	text, ok := c.files[include.Path]
	if fault := c.includeFault(include, text, ok); fault != "" {
		c.warn(file, include.Line, "{{#%s %s}}: %s, so mdBook leaves this text in the page", include.Kind, include.Target, fault)
		return nil, false
	}
	if depth >= maxDepth {
		c.warn(file, include.Line, "{{#%s %s}}: nested %d deep, so mdBook leaves it out: does the file include itself?", include.Kind, include.Target, depth)
		return nil, true
	}
	c.expansions--
	c.expanded -= len(text)
	if c.expansions < 0 || c.expanded < 0 {
		return nil, true
	}
	if include.Kind == "playground" {
		return []part{{text: []byte("```rust\n")}, {include.Path, 1, text}, {text: []byte("\n```\n")}}, true
	}
	parts, found := selectLines(include.Path, text, include.selection)
	if !found {
		c.warn(file, include.Line, "{{#%s %s}}: %s has no anchor %s, so mdBook includes nothing",
			include.Kind, include.Target+":"+include.selection, include.Path, include.selection)
	}
	return parts, true
}

func (c *checker) includeFault(include Include, text []byte, exists bool) string {
	switch {
	case strings.HasPrefix(include.Path, "/"):
		return "a path that begins with / is outside the book"
	case include.Path == ".." || strings.HasPrefix(include.Path, "../"):
		return include.Path + " is outside the book"
	case !exists:
		return "the book has no file " + include.Path
	case !utf8.Valid(text):
		return include.Path + " is not UTF-8 text"
	}
	return ""
}

var (
	anchorStart = regexp.MustCompile(`ANCHOR:` + space + `*([\p{L}\p{M}\p{Nd}\p{Pc}-]+)`)
	anchorEnd   = regexp.MustCompile(`ANCHOR_END:` + space + `*([\p{L}\p{M}\p{Nd}\p{Pc}-]+)`)
)

// selectLines takes the lines of a file that a directive names after the colon:
// 5 or 5:10 or 5: or :10 or an anchor's name, or nothing for all. It reports
// false if the anchor isn't found.
func selectLines(file string, text []byte, selection string) ([]part, bool) {
	from, rest, more := strings.Cut(selection, ":")
	first, err := lineNumber(from)
	if err != nil && from != "" {
		return anchored(file, text, from)
	}
	last := len(text)
	if to, _, _ := strings.Cut(rest, ":"); more {
		if n, err := lineNumber(to); err == nil {
			last = n
		}
	} else if from != "" {
		last = max(first, 1)
	}
	selected := part{file: file, line: max(first, 1)}
	number, begin := 0, 0
	for l := range bytes.Lines(text) {
		if number++; number < selected.line {
			begin += len(l)
		} else if number <= last {
			selected.text = text[begin : begin+len(selected.text)+len(l)]
		}
	}
	selected.text = bytes.TrimSuffix(selected.text, []byte{'\n'})
	return []part{selected}, true
}

// lineNumber reads a line's number as Rust's parse::<usize> does.
func lineNumber(s string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 31)
	return int(n), err
}

// anchored takes the lines between an ANCHOR and its ANCHOR_END, without those
// that hold other anchors.
func anchored(file string, text []byte, name string) (parts []part, found bool) {
	number := 0
	for l := range bytes.Lines(text) {
		number++
		begin, end := anchorStart.FindSubmatch(l), anchorEnd.FindSubmatch(l)
		switch {
		case !found:
			found = begin != nil && string(begin[1]) == name
		case end != nil && string(end[1]) == name:
			return parts, true
		case begin == nil && end == nil:
			parts = append(parts, part{file, number, l})
		}
	}
	return parts, found
}

package links

import (
	"bytes"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zoetrope/markdown-view/generator/summary/commonmark"
)

// mdBook's limit. What is nested more deeply includes itself, most likely.
const maxDepth = 10

// page is a chapter's text with all that it includes, as mdBook renders it.
type page struct {
	text  []byte
	spans []span
	lines commonmark.Lines // made when needed
}

// span begins at an offset of the page and tells where its text comes from.
type span struct {
	offset int
	file   string
	line   int
}

// origin finds where the text at an offset comes from.
func (p *page) origin(offset int) (file string, line int) {
	if p.lines == nil {
		p.lines = commonmark.NewLines(p.text)
	}
	s := p.spans[sort.Search(len(p.spans), func(i int) bool { return p.spans[i].offset > offset })-1]
	return s.file, s.line + p.lines.Number(offset) - p.lines.Number(s.offset)
}

func (p *page) add(file string, line int, text []byte) {
	if len(text) > 0 {
		p.spans = append(p.spans, span{len(p.text), file, line})
		p.text = append(p.text, text...)
	}
}

// expand returns a chapter's page. The text is not copied if it has no directives.
func (c *checker) expand(file string) *page {
	text := bytes.TrimPrefix(c.files[file], []byte("\ufeff")) // as mdBook does
	if c.options.NoIncludes {
		return &page{text: text, spans: []span{{file: file, line: 1}}}
	}
	for range directives(text) {
		p := &page{}
		c.appendTo(p, part{file: file, line: 1, text: text}, 0)
		return p
	}
	return &page{text: text, spans: []span{{file: file, line: 1}}}
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
		parts, ok := c.replacement(d, in, depth)
		if !ok {
			continue
		}
		p.add(in.file, line, in.text[done:d.start])
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

// replacement returns what a directive stands for; false if mdBook leaves it in
// the text.
func (c *checker) replacement(d directive, in part, depth int) ([]part, bool) {
	switch include, ok := d.include(in.file); {
	case ok:
		return c.included(include, in.file, depth)
	case d.kind == "" && depth < maxDepth: // escaped: the text without the backslash
		return []part{{in.file, d.line, in.text[d.start+1 : d.end]}}, true
	}
	return nil, d.kind == "" || d.kind == "title"
}

// included returns the text that a file takes in.
func (c *checker) included(include Include, file string, depth int) ([]part, bool) {
	if c.expansions--; c.spent() {
		return nil, true
	}
	text, ok := c.files[include.Path]
	if fault := c.includeFault(include, text, ok); fault != "" {
		c.warn(brokenIncludes, file, include.Line, "{{#%s %s}}: %s, so mdBook leaves this text in the page", include.Kind, include.argument, fault)
		return nil, false
	}
	if depth >= maxDepth {
		c.warn(brokenIncludes, file, include.Line, "{{#%s %s}}: nested %d deep, so mdBook leaves it out: does the file include itself?", include.Kind, include.argument, depth)
		return nil, true
	}
	c.expanded -= len(text)
	if include.Kind == "playground" {
		c.taken += len(text)
		return []part{{text: []byte("```rust\n")}, {include.Path, 1, text}, {text: []byte("\n```\n")}}, true
	}
	if c.measuring && include.Kind == "rustdoc_include" { // all of it, with some lines hidden
		include.selection = ""
	}
	parts, found := selectLines(include.Path, text, include.selection)
	for _, part := range parts {
		c.taken += len(part.text)
	}
	if !found {
		c.warn(brokenIncludes, file, include.Line, "{{#%s %s}}: %s has no anchor %s, so mdBook includes nothing",
			include.Kind, include.argument, include.Path, include.selection)
	}
	return parts, true
}

func (c *checker) includeFault(include Include, text []byte, exists bool) string {
	switch {
	case strings.HasPrefix(include.Path, "/"):
		return "a path that begins with / is outside the book"
	case include.Path == ".." || strings.HasPrefix(include.Path, "../"):
		return include.Path + " is outside the book"
	case !exists && c.options.Absent != nil && c.options.Absent(include.Path) != "":
		return include.Path + " " + c.options.Absent(include.Path)
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
		parts, found := anchored(file, text, from)
		if n := len(parts); n > 0 {
			parts[n-1].text = bytes.TrimSuffix(parts[n-1].text, []byte{'\n'})
		}
		return parts, found
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
		if number++; number > last {
			break
		}
		if number < selected.line {
			begin += len(l)
			continue
		}
		selected.text = text[begin : begin+len(selected.text)+len(l)]
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
	number, begin, end := 0, 0, 0 // lines of a part are text[begin:end]
	take := func() {
		if begin < end {
			lines := text[begin:end]
			parts = append(parts, part{file, number - bytes.Count(lines, []byte{'\n'}), lines})
		}
	}
	for l := range bytes.Lines(text) {
		number++
		var opens, closes [][]byte
		if bytes.Contains(l, []byte("ANCHOR")) {
			opens, closes = anchorStart.FindSubmatch(l), anchorEnd.FindSubmatch(l)
		}
		if found && opens == nil && closes == nil {
			end += len(l)
			continue
		}
		take()
		if found && closes != nil && string(closes[1]) == name {
			return parts, true
		}
		found = found || opens != nil && string(opens[1]) == name
		end += len(l)
		begin = end
	}
	number++
	take()
	return parts, found
}

package links

import (
	"bytes"
	"iter"
	"path"
	"regexp"
	"strings"
)

// Include is a directive with which a page takes in another file, such as
// {{#include ../code/x.rs:2:5}}.
type Include struct {
	// Kind is include, rustdoc_include or playground.
	Kind string
	// Target is the file as the page names it, without the lines or the anchor
	// after the colon.
	Target string
	// Path is the file below the book's root, if the page's own path is; it begins
	// with ../ if the file is outside, and with / if Target does.
	Path string
	// Line of the page, the first is 1.
	Line int

	// argument is all that the page names: the target, a colon, and the selection
	// of lines.
	argument, selection string
}

// Includes goes through the files that a page takes in, in their order. The page is a
// slash path below the book's root; mdBook looks for the files from the page's own
// folder. Those that an included file takes in are found by calling Includes with
// its Path and content. Directives after a backslash are none.
func Includes(page string, text []byte) iter.Seq[Include] {
	return func(yield func(Include) bool) {
		for d := range directives(text) {
			if include, ok := d.include(page); ok && !yield(include) {
				return
			}
		}
	}
}

// directive is {{#kind args}} in a text, or anything like it after a backslash:
// then its kind is empty.
type directive struct {
	start, end int
	line       int
	kind, args string
}

func (d directive) include(page string) (Include, bool) {
	words := strings.Fields(d.args)
	if len(words) == 0 {
		return Include{}, false
	}
	include := Include{Kind: d.kind, Target: words[0], Line: d.line, argument: words[0]}
	switch d.kind {
	case "include", "rustdoc_include":
		include.Target, include.selection, _ = strings.Cut(words[0], ":")
	case "playpen": // its former name
		include.Kind = "playground"
	case "playground":
	default:
		return Include{}, false
	}
	include.Path = path.Clean(include.Target)
	if !path.IsAbs(include.Path) {
		include.Path = path.Join(path.Dir(page), include.Path)
	}
	return include, true
}

// space is what Rust's regex takes for white space.
const space = `[\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]`

// pattern is mdBook's for a directive that isn't escaped.
var pattern = regexp.MustCompile(`^\{\{` + space + `*#([a-zA-Z0-9_]+)` + space + `+([^}]+)\}\}$`)

// directives finds what the regular expression of mdBook's links preprocessor
// finds, in time linear in the text: \\\{\{\#.*\}\} (escaped, to the last braces
// of the line), or else \{\{\s*\#([a-zA-Z0-9_]+)\s+([^}]+)\}\}.
func directives(text []byte) iter.Seq[directive] {
	return func(yield func(directive) bool) {
		s := scanner{text: text, line: 1, brace: -1}
		for s.open() {
			d, ok := s.escaped()
			if !ok {
				d, ok = s.plain()
			}
			if !ok {
				s.next = s.at + 1
				continue
			}
			s.next = d.end
			if !yield(d) {
				return
			}
		}
	}
}

type scanner struct {
	text    []byte
	next    int // where to go on
	at      int // the {{ looked at
	line    int // its line
	counted int // the offset up to which line counts
	brace   int // the first } after at
	barren  int // up to here a line has no }}
}

// open goes on to the next {{ that may begin a directive.
func (s *scanner) open() bool {
	i := bytes.Index(s.text[s.next:], []byte("{{"))
	if i < 0 {
		return false
	}
	s.at = s.next + i
	if s.brace < s.at {
		i = bytes.IndexByte(s.text[s.at:], '}')
		if i < 0 {
			return false
		}
		s.brace = s.at + i
	}
	s.line += bytes.Count(s.text[s.counted:s.at], []byte{'\n'})
	s.counted = s.at
	return true
}

func (s *scanner) escaped() (directive, bool) {
	rest := s.text[s.at:]
	if s.at == s.next || s.text[s.at-1] != '\\' || !bytes.HasPrefix(rest, []byte("{{#")) || s.at < s.barren {
		return directive{}, false
	}
	if end := bytes.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	end := bytes.LastIndex(rest[len("{{#"):], []byte("}}"))
	if end < 0 {
		s.barren = s.at + len(rest)
		return directive{}, false
	}
	return directive{start: s.at - 1, end: s.at + len("{{#") + end + len("}}"), line: s.line}, true
}

func (s *scanner) plain() (directive, bool) {
	end := s.brace + len("}}")
	if end > len(s.text) || s.text[end-1] != '}' {
		return directive{}, false
	}
	m := pattern.FindSubmatch(s.text[s.at:end])
	if m == nil {
		return directive{}, false
	}
	return directive{start: s.at, end: end, line: s.line, kind: string(m[1]), args: string(m[2])}, true
}

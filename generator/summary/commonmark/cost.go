// Package commonmark holds what goldmark doesn't offer to those who read a
// page's source instead of rendering it. It may import goldmark and the standard
// library only.
package commonmark

import "bytes"

// MaxCost is the Cost up to which goldmark takes a second or so.
const MaxCost = 100_000_000

// deepest is the depth of quotes beyond which goldmark's time grows faster than
// with the depth's square.
const deepest = 1000

// Cost estimates how long goldmark would be busy with a text. Its time grows with
// the text's length for what people write, but with the square of the number of
// brackets, stars and the like in one paragraph, and of the depth of quotes and
// lists, and it looks at each open list again in each line, and remembers that: a page
// of 100 KB can be made such that it takes minutes, or gigabytes. Nobody writes that,
// but anybody may hand it to a controller that serves many.
func Cost(text []byte) int {
	cost, special := 0, 0
	content := -1 // the column of the text of the item that begins in the line before
	depth := 0    // at most as many quotes, lists and items are open
	blank := true // the line before is
	for line := range bytes.Lines(text) {
		p := readPrefix(line)
		switch blankBefore := blank; {
		case p.indent == len(line): // lists stay open
			blank = true
		case blankBefore: // what isn't continued by this line is closed
			depth, blank = p.width, false
		default: // a paragraph is continued by any line, and all that it is in
			depth, blank = max(depth, p.width), false
		}
		cost += openCost*depth + p.markers*p.length/4
		item := p.item > 0 && (p.indent <= 3 || content >= 0 && p.indent <= content+3)
		if item || p.length == len(line) && p.markers == 0 { // a new paragraph
			cost += special * special
			special = 0
		}
		content = -1
		if item {
			content = p.item
		}
		if p.quotes > deepest {
			return MaxCost + 1
		}
		cost += p.quotes*p.quotes + p.indent*p.indent + 100*p.markers
		for _, c := range line {
			switch c {
			case '[', ']', '*', '_', '<', '`':
				special++
			}
		}
	}
	return cost + special*special
}

// openCost is the cost of an open node in one line: a step, and memory that is freed
// when all of them are closed.
const openCost = 50

// prefix is what comes before a line's text.
type prefix struct {
	indent  int // bytes of white space
	length  int // bytes in all
	width   int // columns in all, or more: each open node takes one, a list's item with it two
	item    int // bytes before the text of a list item, 0 if the line begins none
	quotes  int // depth of quotes
	markers int // list items in one line: each is a node of the tree
}

func readPrefix(line []byte) prefix {
	rest := bytes.TrimLeft(line, " \t\r\n")
	p := prefix{indent: len(line) - len(rest)}
	marker := bytes.TrimLeft(rest, "0123456789")
	if len(marker) > 1 && bytes.IndexByte([]byte("-+*.)"), marker[0]) >= 0 && marker[1] == ' ' {
		p.item = len(line) - len(marker) + 2
	}
	for p.length < len(line) {
		rest := line[p.length:]
		switch c := rest[0]; {
		case c == '\t':
			p.advance(1, 4)
		case isSpace(c):
			p.advance(1, 1)
		case c == '>':
			p.quotes++
			p.advance(1, 1)
		case c == '[': // the definition of a footnote holds blocks too
			end := bytes.Index(rest, []byte("]:"))
			if end < 2 || rest[1] != '^' {
				return p
			}
			p.advance(end+2, 2)
		default:
			end := len(rest) - len(bytes.TrimLeft(rest, "0123456789")) + 1
			// Without white space after it, it is none, as in a rule.
			if end > len(rest) || bytes.IndexByte([]byte("-+*.)"), rest[end-1]) < 0 || end < len(rest) && !isSpace(rest[end]) {
				return p
			}
			p.markers++
			p.advance(end, end)
		}
	}
	return p
}

func (p *prefix) advance(bytes, columns int) {
	p.length += bytes
	p.width += columns
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n'
}

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
// lists: a page of 100 KB can be made such that it takes minutes. Nobody writes
// that, but anybody may hand it to a controller that serves many.
func Cost(text []byte) int {
	cost, special := 0, 0
	content := -1 // the column of the text of the item that begins in the line before
	for line := range bytes.Lines(text) {
		p := readPrefix(line)
		item := p.item > 0 && (p.indent <= 3 || content >= 0 && p.indent <= content+3)
		if item || p.indent == len(line) { // a new paragraph
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

// prefix is what comes before a line's text.
type prefix struct {
	indent  int // bytes of white space
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
	for _, c := range rest {
		switch c {
		case '>':
			p.quotes++
		case '-', '+', '*', '.', ')':
			p.markers++
		case ' ', '\t', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		default:
			return p
		}
	}
	return p
}

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
	depth := 0    // at most as many lists and items are open
	blank := true // the line before is
	for line := range bytes.Lines(text) {
		p := readPrefix(line)
		blankBefore := blank
		blank = p.indent == len(line)
		if !blank {
			// Lists stay open over blank lines. What follows one ends those whose text
			// begins further to the right; in a paragraph it need not. The text of a list
			// is at least two columns right of its marker, and holds two nodes.
			if blankBefore {
				depth = min(depth, p.columns)
			}
			depth = max(depth, p.columns+2*p.markers)
		}
		cost += openCost*depth + p.markers*p.length/4
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

// openCost is the cost of an open node in one line: a step, and memory that is freed
// when all of them are closed.
const openCost = 50

// prefix is what comes before a line's text.
type prefix struct {
	indent  int // bytes of white space
	columns int // at most as many columns of white space
	length  int // bytes in all
	item    int // bytes before the text of a list item, 0 if the line begins none
	quotes  int // depth of quotes
	markers int // list items in one line: each is a node of the tree
}

func readPrefix(line []byte) prefix {
	rest := bytes.TrimLeft(line, " \t\r\n")
	p := prefix{indent: len(line) - len(rest)}
	p.columns = p.indent + 3*bytes.Count(line[:p.indent], []byte{'\t'})
	marker := bytes.TrimLeft(rest, "0123456789")
	if len(marker) > 1 && bytes.IndexByte([]byte("-+*.)"), marker[0]) >= 0 && marker[1] == ' ' {
		p.item = len(line) - len(marker) + 2
	}
	for i, c := range rest {
		p.length = p.indent + i
		switch c {
		case '>':
			p.quotes++
		case '-', '+', '*', '.', ')':
			// One without white space after it is none, as in a rule.
			if i+1 == len(rest) || bytes.IndexByte([]byte(" \t\r\n"), rest[i+1]) >= 0 {
				p.markers++
			}
		case ' ', '\t', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		default:
			return p
		}
	}
	return p
}

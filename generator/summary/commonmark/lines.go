package commonmark

import (
	"bytes"
	"sort"
)

// Lines finds the line of an offset in a text. It holds the offset at which each
// line begins.
type Lines []int

// NewLines goes over a text once. A line ends with \n.
func NewLines(text []byte) Lines {
	starts := make(Lines, 1, bytes.Count(text, []byte{'\n'})+1)
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// Number of the line that holds the byte at an offset; the first is 1.
func (l Lines) Number(offset int) int {
	return sort.SearchInts(l, offset+1)
}

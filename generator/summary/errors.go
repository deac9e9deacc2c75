package summary

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/summary/commonmark"
)

// faults are those of one SUMMARY.md.
type faults diagnostic.List

// maxFaults is how many faults are told: a file of a megabyte may have one in each line.
const maxFaults = 1000

// add adds a fault; line is 0 if it concerns the whole file.
func (f *faults) add(line int, format string, args ...any) {
	switch {
	case len(*f) > maxFaults:
		return
	case len(*f) == maxFaults:
		format, args = "there are more faults from here on: fix those before first", nil
	}
	*f = append(*f, diagnostic.Problem{File: FileName, Line: line, Message: commonmark.Printable(fmt.Sprintf(format, args...))})
}

// err returns the faults by line.
func (f faults) err() error {
	slices.SortStableFunc(f, func(a, b diagnostic.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return diagnostic.List(f).Err()
}

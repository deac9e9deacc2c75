package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/summary/commonmark"
)

// Error is one fault of a SUMMARY.md.
type Error struct {
	// Line of the fault; the first is 1. 0 if it concerns the whole file.
	Line int
	// Message says what is wrong and what to do about it.
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return FileName + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", FileName, e.Line, e.Message)
}

// Errors are all faults of one SUMMARY.md by line. It is the type behind every
// error of this package.
type Errors []*Error

// Error gives one line for each fault.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find an *Error.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

// maxErrors is how many faults are told: a file of a megabyte may have one in each line.
const maxErrors = 1000

func (e *Errors) add(line int, format string, args ...any) {
	switch {
	case len(*e) > maxErrors:
		return
	case len(*e) == maxErrors:
		format, args = "there are more faults from here on: fix those before first", nil
	}
	*e = append(*e, &Error{Line: line, Message: commonmark.Printable(fmt.Sprintf(format, args...))})
}

// orNil sorts by line; it avoids an error interface that holds an empty list.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	return e
}

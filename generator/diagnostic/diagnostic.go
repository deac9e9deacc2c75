// Package diagnostic has the one type for what is wrong with a view or its book: parsers
// and checks return it, and front ends show it. How a problem is written, how many are
// listed, and which of a kind become one, is decided here, so that all say the same.
//
// It may import the standard library and the API machinery only.
package diagnostic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Severity tells what a problem means.
type Severity int

const (
	// Error means that nothing is generated, or that mdBook wouldn't start.
	Error Severity = iota
	// Warning means that mdBook lives with it.
	Warning
	// Info means that nothing is wrong.
	Info
)

// String is the word for a severity, in small letters.
func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Info:
		return "info"
	}
	return "error"
}

// Problem is one fault of a view or of its book.
type Problem struct {
	// Severity is Error if nothing is said.
	Severity Severity
	// Field is the path of the view's field that the fault is in, such as
	// spec.contentFrom[0].directory. Parsers, which know no view, leave it empty.
	Field string
	// File is the page, as a path below the book's source folder, or "book.toml";
	// "" when the fault is in the view itself. Parsers name the files that they were given.
	File string
	// Line of File, or of the field's text, from 1; 0 when it is unknown.
	Line int
	// Message says what is wrong and what to do.
	Message string
	// Kind says in the plural what is wrong, without the place: that of warnings of
	// which a book may have many. Otherwise it is "".
	Kind string
	// Count is how many problems this one stands for; 0 for itself only.
	Count int
}

// String gives the problem as field: file:line: message.
func (p Problem) String() string {
	if p.Field == "" {
		return p.Text()
	}
	return p.Field + ": " + p.Text()
}

// Text gives the problem without its field, for where that is shown apart.
func (p Problem) Text() string {
	switch {
	case p.File != "" && p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	case p.File != "":
		return p.File + ": " + p.Message
	case p.Line > 0:
		return fmt.Sprintf("line %d: %s", p.Line, p.Message)
	}
	return p.Message
}

// count is how many problems there are of it.
func (p Problem) count() int { return max(1, p.Count) }

// List are problems, in the order in which they are to be read.
type List []Problem

// Err returns the list as an error, with one line for each problem; nil if it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return &listError{l}
}

type listError struct{ list List }

func (e *listError) Error() string { return e.list.join("\n", len(e.list)) }

// FromError returns the problems that an error of [List.Err] carries; any other error is
// one, and nil is none.
func FromError(err error) List {
	if err == nil {
		return nil
	}
	if carrier, ok := errors.AsType[*listError](err); ok {
		return carrier.list
	}
	return List{{Message: err.Error()}}
}

// most is how many problems a summary lists.
const most = 3

// Summary gives the first problems on one line, and how many more there are: for a
// condition, or an event.
func (l List) Summary() string {
	more := 0
	for _, p := range l[min(most, len(l)):] {
		more += p.count()
	}
	text := l.join("; ", most)
	if more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func (l List) join(separator string, most int) string {
	texts := make([]string, 0, len(l))
	for _, p := range l[:min(most, len(l))] {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, separator)
}

// Of returns the problems of a severity.
func (l List) Of(severity Severity) List {
	var of List
	for _, p := range l {
		if p.Severity == severity {
			of = append(of, p)
		}
	}
	return of
}

// Has reports whether there are problems of a severity.
func (l List) Has(severity Severity) bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return p.Severity == severity })
}

// Below returns the problems of something that a field of a view names: their fields are
// below that, and what has none is its own.
func (l List) Below(field string) List {
	below := make(List, len(l))
	for i, p := range l {
		below[i] = p
		below[i].Field = field
		if p.Field != "" {
			below[i].Field += "." + p.Field
		}
	}
	return below
}

// FromFields are the faults that the API finds.
func FromFields(errs field.ErrorList) List {
	var l List
	for _, err := range errs {
		l = append(l, Problem{Field: err.Field, Message: err.ErrorBody()})
	}
	return l
}

// maxOfAKind is how many of a kind are listed one by one.
const maxOfAKind = 5

// Grouped puts the problems of a kind into one, with the first for an example, where a
// field has many: hundreds of lines about links would hide the rest.
func (l List) Grouped() List {
	type key struct{ field, kind string }
	count := map[key]int{}
	for _, p := range l {
		count[key{p.Field, p.Kind}]++
	}
	var grouped List
	for _, p := range l {
		k := key{p.Field, p.Kind}
		switch n := count[k]; {
		case p.Kind == "" || n > 0 && n <= maxOfAKind:
			grouped = append(grouped, p)
		case n > maxOfAKind:
			grouped = append(grouped, Problem{Severity: p.Severity, Field: p.Field, Kind: p.Kind, Count: n,
				Message: fmt.Sprintf("%d %s, such as %s (fn --all-warnings lists them all)", n, p.Kind, p.Text())})
			count[k] = 0 // it stands for the rest
		}
	}
	return grouped
}

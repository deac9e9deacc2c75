package generator

import (
	"fmt"
	"strings"
)

// Problem is one fault of a view or of its pages.
type Problem struct {
	// Field is the path of the view's field that the fault is in, such as
	// spec.contentFrom[0].directory.
	Field string
	// File is the page, as a path below the book's source folder, or "book.toml";
	// "" when the fault is in the view itself.
	File string
	// Line of File, from 1; 0 when it is unknown.
	Line int
	// Message says what is wrong and what to do.
	Message string
	// Kind says in the plural what is wrong, without the place: that of warnings of
	// which a book may have many. Otherwise it is "".
	Kind string
}

// String gives the problem as field: file:line: message.
func (p Problem) String() string {
	var b strings.Builder
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	switch {
	case p.File != "" && p.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", p.File, p.Line)
	case p.File != "":
		b.WriteString(p.File + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// InvalidError says that a view or its pages break a rule, so that nothing was
// generated. Trying again without a change is no use.
type InvalidError struct {
	// Namespace and Name of the view.
	Namespace, Name string
	// Problems are all that were found, at least one.
	Problems []Problem
}

// Error lists the problems, one a line when there are several.
func (e *InvalidError) Error() string {
	name := e.Name
	if e.Namespace != "" {
		name = e.Namespace + "/" + e.Name
	}
	if len(e.Problems) == 1 {
		return fmt.Sprintf("MarkdownView %s: %s", name, e.Problems[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "MarkdownView %s has %d problems:", name, len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n- " + p.String())
	}
	return b.String()
}

// Summary gives the first problems on one line, for a status condition.
func (e *InvalidError) Summary() string {
	const most = 3
	var b strings.Builder
	for i, p := range e.Problems {
		if i == most {
			fmt.Fprintf(&b, "; and %d more", len(e.Problems)-most)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.String())
	}
	return b.String()
}

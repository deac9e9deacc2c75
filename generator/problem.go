package generator

import (
	"fmt"
	"strings"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// Problem is one fault of a view or of its pages.
type Problem = diagnostic.Problem

// InvalidError says that a view or its pages break a rule, so that nothing was
// generated. Trying again without a change is no use.
type InvalidError struct {
	// Namespace and Name of the view.
	Namespace, Name string
	// Problems are all that were found, at least one.
	Problems diagnostic.List
}

// invalid is the error of a view that has errors among what was found.
func invalid(view *v1.MarkdownView, found diagnostic.List) *InvalidError {
	return &InvalidError{Name: view.Name, Namespace: view.Namespace, Problems: found.Of(diagnostic.Error)}
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
func (e *InvalidError) Summary() string { return e.Problems.Summary() }

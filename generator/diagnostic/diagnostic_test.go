package diagnostic

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestHowAProblemIsWritten(t *testing.T) {
	tests := map[string]struct {
		problem    Problem
		want, text string
	}{
		"a line of a file":     {Problem{Field: "spec.markdowns", File: "a.md", Line: 3, Message: "no"}, "spec.markdowns: a.md:3: no", "a.md:3: no"},
		"a file":               {Problem{Field: "spec", File: "a.md", Message: "no"}, "spec: a.md: no", "a.md: no"},
		"a line of a field":    {Problem{Field: "ignore", Line: 3, Message: "no"}, "ignore: line 3: no", "line 3: no"},
		"the view as a whole":  {Problem{Field: "spec", Message: "no"}, "spec: no", "no"},
		"a parser's, of lines": {Problem{File: "a.md", Line: 3, Message: "no"}, "a.md:3: no", "a.md:3: no"},
		"nothing but a text":   {Problem{Message: "no"}, "no", "no"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.problem.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got := test.problem.Text(); got != test.text {
				t.Errorf("the text is %q, want %q", got, test.text)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	tests := map[string]struct {
		list List
		want string
	}{
		"none":                           {nil, ""},
		"as many as are listed":          {List{{Message: "a"}, {Message: "b"}, {Field: "f", Message: "c"}}, "a; b; f: c"},
		"one more":                       {List{{Message: "a"}, {Message: "b"}, {Message: "c"}, {Message: "d"}}, "a; b; c; and 1 more"},
		"one that stands for others":     {List{{Message: "a"}, {Message: "b"}, {Message: "c"}, {Message: "d"}, {Message: "20 more", Count: 20}}, "a; b; c; and 21 more"},
		"others that are listed anyhow":  {List{{Message: "a"}, {Message: "20 more", Count: 20}}, "a; 20 more"},
		"what isn't an error is as well": {List{{Severity: Warning, Message: "a"}}, "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.list.Summary()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListAsAnError(t *testing.T) {
	var list List
	if err := list.Err(); err != nil {
		t.Errorf("an empty list is %v", err)
	}
	list = append(list, Problem{File: "a.md", Line: 2, Message: "no"}, Problem{Message: "b", Severity: Info})
	err := fmt.Errorf("wrapped: %w", list.Err())
	if diff := cmp.Diff("wrapped: a.md:2: no\nb", err.Error()); diff != "" {
		t.Error(diff)
	}
	if got := FromError(err); len(got) != 2 {
		t.Errorf("the list is %v", got)
	}
	if diff := cmp.Diff(List{{Message: "another"}}, FromError(errors.New("another"))); diff != "" {
		t.Error(diff)
	}
	if got := FromError(nil); got != nil {
		t.Errorf("no error has %v", got)
	}
	if diff := cmp.Diff(List{list[1]}, list.Of(Info)); diff != "" {
		t.Error(diff)
	}
	if list.Of(Warning) != nil {
		t.Error("it has warnings")
	}
}

func TestBelow(t *testing.T) {
	list := List{{Field: "path", Message: "a"}, {Message: "b"}}
	want := List{{Field: "spec.x.path", Message: "a"}, {Field: "spec.x", Message: "b"}}
	if diff := cmp.Diff(want, list.Below("spec.x")); diff != "" {
		t.Error(diff)
	}
	if list[1].Field != "" {
		t.Error("it changed the list")
	}
}

func TestFromFields(t *testing.T) {
	at := field.NewPath("spec", "replicas")
	got := FromFields(field.ErrorList{field.Invalid(at, -1, "must be 0 or more"), field.Required(at, "")})
	want := List{{Field: "spec.replicas", Message: "Invalid value: -1: must be 0 or more"}, {Field: "spec.replicas", Message: "Required value"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGrouped(t *testing.T) {
	of := func(n int, p Problem) List { return slices.Repeat(List{p}, n) }
	broken := Problem{Severity: Warning, Field: "a", File: "x.md", Line: 1, Kind: "links lead nowhere", Message: "broken"}
	grouped := func(n int) Problem {
		return Problem{Severity: Warning, Field: "a", Kind: broken.Kind, Count: n,
			Message: fmt.Sprintf("%d links lead nowhere, such as x.md:1: broken (fn --all-warnings lists them all)", n)}
	}
	elsewhere := broken
	elsewhere.Field = "b"
	single := Problem{Severity: Warning, Field: "a", Message: "single"}
	tests := map[string]struct{ list, want List }{
		"few of a kind":                    {of(maxOfAKind, broken), of(maxOfAKind, broken)},
		"many of a kind":                   {of(maxOfAKind+1, broken), List{grouped(6)}},
		"many, at the place of the first":  {slices.Concat(List{single, broken}, of(8, single), of(6, broken)), slices.Concat(List{single, grouped(7)}, of(8, single))},
		"few in each of two fields":        {slices.Concat(of(5, broken), of(5, elsewhere)), slices.Concat(of(5, broken), of(5, elsewhere))},
		"what is grouped already stays so": {List{grouped(6), single}, List{{Severity: Warning, Field: "a", Kind: broken.Kind, Count: 6, Message: grouped(6).Message}, single}},
		"many without a kind are no group": {of(20, single), of(20, single)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.list.Grouped()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSeverityWords(t *testing.T) {
	got := fmt.Sprint(Error, Warning, Info, Problem{}.Severity)
	if want := "error warning info error"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

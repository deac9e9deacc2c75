package generator

import "fmt"

// maxOfAKind is how many warnings of a kind are listed one by one.
const maxOfAKind = 5

// group puts the warnings of a kind into one, with the first for an example, where a
// field has many: hundreds of lines about links would hide the rest.
func group(warnings []Problem) []Problem {
	type key struct{ field, kind string }
	count := map[key]int{}
	for _, w := range warnings {
		count[key{w.Field, w.Kind}]++
	}
	var grouped []Problem
	for _, w := range warnings {
		k := key{w.Field, w.Kind}
		switch n := count[k]; {
		case w.Kind == "" || n > 0 && n <= maxOfAKind:
			grouped = append(grouped, w)
		case n > maxOfAKind:
			example := w
			example.Field = ""
			grouped = append(grouped, Problem{Field: w.Field, Kind: w.Kind,
				Message: fmt.Sprintf("%d %s, such as %s (fn --all-warnings lists them all)", n, w.Kind, example)})
			count[k] = 0 // it stands for the rest
		}
	}
	return grouped
}

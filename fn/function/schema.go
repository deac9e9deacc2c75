package function

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// fields are the fields of a struct by the name that JSON gives them.
func fields(t reflect.Type) map[string]reflect.Type {
	found := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case options == "inline":
			maps.Copy(found, fields(field.Type))
		case name != "" && name != "-":
			found[name] = field.Type
		}
	}
	return found
}

// typeName is the word for a Go type that someone who writes YAML knows.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int32:
		return fmt.Sprintf("a whole number up to %d, in digits only", math.MaxInt32)
	case reflect.Slice:
		return "a list"
	default:
		return "a map"
	}
}

// suggestion names the one of known that comes closest to name, or is "" when
// none is close.
func suggestion(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	best, distance := "", len(name)/2+1
	for _, candidate := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(candidate)); d < distance {
			best, distance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", best)
}

// editDistance is Levenshtein's: how many letters to add, drop or change.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

package function

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/zoetrope/markdown-view/generator/spelling"
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

// elsewhere names the field of known that has a field of this name: what is indented
// too little, or too much of a list, stands beside it. It is "" if none has.
func elsewhere(known map[string]reflect.Type, name string) string {
	for _, parent := range sortedKeys(known) {
		t := known[parent]
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			continue
		}
		if _, is := fields(t)[name]; is {
			return fmt.Sprintf(": it belongs below %s: indent it", parent)
		}
	}
	return ""
}

// strangeCharacter names one that can't be seen, or not be told from a space.
func strangeCharacter(name string) string {
	for _, r := range name {
		if r != ' ' && !unicode.IsGraphic(r) || r != ' ' && unicode.IsSpace(r) {
			return fmt.Sprintf(": it holds the invisible character %U: drop it, and indent with spaces", r)
		}
	}
	return ""
}

// suggestion asks whether the one of known was meant that is nearest to name; it is "" when
// none is near.
func suggestion(name string, known []string) string {
	if nearest := spelling.Nearest(name, known); nearest != "" {
		return fmt.Sprintf(": did you mean %q?", nearest)
	}
	return ""
}

package function

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// fieldError is how sigs.k8s.io/json words its strict errors.
var fieldError = regexp.MustCompile(`^unknown field "(.*)"$`)

func unknownFault(node *yaml.RNode, err error, root reflect.Type) *framework.Result {
	match := fieldError.FindStringSubmatch(err.Error())
	if match == nil {
		return faultOf(node, "", "%v", err)
	}
	path := match[1]
	name := path[strings.LastIndex(path, ".")+1:]
	return faultOf(node, path, "unknown field%s", suggestion(name, siblings(root, path)))
}

var listIndex = regexp.MustCompile(`\[\d+\]`)

// siblings are the fields that the parent of a dotted path has.
func siblings(t reflect.Type, path string) []string {
	elements := strings.Split(listIndex.ReplaceAllString(path, ""), ".")
	for _, element := range elements[:len(elements)-1] {
		field, ok := fields(t)[element]
		if !ok {
			return nil
		}
		t = field
	}
	var names []string
	for name := range fields(t) {
		names = append(names, name)
	}
	return names
}

// fields are the fields of a struct, or of what a pointer or list holds, by the
// name that JSON gives them.
func fields(t reflect.Type) map[string]reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	found := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case options == "inline":
			for name, t := range fields(field.Type) {
				found[name] = t
			}
		case name != "" && name != "-":
			found[name] = field.Type
		}
	}
	return found
}

// suggestion names the one of known that comes closest to name, or is "" when
// none is close.
func suggestion(name string, known []string) string {
	best, distance := "", len(name)/2+1
	for _, candidate := range known {
		d := editDistance(strings.ToLower(name), strings.ToLower(candidate))
		if d < distance || d == distance && candidate < best {
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

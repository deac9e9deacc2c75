package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/zoetrope/markdown-view/generator/patch"
)

// A patch may say what the API server doesn't keep as it is said: a field of the value that
// it has anyway, an entry of a list without what tells it apart by default. Compared with
// what is kept, that would be drift whenever it is looked at. So what says nothing isn't
// sent, and what is always added is added before it is compared.

// patchedBy returns what is wanted of an object that patches have made these fields of.
func (d Desired) patchedBy(fields map[string]any) (Desired, error) {
	if fields == nil {
		return d, nil
	}
	kind := reflect.TypeFor[corev1.Service]()
	if d.Kind == "Deployment" {
		kind = reflect.TypeFor[appsv1.Deployment]()
	}
	known, err := fieldsOf(d.child().desired)
	if err != nil {
		return Desired{}, err
	}
	reduced, err := d.with(withoutZeros(kind, known))
	if err != nil {
		return Desired{}, err
	}
	reduced.patched, _ = withoutZeros(kind, fields).(map[string]any)
	return reduced, nil
}

// withoutZeros returns a copy of a value without the fields that the API server can't tell
// from missing ones: those that a Go type of its API leaves out if they are zero or empty.
// Fields that the type doesn't know stay.
func withoutZeros(t reflect.Type, value any) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch value := value.(type) {
	case map[string]any:
		left := maps.Clone(value)
		for name, inner := range value {
			switch t.Kind() {
			case reflect.Map:
				left[name] = withoutZeros(t.Elem(), inner)
			case reflect.Struct:
				if field, known := patch.FieldNamed(t, name); known {
					left[name] = withoutZeros(field.Type, inner)
					if saysNothing(field, left[name]) {
						delete(left, name)
					}
				}
			}
		}
		return left
	case []any:
		if t.Kind() != reflect.Slice {
			return value
		}
		left := make([]any, 0, len(value))
		for _, entry := range value {
			left = append(left, withoutZeros(t.Elem(), entry))
		}
		return left
	}
	return value
}

// saysNothing reports whether a value is the one that a field has if it is missing.
func saysNothing(field reflect.StructField, value any) bool {
	if field.Type.Kind() == reflect.Pointer || !strings.Contains(field.Tag.Get("json"), ",omit") {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	default:
		return value != nil && reflect.ValueOf(value).IsZero()
	}
}

// addDefaults adds what the API server adds to what it knows only as a whole: our field
// manager owns it then.
func addDefaults(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			fields, ok := inner.(map[string]any)
			added, known := defaultsOf[name]
			if _, there := fields[added.field]; ok && known && !there {
				fields[added.field] = added.value
			}
			addDefaults(inner)
		}
	case []any:
		for _, entry := range value {
			addDefaults(entry)
		}
	}
}

// defaultsOf are fields with a default in what is known only as a whole, by its name.
var defaultsOf = map[string]struct {
	field string
	value any
}{
	"fieldRef":            {"apiVersion", "v1"},
	"resourceFieldRef":    {"divisor", "0"},
	"serviceAccountToken": {"expirationSeconds", int64(3600)},
}

// dropFilled has what is owned be empty where that is wanted and the API server has filled
// it, or dropped it: its managed fields name nothing below it.
func (c *child) dropFilled(desired, owned map[string]any) error {
	var fields map[string]any
	for _, entry := range c.live.GetManagedFields() {
		if isOurs(&entry) && entry.FieldsV1 != nil {
			if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
				return fmt.Errorf("read managed fields: %w", err)
			}
		}
	}
	emptyAsWanted(desired, owned, fields)
	return nil
}

func emptyAsWanted(desired, owned, managed map[string]any) {
	for name, value := range desired {
		wanted, ok := value.(map[string]any)
		inner, isManaged := managed["f:"+name].(map[string]any)
		if !ok || !isManaged {
			continue
		}
		got, there := owned[name].(map[string]any)
		switch {
		case len(wanted) == 0 && len(inner) == 0:
			owned[name] = map[string]any{}
		case there:
			emptyAsWanted(wanted, got, inner)
		}
	}
}

// hasEmpty reports whether a map is empty, or holds one that is, lists aside.
func hasEmpty(fields map[string]any) bool {
	for _, value := range fields {
		if inner, ok := value.(map[string]any); ok && hasEmpty(inner) {
			return true
		}
	}
	return len(fields) == 0
}

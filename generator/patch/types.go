package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// FieldNamed returns the field of a struct that has a name in JSON.
func FieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case tag == name:
			return field, true
		case tag == "" && field.Anonymous && field.Type.Kind() == reflect.Struct:
			if inner, known := FieldNamed(field.Type, name); known {
				return inner, true
			}
		}
	}
	return reflect.StructField{}, false
}

// Misfit returns an error that names the first field of an object that can't be what its
// type in Go has there; nil if all can.
func Misfit(t reflect.Type, object map[string]any) error {
	return misfit(t, object, "")
}

func misfit(t reflect.Type, value any, at string) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err
	}
	err = json.Unmarshal(encoded, reflect.New(t).Interface())
	if err == nil {
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if inner := misfitWithin(t, value, at); inner != nil {
		return inner
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s has to be %s, not %s %.60s", at, kindOf(t), article(wrong.Value), encoded)
	}
	return fmt.Errorf("%s can't be %.60s: %s", at, encoded, plain(err))
}

// misfitWithin looks below a value that doesn't fit.
func misfitWithin(t reflect.Type, value any, at string) error {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			var inner reflect.Type
			switch t.Kind() {
			case reflect.Map:
				inner = t.Elem()
			case reflect.Struct:
				field, known := FieldNamed(t, name)
				if !known {
					continue
				}
				inner = field.Type
			default:
				return nil
			}
			if err := misfit(inner, value[name], strings.TrimPrefix(at+"."+name, ".")); err != nil {
				return err
			}
		}
	case []any:
		if t.Kind() != reflect.Slice {
			return nil
		}
		for i, entry := range value {
			if err := misfit(t.Elem(), entry, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// kindOf is what a type is for people who write YAML.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a map"
	default:
		return "a number"
	}
}

// article names a JSON value as encoding/json has it.
func article(value string) string {
	value, _, _ = strings.Cut(value, " ")
	switch value {
	case "array":
		return "the list"
	case "object":
		return "the map"
	case "bool":
		return "the boolean"
	}
	return "the " + value
}

package function

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// decode reads a resource without aliases as the API server does, but takes no
// field that it doesn't know: kyaml's own decoding drops a misspelt one without a
// word. It returns all faults.
func decode(node *yaml.RNode, into any) framework.Results {
	var faults framework.Results
	for _, fault := range decodeField(node, "", into) {
		faults = append(faults, faultOf(node, fault.path, "%s", fault.message))
	}
	return faults
}

// fieldFault is what is wrong with a field.
type fieldFault struct{ path, message string }

// decodeField is decode for the field at path.
func decodeField(node *yaml.RNode, path string, into any) []fieldFault {
	var d decoder
	value := d.value(node.YNode(), path)
	d.check(value, reflect.TypeOf(into), path)
	if len(d.faults) == 0 {
		encoded, err := json.Marshal(value)
		if err == nil {
			err = json.Unmarshal(encoded, into)
		}
		if err != nil {
			d.fault(path, "%v", err)
		}
	}
	return d.faults
}

// decoder turns YAML into what JSON can say.
type decoder struct {
	faults []fieldFault
	// written has the values, by path, that don't look as they were written: 2.0, y.
	written map[string]string
}

func (d *decoder) fault(path, format string, args ...any) {
	d.faults = append(d.faults, fieldFault{path, fmt.Sprintf(format, args...)})
}

func (d *decoder) hasFault(path string) bool {
	return slices.ContainsFunc(d.faults, func(f fieldFault) bool { return f.path == path })
}

func (d *decoder) value(node *yaml.Node, path string) any {
	switch node.Kind {
	case yaml.MappingNode:
		fields := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i].Value
			at := fieldPath(path, key)
			switch _, twice := fields[key]; {
			case node.Content[i].Kind == yaml.MappingNode:
				d.fault(path, "a key is a map: it must be a string; a template, such as {{ a }}, has to be filled in first")
				continue
			case node.Content[i].Kind != yaml.ScalarNode:
				d.fault(path, "a key is a list: it must be a string")
				continue
			case twice:
				d.fault(at, "is there twice: drop one of them")
			default:
				d.checkKey(node.Content[i], at)
			}
			fields[key] = d.value(node.Content[i+1], at)
		}
		return fields
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for i, element := range node.Content {
			list = append(list, d.value(element, fmt.Sprintf("%s[%d]", path, i)))
		}
		return list
	default:
		value := d.scalar(node, path)
		if _, isString := value.(string); !isString && value != nil {
			if d.written == nil {
				d.written = map[string]string{}
			}
			d.written[path] = node.Value
		}
		return value
	}
}

// checkKey finds a key that kubectl, which makes a string of it, reads as another.
func (d *decoder) checkKey(key *yaml.Node, at string) {
	switch value := (&decoder{}).scalar(key, at).(type) {
	case string:
	case nil:
		d.fault(at, "the key is null: put it in quotes")
	default:
		if read := fmt.Sprint(value); read != key.Value {
			d.fault(at, "kubectl reads the key as %s: put it in quotes", read)
		}
	}
}

// fieldPath writes a key that isn't a field's name as an index.
func fieldPath(parent, key string) string {
	switch {
	case strings.ContainsAny(key, "./[] "):
		return fmt.Sprintf("%s[%s]", parent, key)
	case parent == "":
		return key
	}
	return parent + "." + key
}

// quotedStyle are the styles in which YAML has nothing but strings.
var quotedStyle = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func (d *decoder) scalar(node *yaml.Node, path string) any {
	switch tag := node.ShortTag(); tag {
	case yaml.NodeTagString:
		// YAML 1.1, which kubectl reads, has more words for true and false.
		if node.Style&(quotedStyle|yaml.TaggedStyle) == 0 {
			switch node.Value {
			case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
				return true
			case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
				return false
			}
		}
		return node.Value
	case "!!timestamp":
		return node.Value
	case yaml.NodeTagNull:
		return nil
	case yaml.NodeTagBool, yaml.NodeTagInt, yaml.NodeTagFloat:
		var value any
		if err := node.Decode(&value); err != nil {
			d.fault(path, "%q is no %s", node.Value, strings.TrimPrefix(tag, "!!"))
		}
		return value
	default:
		d.fault(path, "the YAML tag %s is not known: drop it", tag)
		return node.Value
	}
}

// check holds a value against the type that it is for.
func (d *decoder) check(value any, t reflect.Type, path string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil {
		return
	}
	if into, ok := reflect.New(t).Interface().(json.Unmarshaler); ok {
		d.checkUnmarshaler(value, into, path)
		return
	}
	fits := false
	switch t.Kind() {
	case reflect.Struct:
		var m map[string]any
		if m, fits = value.(map[string]any); fits {
			d.checkFields(m, t, path)
		}
	case reflect.Map:
		var m map[string]any
		if m, fits = value.(map[string]any); fits {
			for _, key := range sortedKeys(m) {
				at := fieldPath(path, key)
				if m[key] == nil {
					d.fault(at, "must be %s, not null", typeName(t.Elem()))
				}
				d.check(m[key], t.Elem(), at)
			}
		}
	case reflect.Slice:
		var list []any
		if list, fits = value.([]any); fits {
			for i, element := range list {
				d.check(element, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case reflect.String:
		_, fits = value.(string)
	case reflect.Bool:
		_, fits = value.(bool)
	case reflect.Int32, reflect.Int64:
		var n int
		n, fits = value.(int)
		fits = fits && !reflect.Zero(t).OverflowInt(int64(n))
	}
	if !fits && !d.hasFault(path) {
		d.fault(path, "must be %s, not %s", typeName(t), d.describe(value, path, t))
	}
}

func (d *decoder) checkFields(values map[string]any, t reflect.Type, path string) {
	known := fields(t)
	for _, name := range sortedKeys(values) {
		at := fieldPath(path, name)
		if field, ok := known[name]; ok {
			d.check(values[name], field, at)
		} else {
			d.fault(at, "unknown field%s", cmp.Or(strangeCharacter(name), elsewhere(known, name), suggestion(name, sortedKeys(known))))
		}
	}
}

// checkUnmarshaler has a type that reads itself, such as a duration, do so. What
// such a type says of a value that it can't read is meant for programmers.
func (d *decoder) checkUnmarshaler(value any, into json.Unmarshaler, path string) {
	encoded, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(encoded, into)
	}
	if err == nil {
		return
	}
	written := d.describe(value, path, nil)
	switch into.(type) {
	case *metav1.Duration:
		d.fault(path, "must be a duration such as 10m or 1h30m, not %s", written)
	case *metav1.Time:
		d.fault(path, "must be a time such as 2006-01-02T15:04:05Z, not %s", written)
	default:
		d.fault(path, "%s can't be read: %v", written, err)
	}
}

// describe says what a value is, as it was written, and what to do when a string is
// wanted.
func (d *decoder) describe(value any, path string, wanted reflect.Type) string {
	switch value := value.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("%.60q", value)
	}
	text := fmt.Sprintf("%.60s", d.written[path])
	if wanted != nil && wanted.Kind() == reflect.String {
		text += ": put it in quotes"
	}
	return text
}

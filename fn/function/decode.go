package function

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// decode reads a resource without aliases as the API server does, but takes no
// field that it doesn't know: kyaml's own decoding drops a misspelt one without a
// word.
func decode(node *yaml.RNode, into any) framework.Results {
	var d decoder
	value := d.value(node.YNode(), "")
	if len(d.faults) > 0 {
		var faults framework.Results
		for _, fault := range d.faults {
			faults = append(faults, faultOf(node, fault.path, "%s", fault.message))
		}
		return faults
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return framework.Results{faultOf(node, "", "%v", err)}
	}
	unknown, err := kjson.UnmarshalStrict(encoded, into)
	if err != nil {
		return framework.Results{typeFault(node, err)}
	}
	var faults framework.Results
	for _, err := range unknown {
		faults = append(faults, unknownFault(node, err, reflect.TypeOf(into)))
	}
	return faults
}

// decoder turns YAML into what JSON can say.
type decoder struct {
	faults []struct{ path, message string }
}

func (d *decoder) fault(path, format string, args ...any) {
	d.faults = append(d.faults, struct{ path, message string }{path, fmt.Sprintf(format, args...)})
}

func (d *decoder) value(node *yaml.Node, path string) any {
	switch node.Kind {
	case yaml.MappingNode:
		fields := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i].Value
			at := strings.TrimPrefix(path+"."+key, ".")
			switch _, twice := fields[key]; {
			case node.Content[i].Kind != yaml.ScalarNode:
				d.fault(path, "a key in line %d is a list or a map: a key must be a string", node.Content[i].Line)
			case twice:
				d.fault(at, "is there twice: drop one of them")
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
		return d.scalar(node, path)
	}
}

var quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func (d *decoder) scalar(node *yaml.Node, path string) any {
	switch tag := node.ShortTag(); tag {
	case yaml.NodeTagString:
		// YAML 1.1, which kubectl reads, has more words for true and false.
		if node.Style&quoted == 0 {
			switch strings.ToLower(node.Value) {
			case "y", "yes", "on":
				return true
			case "n", "no", "off":
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
			d.fault(path, "%v", err)
		}
		if number, ok := value.(float64); ok && (math.IsNaN(number) || math.IsInf(number, 0)) {
			d.fault(path, "%s is not a number that Kubernetes knows", node.Value)
		}
		return value
	default:
		d.fault(path, "the YAML tag %s is not known: drop it", tag)
		return nil
	}
}

func typeFault(node *yaml.RNode, err error) *framework.Result {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return faultOf(node, "", "%v", err)
	}
	return faultOf(node, mismatch.Field, "must be %s, not %s", typeName(mismatch.Type), mismatch.Value)
}

// typeName is the word for a Go type that someone who writes YAML knows.
func typeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a map"
	default:
		return t.String()
	}
}

package function

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// toNode turns an apply configuration, or the fields of an object, into a resource that people can review:
// fields in the order of Kubernetes' own manifests, text as literal blocks.
func toNode(object any) (*yaml.RNode, error) {
	fields, ok := object.(map[string]any)
	if !ok {
		var err error
		if fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(object); err != nil {
			return nil, fmt.Errorf("convert %T: %w", object, err)
		}
	}
	node, err := valueNode(fields)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", object, err)
	}
	return yaml.NewRNode(node), nil
}

func valueNode(value any) (*yaml.Node, error) {
	switch value := value.(type) {
	case map[string]any:
		return mapNode(value)
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
		for _, element := range value {
			node, err := valueNode(element)
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, node)
		}
		return list, nil
	case string:
		return stringNode(value), nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagBool, Value: strconv.FormatBool(value)}, nil
	case int64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagInt, Value: strconv.FormatInt(value, 10)}, nil
	case float64: // as JSON has it, which is YAML
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagFloat, Value: string(text)}, nil
	default:
		return nil, fmt.Errorf("a value of type %T is not expected", value)
	}
}

func mapNode(value map[string]any) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	for _, key := range slices.SortedFunc(maps.Keys(value), compareFields) {
		child, err := valueNode(value[key])
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, stringNode(key), child)
	}
	return node, nil
}

// compareFields orders fields as kyaml's formatter does, and others by name.
func compareFields(a, b string) int {
	return cmp.Or(cmp.Compare(precedence(a), precedence(b)), strings.Compare(a, b))
}

func precedence(field string) int {
	if p, ok := yaml.FieldOrder[field]; ok {
		return p
	}
	return len(yaml.FieldOrder) + 1
}

// stringNode writes a text as a literal block where every YAML parser reads the
// same text back, and otherwise in quotes. The writer itself quotes what a block
// can't hold, such as carriage returns, but also lines that end in spaces.
func stringNode(value string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: value}
	switch {
	case strings.Contains(value, "\u2028"), strings.Contains(value, "\u2029"), strings.HasPrefix(value, "\t"):
		// Line ends in YAML 1.1 and none in 1.2; indentation that can't be told
		// from the text's own.
		node.Style = yaml.DoubleQuotedStyle
	case strings.Contains(value, "\n"):
		node.Style = yaml.LiteralStyle
	case value == "<<", value == "=", mayBeNoString(value) && (strings.Contains(value, ":") || yaml.IsYaml1_1NonString(node)):
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// mayBeNoString is false for most of the words that YAML 1.1, which kubectl reads,
// takes for a string. It spares them a run of the parser. What looks like more than
// a word is quoted by the writer itself.
func mayBeNoString(word string) bool {
	if len(word) <= len("false") {
		switch strings.ToLower(word) {
		case "y", "yes", "on", "true", "n", "no", "off", "false", "null", "~":
			return true
		}
	}
	// Numbers and times.
	return word != "" && strings.IndexByte("+-.0123456789", word[0]) >= 0 &&
		strings.TrimLeft(word, "+-.0123456789_abcdefxoinABCDEFXOINTtZz: ") == ""
}

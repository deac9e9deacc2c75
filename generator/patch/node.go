package patch

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// toNode gives a value as kyaml has it. It goes through no text, in which a string could
// become something else.
func toNode(value any) *yaml.Node {
	switch value := value.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			node.Content = append(node.Content, scalar(yaml.NodeTagString, key), toNode(value[key]))
		}
		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
		for _, element := range value {
			node.Content = append(node.Content, toNode(element))
		}
		return node
	case bool:
		return scalar(yaml.NodeTagBool, strconv.FormatBool(value))
	case int64:
		return scalar(yaml.NodeTagInt, strconv.FormatInt(value, 10))
	case float64:
		return scalar(yaml.NodeTagFloat, strconv.FormatFloat(value, 'g', -1, 64))
	case string:
		return scalar(yaml.NodeTagString, value)
	default:
		return scalar(yaml.NodeTagNull, "null")
	}
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// fromNode is its reverse, for what kyaml has made of a node. Fields that are null aren't
// there.
func fromNode(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.MappingNode:
		fields := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode {
				return nil, errKey
			}
			if _, twice := fields[key.Value]; twice {
				return nil, fmt.Errorf("has the key %.60q twice", key.Value)
			}
			value, err := fromNode(node.Content[i+1])
			if err != nil {
				return nil, err
			}
			if value != nil {
				fields[key.Value] = value
			}
		}
		return fields, nil
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, child := range node.Content {
			element, err := fromNode(child)
			if err != nil {
				return nil, err
			}
			if element == nil {
				return nil, errNullElement
			}
			list = append(list, element)
		}
		return list, nil
	case yaml.ScalarNode:
		return fromScalar(node)
	default:
		return nil, fmt.Errorf("can't be read: line %d", node.Line)
	}
}

func fromScalar(node *yaml.Node) (any, error) {
	switch tag := node.ShortTag(); tag {
	case yaml.NodeTagString, "!!timestamp":
		return node.Value, nil
	case yaml.NodeTagNull:
		return nil, nil //nolint:nilnil // null is a value of YAML
	case yaml.NodeTagBool:
		value := false
		if err := node.Decode(&value); err != nil {
			return nil, fmt.Errorf("%.60q is no boolean", node.Value)
		}
		return value, nil
	case yaml.NodeTagInt:
		value := int64(0)
		if err := node.Decode(&value); err != nil {
			return nil, fmt.Errorf("%.60q is no integer of 64 bits", node.Value)
		}
		return value, nil
	case yaml.NodeTagFloat:
		value := 0.0
		if err := node.Decode(&value); err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("%.60q is no number", node.Value)
		}
		return value, nil
	default:
		return nil, fmt.Errorf("the YAML tag %.60s is not known: drop it", tag)
	}
}

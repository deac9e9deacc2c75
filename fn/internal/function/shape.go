package function

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// checkShape says what keeps a node without aliases from being a resource. kyaml
// panics on some that aren't, and where a key is there twice its functions don't
// agree on which one counts.
func checkShape(node *yaml.Node) error {
	if node == nil || node.Kind != yaml.MappingNode {
		return errors.New("must be a map")
	}
	return eachField(node, "", func(key string, value *yaml.Node) error {
		switch key {
		case yaml.APIVersionField, yaml.KindField:
			return mustBe(yaml.ScalarNode, value, key)
		case yaml.MetadataField:
			return checkMetadata(value)
		}
		return nil
	})
}

func checkMetadata(node *yaml.Node) error {
	if err := mustBe(yaml.MappingNode, node, yaml.MetadataField); err != nil {
		return err
	}
	return eachField(node, yaml.MetadataField, func(key string, value *yaml.Node) error {
		at := fieldPath(yaml.MetadataField, key)
		switch key {
		case yaml.NameField, yaml.NamespaceField:
			return mustBe(yaml.ScalarNode, value, at)
		case yaml.LabelsField, yaml.AnnotationsField:
			if err := mustBe(yaml.MappingNode, value, at); err != nil {
				return err
			}
			return eachField(value, at, func(key string, value *yaml.Node) error {
				return mustBe(yaml.ScalarNode, value, fieldPath(at, key))
			})
		}
		return nil
	})
}

// eachField calls check for the fields of a map, which may be null.
func eachField(node *yaml.Node, path string, check func(key string, value *yaml.Node) error) error {
	seen := make(map[string]bool, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i].Value
		if seen[key] {
			what := "drop one of them"
			if path == "" && (key == yaml.APIVersionField || key == yaml.KindField) {
				what = `begin the next resource with "---"`
			}
			return fmt.Errorf("%s is there twice: %s", fieldPath(path, key), what)
		}
		seen[key] = true
		if err := check(key, node.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func mustBe(kind yaml.Kind, node *yaml.Node, at string) error {
	switch {
	case node.Kind == kind, isNull(node):
		return nil
	case kind == yaml.ScalarNode:
		return fmt.Errorf("%s must be a string", at)
	case node.Kind == yaml.ScalarNode && strings.Contains(node.Value, ":"):
		return fmt.Errorf("%s must be a map, not %.60q: put a space after the colon", at, node.Value)
	case node.Kind == yaml.ScalarNode:
		return fmt.Errorf("%s must be a map, not %.60q", at, node.Value)
	}
	return fmt.Errorf("%s must be a map, not a list", at)
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == yaml.NodeTagNull
}

package function

import (
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// checkShape says what keeps a node without aliases from being a resource. kyaml
// panics on some that aren't.
func checkShape(node *yaml.Node) error {
	if node == nil || node.Kind != yaml.MappingNode {
		return errors.New("must be a map")
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		value := node.Content[i+1]
		var err error
		switch key := node.Content[i].Value; key {
		case yaml.APIVersionField, yaml.KindField:
			err = mustBe(yaml.ScalarNode, value, key)
		case yaml.MetadataField:
			err = checkMetadata(value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func checkMetadata(node *yaml.Node) error {
	if err := mustBe(yaml.MappingNode, node, yaml.MetadataField); err != nil || isNull(node) {
		return err
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		value := node.Content[i+1]
		key := node.Content[i].Value
		at := yaml.MetadataField + "." + key
		switch key {
		case yaml.NameField, yaml.NamespaceField:
			if err := mustBe(yaml.ScalarNode, value, at); err != nil {
				return err
			}
		case yaml.LabelsField, yaml.AnnotationsField:
			if err := mustBe(yaml.MappingNode, value, at); err != nil {
				return err
			}
			for j := 1; j < len(value.Content); j += 2 {
				if err := mustBe(yaml.ScalarNode, value.Content[j], fieldPath(at, value.Content[j-1].Value)); err != nil {
					return err
				}
			}
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
	}
	return fmt.Errorf("%s must be a map", at)
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == yaml.NodeTagNull
}

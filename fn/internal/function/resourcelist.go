package function

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// resourceListGroup is that of all versions of the ResourceList: v1 and its betas, which
// are alike.
const resourceListGroup = "config.kubernetes.io"

const wantedList = "standard input must hold a ResourceList of apiVersion config.kubernetes.io/v1, as kustomize and kpt write it"

// readResourceList returns also what to write the list with.
func readResourceList(in io.Reader) (*framework.ResourceList, *kio.ByteWriter, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, nil, fmt.Errorf("standard input: %w", err)
	}
	found, err := documents(text)
	if err != nil {
		return nil, nil, fmt.Errorf("standard input %w", err)
	}
	root, err := listAmong(found)
	if err != nil {
		return nil, nil, err
	}
	if err := checkList(root.YNode(), kio.ResourceListKind); err != nil {
		return nil, nil, fmt.Errorf("standard input: %w", err)
	}
	list := &framework.ResourceList{}
	writer := &kio.ByteWriter{KeepReaderAnnotations: true, WrappingKind: kio.ResourceListKind, WrappingAPIVersion: cmp.Or(root.GetApiVersion(), kio.ResourceListAPIVersion)}
	if field := root.Field(functionConfigField); field != nil {
		list.FunctionConfig = field.Value
	}
	if field := root.Field(resultsField); field != nil {
		writer.Results = field.Value
	}
	if field := root.Field(itemsField); field != nil {
		for _, item := range field.Value.Content() {
			list.Items = append(list.Items, yaml.NewRNode(item))
		}
	}
	return list, writer, checkResources(list)
}

// listAmong returns the root of the one document there is, whose own fields are no
// aliases, or says what the documents are if they aren't a ResourceList.
func listAmong(found []document) (*yaml.RNode, error) {
	if len(found) == 0 {
		return nil, fmt.Errorf("%s, but is empty", wantedList)
	}
	root := yaml.NewRNode(found[0].node)
	if slices.ContainsFunc(found[0].node.Content, func(n *yaml.Node) bool { return n.Kind == yaml.AliasNode || isMergeKey(n) }) {
		var err error
		if root, err = withoutAliases(root); err != nil {
			return nil, fmt.Errorf("standard input: the ResourceList can't be read: %w", err)
		}
	}
	if kindOf(root) != kio.ResourceListKind {
		return nil, notAList(root)
	}
	if group, _, _ := strings.Cut(root.GetApiVersion(), "/"); group != "" && group != resourceListGroup {
		return nil, fmt.Errorf("%s, not one of apiVersion %.60q", wantedList, root.GetApiVersion())
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%s, in a single document: there are %d", wantedList, len(found))
	}
	return root, nil
}

// kindOf is GetKind for what need not be a resource.
func kindOf(node *yaml.RNode) string {
	if node.YNode().Kind != yaml.MappingNode {
		return ""
	}
	if kind := node.Field(yaml.KindField); kind != nil {
		return kind.Value.YNode().Value
	}
	return ""
}

func notAList(raw *yaml.RNode) error {
	first, err := withoutAliases(raw)
	if err != nil {
		return fmt.Errorf("%s, not something else: it %w", wantedList, err)
	}
	switch kind := first.GetKind(); kind {
	case v1.Kind:
		return fmt.Errorf("%s, not a bare %s: to expand it by hand, run fn with its file name, or with - for standard input", wantedList, v1.Kind)
	case "":
		return fmt.Errorf("%s, not a resource without a kind", wantedList)
	case "List":
		return fmt.Errorf("%s, not a List", wantedList)
	default:
		return fmt.Errorf("%s, not resources of kind %q", wantedList, kind)
	}
}

// checkResources refuses what kyaml's writer panics on. On the way it writes out the
// aliases that stand for something in another resource: the other may not come
// before it in the output, or not at all.
func checkResources(list *framework.ResourceList) error {
	for i, raw := range list.Items {
		node, err := withoutAliases(raw)
		if err != nil {
			return fmt.Errorf("standard input: items[%d] of the ResourceList%s can't be read: %w", i, fromFile(raw.YNode()), err)
		}
		if holdsForeignAlias(raw) {
			list.Items[i] = node
		}
	}
	if list.FunctionConfig.IsNilOrEmpty() {
		return nil
	}
	node, err := withoutAliases(list.FunctionConfig)
	if err != nil {
		return fmt.Errorf("standard input: the functionConfig can't be read: %w", err)
	}
	if holdsForeignAlias(list.FunctionConfig) {
		list.FunctionConfig = node
	}
	return nil
}

// fromFile names the file of an item that may be no resource.
func fromFile(item *yaml.Node) string {
	for _, key := range []string{yaml.MetadataField, yaml.AnnotationsField, kioutil.PathAnnotation} {
		if item = valueOf(item, key); item == nil {
			return ""
		}
	}
	return " (" + item.Value + ")"
}

func valueOf(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

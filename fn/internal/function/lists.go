package function

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

const (
	itemsField          = "items"
	functionConfigField = "functionConfig"
	resultsField        = "results"
)

// located is a resource of a file.
type located struct {
	// at says where it is in the file.
	at   string
	node *yaml.RNode
}

// resources returns what a document holds: itself, or the items of a list and of
// lists in it. As kubectl does, it gives the items of a typed list, such as a
// ConfigMapList, the kind that its name implies.
func resources(at string, node *yaml.Node) ([]located, error) {
	if node.Kind == yaml.SequenceNode {
		return nil, fmt.Errorf("%s is a list: write its items as documents, or as the items of a List", at)
	}
	resolved, err := withoutAliases(yaml.NewRNode(node))
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", at, err)
	}
	return flatten(nil, at+": ", located{at, resolved})
}

// flatten appends to all. The document is part of what an item is called.
func flatten(all []located, document string, from located) ([]located, error) {
	kind, apiVersion := from.node.GetKind(), from.node.GetApiVersion()
	items := from.node.Field(itemsField)
	itemKind, isList := strings.CutSuffix(kind, "List")
	switch {
	case kind == kio.ResourceListKind && !from.node.Field(functionConfigField).IsNilOrEmpty():
		return nil, fmt.Errorf("%s: a ResourceList with a functionConfig is read from standard input, without a file's name", from.at)
	case isList:
		if err := checkList(from.node.YNode(), kind); err != nil {
			return nil, fmt.Errorf("%s: %w", from.at, err)
		}
	case items != nil && kind != "":
		return nil, fmt.Errorf("%s: a %s has no items: if it is a list, its kind is %sList", from.at, kind, kind)
	default:
		return append(all, from), nil
	}
	if kind == kio.ResourceListKind {
		itemKind = ""
	}
	for i, node := range items.Value.Content() {
		item := located{fmt.Sprintf("%s%s[%d]", document, itemsField, i), yaml.NewRNode(node)}
		if err := checkShape(node); err != nil {
			return nil, fmt.Errorf("%s can't be read: %w", item.at, err)
		}
		if item.node.GetKind() == "" && item.node.GetApiVersion() == "" && itemKind != "" {
			item.node.SetKind(itemKind)
			item.node.SetApiVersion(apiVersion)
		}
		var err error
		if all, err = flatten(all, item.at+".", item); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkList returns what keeps a list without aliases at its root from being read.
// Only a ResourceList that has a functionConfig may have no items.
func checkList(list *yaml.Node, kind string) error {
	known := []string{yaml.APIVersionField, yaml.KindField, yaml.MetadataField, itemsField}
	if kind == kio.ResourceListKind {
		known = append(known, functionConfigField, resultsField)
	}
	unknown, hasItems := "", false
	err := eachField(list, "", func(key string, value *yaml.Node) error {
		switch {
		case key == itemsField:
			hasItems = true
			return mustBeList(value, kind)
		case key == functionConfigField && kind == kio.ResourceListKind:
			hasItems = true
		case !slices.Contains(known, key) && unknown == "":
			unknown = key
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case !hasItems && unknown != "":
		return fmt.Errorf("the %s has no items, but %.60q", kind, unknown)
	case unknown != "":
		return fmt.Errorf("the %s has a field that isn't known: %.60q%s", kind, unknown, cmp.Or(suggestion(unknown, known), ": drop it"))
	case !hasItems && kind == kio.ResourceListKind:
		return fmt.Errorf("the %s has neither items nor functionConfig", kind)
	case !hasItems:
		return fmt.Errorf("the %s has no items", kind)
	}
	return nil
}

func mustBeList(items *yaml.Node, kind string) error {
	what := "a text"
	switch {
	case items.Kind == yaml.SequenceNode, isNull(items):
		return nil
	case items.Kind == yaml.MappingNode:
		what = "a map"
	}
	return fmt.Errorf("items of the %s must be a list, not %s", kind, what)
}

// lists are faults of items that are lists and hold what the function would use: kpt
// passes a file's list as it is, where kustomize passes its items.
func (x *index) lists() framework.Results {
	wanted := x.configMapNames()
	var faults framework.Results
	for _, item := range x.items {
		if item.node == nil || !strings.HasSuffix(item.id.kind, "List") {
			continue
		}
		held, err := flatten(nil, "", located{node: item.node.Copy()})
		if err != nil {
			continue // it is another's, and may be no list at all
		}
		for _, one := range held {
			key := idOf(one.node)
			if key.isView() || key.isConfigMap() && wanted[key.name] {
				faults = append(faults, faultOf(item.node, strings.TrimSuffix(one.at, "."), "%s isn't read inside a list: write it as a document of its own", strings.TrimSpace(key.kind+" "+key.name)))
			}
		}
	}
	return faults
}

// unused are warnings of ConfigMaps that no view names: who names their files means
// them to be used.
func (x *index) unused() framework.Results {
	if len(x.views()) == 0 {
		return nil // which is the fault
	}
	wanted := x.configMapNames()
	var list framework.Results
	for _, item := range x.items {
		if item.id.isConfigMap() && !wanted[item.id.name] {
			list = append(list, warningOf(item.node, "metadata.name", "no "+v1.Kind+" names it under contentFrom, so its pages aren't used"))
		}
	}
	return list
}

// configMapNames are those that views name.
func (x *index) configMapNames() map[string]bool {
	names := map[string]bool{}
	for _, view := range x.views() {
		sources, err := view.Pipe(yaml.Lookup("spec", "contentFrom"))
		if err != nil || sources == nil {
			continue
		}
		// What is no list of maps is a fault of the view's own.
		_ = sources.VisitElements(func(source *yaml.RNode) error {
			if name, err := source.Pipe(yaml.Lookup("configMapRef", "name")); err == nil && name != nil {
				names[name.YNode().Value] = true
			}
			return nil
		})
	}
	return names
}

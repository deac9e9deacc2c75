package function

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// id identifies a resource.
type id struct {
	apiVersion, kind, namespace, name string
}

func idOf(node *yaml.RNode) id {
	return id{node.GetApiVersion(), node.GetKind(), node.GetNamespace(), node.GetName()}
}

func (i id) isView() bool {
	return i.kind == v1.Kind && i.apiVersion == v1.GroupVersion.String()
}

func (i id) isConfigMap() bool {
	return i.kind == "ConfigMap" && i.apiVersion == "v1"
}

// item is a resource of the input.
type item struct {
	id id
	// raw is as it came.
	raw *yaml.RNode
	// node is raw without YAML aliases.
	node *yaml.RNode
}

// index finds items of the input.
type index struct {
	items []item
	byID  map[id][]int
	// configMaps are by each name that they have or had in this build.
	configMaps map[string][]int
}

// indexItems returns faults of items that can't be read.
func indexItems(nodes []*yaml.RNode) (*index, framework.Results) {
	x := &index{items: make([]item, 0, len(nodes)), byID: make(map[id][]int, len(nodes)), configMaps: map[string][]int{}}
	var faults framework.Results
	for i, raw := range nodes {
		node, err := withoutAliases(raw)
		if err != nil {
			faults = append(faults, fault("items[%d] can't be read: %v", i, err))
			x.items = append(x.items, item{raw: raw})
			continue
		}
		key := idOf(node)
		x.items = append(x.items, item{id: key, raw: raw, node: node})
		x.byID[key] = append(x.byID[key], i)
		if key.isConfigMap() {
			names := append(previousNames(node), key.name)
			slices.Sort(names)
			for _, name := range slices.Compact(names) {
				x.configMaps[name] = append(x.configMaps[name], i)
			}
		}
	}
	return x, faults
}

// views returns the MarkdownViews among the items.
func (x *index) views() []*yaml.RNode {
	var views []*yaml.RNode
	for _, item := range x.items {
		if item.id.isView() {
			views = append(views, item.node)
		}
	}
	return views
}

// holdsOnly reports whether there is no item but a resource itself.
func (x *index) holdsOnly(node *yaml.RNode) bool {
	itself := idOf(node)
	return !slices.ContainsFunc(x.items, func(other item) bool { return other.id != itself })
}

// strangers are items of our API group that nothing is known of, and views inside
// lists: a misspelt kind would otherwise leave its view out without a word.
func (x *index) strangers() framework.Results {
	var list framework.Results
	for _, item := range x.items {
		group, _, _ := strings.Cut(item.id.apiVersion, "/")
		known := item.id.isView() || item.id.apiVersion == v1.GroupVersion.String() && (item.id.kind == TransformerKind || item.id.kind == v1.Kind+"List")
		if group == v1.GroupVersion.Group && !known {
			list = append(list, faultOf(item.node, "kind", "apiVersion %s, kind %s is not known: use apiVersion %s, kind %s",
				item.id.apiVersion, item.id.kind, v1.GroupVersion, v1.Kind))
		}
	}
	return append(list, x.lists()...)
}

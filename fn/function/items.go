package function

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// previousNamesAnnotation holds the names that a resource had before kustomize
// gave it a prefix or suffix.
const previousNamesAnnotation = "internal.config.kubernetes.io/previousNames"

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
}

// indexItems returns faults of items that can't be read.
func indexItems(nodes []*yaml.RNode) (*index, framework.Results) {
	x := &index{items: make([]item, 0, len(nodes)), byID: make(map[id][]int, len(nodes))}
	var faults framework.Results
	for i, raw := range nodes {
		node, err := withoutAliases(raw)
		if err != nil {
			faults = append(faults, fault("resource %d can't be read: %v", i, err))
			x.items = append(x.items, item{raw: raw})
			continue
		}
		key := idOf(node)
		x.items = append(x.items, item{id: key, raw: raw, node: node})
		x.byID[key] = append(x.byID[key], i)
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

// strangers are items of our API group that nothing is known of: a misspelt kind
// would otherwise leave its view out without a word.
func (x *index) strangers() framework.Results {
	var list framework.Results
	for _, item := range x.items {
		group, _, _ := strings.Cut(item.id.apiVersion, "/")
		known := item.id.isView() || item.id.apiVersion == v1.GroupVersion.String() && item.id.kind == TransformerKind
		if group == v1.GroupVersion.Group && !known {
			list = append(list, faultOf(item.node, "kind", "apiVersion %s, kind %s is not known: use apiVersion %s, kind %s",
				item.id.apiVersion, item.id.kind, v1.GroupVersion, v1.Kind))
		}
	}
	return list
}

// configMap finds a ConfigMap by the name it has now or, in kustomize, by one that
// it had before a prefix or suffix was added. It returns nil without an error when
// there is none of that name.
func (x *index) configMap(name, namespace string) (*yaml.RNode, error) {
	found := x.byID[id{"v1", "ConfigMap", namespace, name}]
	var elsewhere []string
	for i, item := range x.items {
		if len(found) > 0 {
			break
		}
		if !item.id.isConfigMap() || item.id.name != name && !hadName(item.node, name) {
			continue
		}
		if item.id.namespace != namespace {
			elsewhere = append(elsewhere, fmt.Sprintf("%q", item.id.namespace))
			continue
		}
		found = append(found, i)
	}
	switch {
	case len(found) == 1:
		return x.items[found[0]].node, nil
	case len(found) > 1:
		return nil, fmt.Errorf("ConfigMap %s is among the resources %d times: keep one", name, len(found))
	case len(elsewhere) > 0:
		return nil, fmt.Errorf("ConfigMap %s is not among the resources in the view's namespace %q, but in %s: give both the same namespace", name, namespace, strings.Join(elsewhere, ", "))
	}
	return nil, nil
}

func hadName(node *yaml.RNode, name string) bool {
	previous := node.GetAnnotations(previousNamesAnnotation)[previousNamesAnnotation]
	return slices.Contains(strings.Split(previous, ","), name)
}

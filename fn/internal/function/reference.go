package function

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// reference is what a name of a ConfigMap in a view leads to.
type reference struct {
	// node is the ConfigMap, nil if there is none.
	node *yaml.RNode
	// missing says why there is none.
	missing string
}

// configMap finds the ConfigMap that a view names. In kustomize it is the one that a
// Pod in the view's place would mount: those that had the name before kustomize
// changed it come first, among several the one with the view's prefixes and
// suffixes, then the one that has the name now. It is an error if several remain.
//
// kustomize resolves names when all else is done, and what an overlay does later
// isn't known here. So it is an error too where it depends on that.
func (x *index) configMap(view *yaml.RNode, name string) (reference, error) {
	var had, has, elsewhere []item
	for _, i := range x.configMaps[name] {
		switch item := x.items[i]; {
		case !sameNamespace(item.node, view):
			elsewhere = append(elsewhere, item)
		case slices.Contains(previousNames(item.node), name):
			had = append(had, item)
		default:
			has = append(has, item)
		}
	}
	found := had
	if len(had) > 1 {
		found = ofSameContext(had, view)
	}
	if surely := len(found) == 1 && (len(has) == 0 || sameContext(found[0].node, view, false)); !surely {
		found = slices.Concat(found, has)
	}
	switch {
	case len(found) == 1:
		return reference{node: found[0].node}, nil
	case len(found) > 1 && len(had) == 0:
		return reference{}, fmt.Errorf("ConfigMap %s is among the resources %d times: keep one", name, len(found))
	case len(found) > 1:
		return reference{}, fmt.Errorf("%s, and which one is meant can't be told: rename one, or give view and ConfigMap the same prefixes", wereCalled(found, name))
	case len(had) > 0:
		return reference{missing: wereCalled(had, name) + ", but none has the view's prefixes and suffixes: name one of them as it is called now"}, nil
	case len(elsewhere) > 0:
		return reference{missing: fmt.Sprintf("ConfigMap %s is not among the resources in %s, but in %s: give both the same namespace",
			name, namespaceOf(view, "the view's namespace "), namespacesOf(elsewhere))}, nil
	}
	return reference{missing: fmt.Sprintf("ConfigMap %s is not among the resources: add it, or set optional: true", name)}, nil
}

// ofSameContext returns those with a view's prefixes and suffixes, as kustomize
// narrows them down.
func ofSameContext(items []item, view *yaml.RNode) []item {
	without := func(allowEmpty bool) func(item) bool {
		return func(i item) bool { return !sameContext(i.node, view, allowEmpty) }
	}
	kept := slices.DeleteFunc(slices.Clone(items), without(true))
	if len(kept) > 1 {
		kept = slices.DeleteFunc(kept, without(false))
	}
	return kept
}

func wereCalled(items []item, name string) string {
	names := make([]string, 0, len(items))
	for _, item := range items {
		names = append(names, item.id.name)
	}
	slices.Sort(names)
	return fmt.Sprintf("the ConfigMaps %s are or were called %s", strings.Join(names, ", "), name)
}

// namespaceOf returns a resource's namespace, with text before it if there is one.
func namespaceOf(node *yaml.RNode, text string) string {
	if namespace := node.GetNamespace(); namespace != "" {
		return text + strconv.Quote(namespace)
	}
	return "no namespace"
}

func namespacesOf(items []item) string {
	names := make([]string, 0, len(items))
	for _, item := range items {
		names = append(names, namespaceOf(item.node, ""))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

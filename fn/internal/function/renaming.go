package function

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// affix is what a function put before and after a name.
type affix struct{ prefix, suffix string }

func affixOf(name, generated string) (affix, bool) {
	prefix, suffix, isFound := strings.Cut(name, generated)
	return affix{prefix, suffix}, isFound
}

// renaming is what a function did to the objects of a view.
type renaming struct {
	viewKey
	affix
}

// renamings are the kinds of objects that have each.
func (p *placement) allRenamings() map[renaming]map[string]bool {
	found := map[renaming]map[string]bool{}
	for at, items := range p.homes {
		for _, i := range items {
			item := p.items[i].id
			if change, ok := affixOf(item.name, at.name); ok {
				key := renaming{viewKey{item.namespace, at.view}, change}
				if found[key] == nil {
					found[key] = map[string]bool{}
				}
				found[key][item.kind] = true
			}
		}
	}
	return found
}

// isOfFunction reports whether a function renamed an item and not a person: it got the name
// that it has as the view did, and so did the pages and what serves them.
func (p *placement) isOfFunction(item item, from origin) bool {
	change, ok := affixOf(item.id.name, from.name)
	return ok && p.isShared(renaming{viewKey{item.id.namespace, from.view}, change}) && p.present[viewKey{item.id.namespace, change.prefix + from.view + change.suffix}]
}

// isShared reports whether the pages and what serves them were renamed alike.
func (p *placement) isShared(change renaming) bool {
	kinds := p.renamings[change]
	return kinds["ConfigMap"] && len(kinds) > 1
}

// dropShards drops the ConfigMaps that a view has no longer. Of what another function renamed
// or moved, as it did those items that are replaced, only what is in its file: anything else
// may be somebody's own.
func (p *placement) dropShards(v *view, renamed []int) {
	view := p.inFile(v)
	namespaces, changes := map[string]bool{v.node.GetNamespace(): true}, map[affix]bool{}
	for _, i := range renamed {
		namespaces[p.items[i].id.namespace] = true
		if change, ok := affixOf(p.items[i].id.name, p.replaced[i].GetName()); ok {
			changes[change] = true
		}
	}
	for namespace := range namespaces {
		for _, i := range p.leftover[viewKey{namespace, v.node.GetName()}] {
			item := p.items[i]
			if p.replaced[i] != nil || p.wanted[item.id] {
				continue
			}
			from, _ := p.originOf(item)
			hasOwnName := item.id.name == from.name
			change, ok := affixOf(item.id.name, from.name)
			isBeside := view != nil && fileOf(item.node) == beside(view, item.id.kind, from.name)
			if hasOwnName && namespace == v.node.GetNamespace() || isBeside && (hasOwnName || ok && changes[change]) {
				p.dropped[i] = true
			}
		}
	}
}

// overwritten has a word about what is replaced by an object of another name, unless nothing
// but the name is lost: a person may have given it that name to keep it.
func (p *placement) overwritten(v *view, items []int) framework.Results {
	if len(items) == 0 {
		return nil
	}
	names := p.generatedNames()
	var lost []string
	for _, i := range items {
		item, object := p.items[i], p.replaced[i]
		if item.id.name != object.GetName() && !sameContent(item.node, object, names) {
			lost = append(lost, fmt.Sprintf("%s %s (%s)", item.id.kind, item.id.name, object.GetName()))
		}
	}
	if len(lost) == 0 {
		return nil
	}
	result := warningOf(v.node, "", "replaces what has the labels and the file of what it generates, but another name (in place of the one in brackets) and other content: "+strings.Join(lost, ", ")+
		". That is as it should be if a function after this one changes the names; what you renamed to keep it needs other labels, or a file of another name")
	result.Severity = framework.Info
	return framework.Results{result}
}

// generatedNames are the names by which objects were generated, by those that they have.
func (p *placement) generatedNames() map[string]map[string]bool {
	names := map[string]map[string]bool{}
	for at, items := range p.homes {
		for _, i := range items {
			has := p.items[i].id.name
			if names[has] == nil {
				names[has] = map[string]bool{}
			}
			names[has][at.name] = true
		}
	}
	return names
}

// sameContent compares all but metadata. A function that renames objects may have changed
// their names where others refer to them, too.
func sameContent(one, other *yaml.RNode, names map[string]map[string]bool) bool {
	a, errA := one.Map()
	b, errB := other.Map()
	if errA != nil || errB != nil {
		return false
	}
	delete(a, yaml.MetadataField)
	delete(b, yaml.MetadataField)
	return sameValue(a, b, names)
}

func sameValue(one, other any, names map[string]map[string]bool) bool {
	switch one := one.(type) {
	case map[string]any:
		fields, ok := other.(map[string]any)
		if !ok || len(one) != len(fields) {
			return false
		}
		for key, value := range one {
			if field, ok := fields[key]; !ok || !sameValue(value, field, names) {
				return false
			}
		}
		return true
	case []any:
		values, ok := other.([]any)
		return ok && slices.EqualFunc(one, values, func(a, b any) bool { return sameValue(a, b, names) })
	case string:
		name, ok := other.(string)
		return ok && (one == name || names[one][name])
	}
	return reflect.DeepEqual(one, other)
}

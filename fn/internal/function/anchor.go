package function

import (
	"errors"
	"fmt"
	"maps"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Limits of what the aliases of one resource may stand for, so that a few lines
// can't fill the memory.
const (
	maxAliasedNodes = 100_000
	maxAliasedBytes = 64 << 20
)

var (
	errAliasLoop = errors.New("a YAML anchor holds an alias of itself: write the value out")
	errAliasSize = errors.New("the YAML aliases stand for too much: write the values out")
)

// usesAliases reports whether a node holds an alias or a merge key, and whether one of
// them stands for a node outside of it.
func usesAliases(node *yaml.Node) (any, foreign bool) {
	var targets []*yaml.Node
	own := map[*yaml.Node]bool{}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Anchor != "" {
			own[n] = true
		}
		if n.Kind == yaml.AliasNode {
			targets = append(targets, n.Alias)
		}
		if isMergeKey(n) {
			any = true
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	walk(node)
	for _, target := range targets {
		any = true
		foreign = foreign || !own[target]
	}
	return any, foreign
}

func holdsForeignAlias(resource *yaml.RNode) bool {
	_, foreign := usesAliases(resource.YNode())
	return foreign
}

func isMergeKey(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.Value == "<<" && node.Tag == yaml.MergeTag
}

// withoutAliases returns a resource in which each alias and each merge key is
// replaced by what it stands for; the resource itself if it has none. kyaml's own
// way doesn't end when an anchor holds itself, and changes what is copied. The
// error says why the node can't be read, or is no resource.
func withoutAliases(resource *yaml.RNode) (*yaml.RNode, error) {
	node := resource.YNode()
	if node == nil {
		return nil, checkShape(nil)
	}
	if any, _ := usesAliases(node); any {
		r := resolving{open: map[*yaml.Node]bool{}}
		copied, err := r.copy(node)
		if err != nil {
			return nil, err
		}
		node, resource = copied, yaml.NewRNode(copied)
	}
	if err := checkShape(node); err != nil {
		return nil, err
	}
	return resource, nil
}

// resolving is the copy of one resource.
type resolving struct {
	open         map[*yaml.Node]bool // aliases' targets that are being copied
	nodes, bytes int                 // copied from aliases' targets
}

func (r *resolving) copy(node *yaml.Node) (*yaml.Node, error) {
	if len(r.open) > 0 {
		r.nodes++
		r.bytes += len(node.Value)
		if r.nodes > maxAliasedNodes || r.bytes > maxAliasedBytes {
			return nil, errAliasSize
		}
	}
	switch node.Kind {
	case yaml.AliasNode:
		if r.open[node.Alias] {
			return nil, errAliasLoop
		}
		r.open[node.Alias] = true
		defer delete(r.open, node.Alias)
		return r.copy(node.Alias)
	case yaml.MappingNode:
		return r.copyMap(node)
	}
	copied := *node
	copied.Anchor, copied.Content = "", nil
	for _, child := range node.Content {
		c, err := r.copy(child)
		if err != nil {
			return nil, err
		}
		copied.Content = append(copied.Content, c)
	}
	return &copied, nil
}

// copyMap puts the fields of merged maps after the map's own, which win; an earlier
// merged map wins over a later one.
func (r *resolving) copyMap(node *yaml.Node) (*yaml.Node, error) {
	copied := *node
	copied.Anchor, copied.Content = "", nil
	var merged []*yaml.Node
	has, merges := map[string]bool{}, 0
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, err := r.copy(node.Content[i])
		if err != nil {
			return nil, err
		}
		value, err := r.copy(node.Content[i+1])
		if err != nil {
			return nil, err
		}
		if !isMergeKey(key) {
			has[key.Value] = true
			copied.Content = append(copied.Content, key, value)
			continue
		}
		if merges++; merges > 1 {
			return nil, fmt.Errorf("line %d: the YAML merge key << is there twice: use one, with a list of the maps", key.Line)
		}
		if value.Kind == yaml.SequenceNode {
			merged = append(merged, value.Content...)
		} else {
			merged = append(merged, value)
		}
	}
	for _, m := range merged {
		if m.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("the YAML merge key in line %d needs a map", node.Line)
		}
		own := map[string]bool{}
		for i := 0; i+1 < len(m.Content); i += 2 {
			key := m.Content[i]
			if own[key.Value] {
				return nil, fmt.Errorf("line %d: %.60q is there twice in a map that is merged: drop one of them", key.Line, key.Value)
			}
			own[key.Value] = true
			if !has[key.Value] {
				copied.Content = append(copied.Content, key, m.Content[i+1])
			}
		}
		maps.Copy(has, own)
	}
	return &copied, nil
}

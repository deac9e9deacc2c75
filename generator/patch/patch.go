// Package patch applies patches as kustomize does, by its own libraries: strategic merge
// patches and JSON patches (RFC 6902), in YAML or JSON.
//
// A patch is hostile input: what it may take of time and memory is bounded, and whatever
// is wrong with it is an error. It is pure, and knows nothing of what it is applied to.
package patch

import (
	"errors"
	"fmt"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// Patch is one that was read: either operations, or merges.
type Patch struct {
	// Merges are the documents of a strategic merge patch.
	Merges []*Merge
	// operations are those of a JSON patch.
	operations jsonpatch.Patch
}

// Merge is one document of a strategic merge patch.
type Merge struct {
	// APIVersion, Kind and Name say what it is for; each may be empty.
	APIVersion, Kind, Name string

	node *yaml.RNode
}

// IsJSON reports whether it is a JSON patch.
func (p *Patch) IsJSON() bool {
	return len(p.Merges) == 0
}

// Parse reads a patch within a budget. A list is a JSON patch, a map a strategic merge
// patch.
func Parse(text string, budget *Budget) (parsed *Patch, err error) {
	defer recovered(&err)
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") { // as kustomize tells JSON
		return budget.parseOperations([]byte(text))
	}
	documents, err := budget.parseYAML(text)
	if err != nil {
		return nil, err
	}
	if documents[0].Kind == yaml.SequenceNode {
		if len(documents) > 1 {
			return nil, errors.New("a JSON patch is one document: put its operations into one list")
		}
		encoded, err := sigsyaml.YAMLToJSON([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("can't be read: %s", plain(err))
		}
		return budget.parseOperations(encoded)
	}
	nodes, err := kio.FromBytes([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("can't be read: %s", plain(err))
	}
	var p Patch
	for _, node := range nodes {
		if node.IsNilOrEmpty() {
			continue
		}
		if node.YNode().Kind != yaml.MappingNode {
			return nil, errors.New("is neither a map, which would be a strategic merge patch, nor a list of operations, which would be a JSON patch")
		}
		p.Merges = append(p.Merges, &Merge{APIVersion: node.GetApiVersion(), Kind: node.GetKind(), Name: node.GetName(), node: node})
	}
	if len(p.Merges) == 0 {
		return nil, errors.New("is empty: write a strategic merge patch or a JSON patch, or drop the entry")
	}
	return &p, nil
}

// Names reports whether a document names a field of the object itself, such as "data", or
// what is to be done with the whole of it.
func (m *Merge) Names(field string) bool {
	return m.node.Field(field) != nil
}

// Pointers lists what a JSON patch points to.
func (p *Patch) Pointers() []string {
	var pointers []string
	for _, operation := range p.operations {
		path, err := operation.Path()
		if err == nil {
			pointers = append(pointers, path)
		}
		if from, err := operation.From(); err == nil {
			pointers = append(pointers, from)
		}
	}
	return pointers
}

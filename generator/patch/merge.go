package patch

import (
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// errDeleted is the error of a patch with which nothing is left of the object.
var errDeleted = errors.New("deletes the object, which the view needs: to serve nothing, set spec.replicas to 0")

// Apply returns what a strategic merge patch makes of an object, which isn't changed. As
// in kustomize, the object's kind, name and namespace stay, whatever the patch says.
func (m *Merge) Apply(object map[string]any) (patched map[string]any, err error) {
	defer recovered(&err)
	for _, field := range []string{"labels", "annotations"} { // kyaml takes it for granted
		held, err := m.node.Pipe(yaml.Lookup("metadata", field))
		if err == nil && held != nil && !held.IsTaggedNull() && held.YNode().Kind != yaml.MappingNode {
			return nil, fmt.Errorf("metadata.%s has to be a map", field)
		}
	}
	if directive, err := m.node.Pipe(yaml.Lookup("$patch")); err == nil && yaml.GetValue(directive) == "replace" {
		return nil, errors.New("$patch: replace has no effect on the whole object, and drops the patch, in kustomize, too: write it into the field that is to be replaced")
	}
	target := &resource.Resource{RNode: *yaml.NewRNode(toNode(object))}
	patch := &resource.Resource{RNode: *m.node.Copy()}
	// The merge keys of lists are those of the object's kind.
	kind := patch.GetKind()
	patch.SetGvk(target.GetGvk())
	if kind != "" {
		patch.SetKind(kind)
	}
	if err := target.ApplySmPatch(patch); err != nil {
		return nil, fmt.Errorf("doesn't apply: %s", plain(err))
	}
	if target.IsNilOrEmpty() {
		return nil, errDeleted
	}
	value, err := fromNode(target.YNode())
	if err != nil {
		return nil, err
	}
	patched, ok := value.(map[string]any)
	if !ok {
		return nil, errDeleted
	}
	return patched, nil
}

package function

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// instance is where kustomize keeps the pods of one book apart from others'.
type instance struct {
	namespace, name string
}

// selectable are the pods of a generated Deployment.
type selectable struct {
	deployment string
	labels     map[string]string
}

// overlaps are generated Services that would serve the pages of several books:
// prefixes tell the books' names apart, but not what the Services select.
func overlaps(items []*yaml.RNode) framework.Results {
	pods := map[instance][]selectable{}
	for _, node := range items {
		// Somebody's own Deployment of mdBook may well have such labels.
		if node.GetKind() == "Deployment" && stringsAt(node, "spec", "template", "metadata", "annotations")[v1.RevisionAnnotation] != "" {
			labels := stringsAt(node, "spec", "template", "metadata", "labels")
			key := instanceOf(node, labels)
			pods[key] = append(pods[key], selectable{node.GetName(), labels})
		}
	}
	var list framework.Results
	for _, node := range items {
		selector := stringsAt(node, "spec", "selector")
		if node.GetKind() != "Service" || !isOfView(node.GetLabels()) || !isOfView(selector) {
			continue
		}
		var selected []string
		for _, candidate := range pods[instanceOf(node, selector)] {
			if isSubset(selector, candidate.labels) {
				selected = append(selected, candidate.deployment)
			}
		}
		if len(selected) > 1 {
			slices.Sort(selected)
			list = append(list, warningOf(node, "spec.selector",
				fmt.Sprintf("selects the pods of %s, so each request is answered by any of these books: give each a namespace of its own or, by labels with includeSelectors, a label of its own", strings.Join(selected, " and "))))
		}
	}
	return list
}

// isOfView reports whether there are the three labels of what is generated, and one at least
// that isn't the view's name has its value: an overlay may have set the other anew.
func isOfView(labels map[string]string) bool {
	found := false
	for key, value := range generator.Labels("") {
		got, ok := labels[key]
		if !ok {
			return false
		}
		found = found || value != "" && got == value
	}
	return found
}

func instanceOf(node *yaml.RNode, labels map[string]string) instance {
	return instance{cmp.Or(node.GetNamespace(), resid.DefaultNamespace), labels[generator.InstanceLabel]}
}

func isSubset(part, all map[string]string) bool {
	for key, value := range part {
		if got, ok := all[key]; !ok || got != value {
			return false
		}
	}
	return len(part) > 0
}

// stringsAt returns the strings of a map in a resource, none if there is no such map.
func stringsAt(node *yaml.RNode, path ...string) map[string]string {
	found := map[string]string{}
	at, err := node.Pipe(yaml.Lookup(path...))
	if err != nil || at == nil || at.YNode().Kind != yaml.MappingNode {
		return found
	}
	// VisitFields fails only for a node that is no map.
	_ = at.VisitFields(func(field *yaml.MapNode) error {
		found[yaml.GetValue(field.Key)] = yaml.GetValue(field.Value)
		return nil
	})
	return found
}

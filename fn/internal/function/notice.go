package function

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/resid"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/spelling"
)

// maxGroupDistance is how many letters make a group another one, not a misspelt one.
const maxGroupDistance = 5

// nothingToDo has a word about a function that has no view to expand or check.
// Views that were expanded before count: an overlay may have none of its own.
func (x *index) nothingToDo(config config) framework.Results {
	switch {
	case config.generates || len(x.views()) > 0:
		return nil
	case x.ofGenerator() && x.items[0].id == idOf(config.node):
		return framework.Results{warningOf(config.node, "",
			fmt.Sprintf("is listed under generators, and a generator sees no resources: list it under transformers, and the views under resources; or list a %s under generators", v1.Kind))}
	}
	message := fmt.Sprintf("no %s is among the resources, so nothing is generated: list the views under resources where this function runs", v1.Kind)
	if config.node.GetKind() != TransformerKind {
		return framework.Results{{Severity: framework.Warning, Message: message}}
	}
	return framework.Results{warningOf(config.node, "", message)}
}

// misspelt are items whose group looks like ours: their view would be left out.
func (x *index) misspelt() framework.Results {
	var list framework.Results
	for _, item := range x.items {
		group, _ := resid.ParseGroupVersion(item.id.apiVersion)
		if group == v1.GroupVersion.Group || item.node == nil {
			continue
		}
		// No resource of Kubernetes itself is of our kind.
		if looksLikeOurs(group) || item.id.kind == v1.Kind && group == "" {
			list = append(list, warningOf(item.node, "apiVersion",
				fmt.Sprintf("%q is not of the group %s, so nothing is made of it: did you mean %s?", item.id.apiVersion, v1.GroupVersion.Group, v1.GroupVersion)))
		}
	}
	return list
}

func looksLikeOurs(group string) bool {
	ours := v1.GroupVersion.Group
	return len(group)-len(ours) <= maxGroupDistance && spelling.Distance(strings.ToLower(group), ours) <= maxGroupDistance
}

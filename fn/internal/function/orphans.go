package function

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// dropOrphans drops what was generated from a view that is no longer in the package.
// Only where it is in a file that kpt named: what was moved there or came from
// elsewhere may be wanted without its view, so it is only reported. So is what
// somebody may have renamed.
func (p *placement) dropOrphans() framework.Results {
	var found framework.Results
	dropped := map[string][]string{}
	var copies []string
	for i, item := range p.items {
		if item.node == nil || !ofKpt(item.node) || p.replaced[i] != nil || p.dropped[i] {
			continue
		}
		from, isKnown := p.originOf(item)
		hasOwnName := item.id.name == from.name
		switch {
		case !isKnown && p.outlived(item):
			found = append(found, leftAlone(item, from))
		case !isKnown:
			found = append(found, p.renamed(item)...)
		case !hasOwnName && p.isCopy(item, from):
			p.dropped[i] = true
			copies = append(copies, item.id.kind+" "+item.id.name)
		case p.present[viewKey{item.id.namespace, from.view}]:
			if !hasOwnName && p.wanted[firstOf(item, from)] {
				found = append(found, leftAlone(item, from))
			}
		case path.Base(fileOf(item.node).path) != defaultName(item.id.kind, from.name):
			found = append(found, p.movedOrphan(item, from))
		case hasOwnName || p.isOfFunction(item, from):
			p.dropped[i] = true
			view := viewOf(item, from)
			dropped[view] = append(dropped[view], item.id.kind+" "+item.id.name)
		default:
			found = append(found, leftAlone(item, from))
		}
	}
	for _, name := range sortedKeys(dropped) {
		found = append(found, infoOf("removed what was generated from %s %s, which is no longer among the resources: %s", v1.Kind, name, strings.Join(dropped[name], ", ")))
	}
	if len(copies) > 0 {
		found = append(found, infoOf("removed copies beside what is generated, of the same name and in the same file: %s", strings.Join(copies, ", ")))
	}
	return found
}

func infoOf(format string, args ...any) *framework.Result {
	return &framework.Result{Severity: framework.Info, Message: fmt.Sprintf(format, args...)}
}

// viewOf names the view that an item would be of.
func viewOf(item item, from origin) string {
	if item.id.namespace == "" {
		return from.view
	}
	return item.id.namespace + "/" + from.view
}

// firstOf identifies the object of an item's kind that a view has in any case.
func firstOf(item item, from origin) id {
	if item.id.isConfigMap() {
		return item.id.named(generator.PagesName(from.view, 0))
	}
	return item.id.named(from.name)
}

// outlived reports whether an item was beside what was generated from a view that is gone: the
// next run finds it alone.
func (p *placement) outlived(item item) bool {
	from, isClaimed := claimed(item)
	return isClaimed && !p.hasView(func(other string) bool { return other == from.view })
}

// isCopy reports whether an item has the identity of what is replaced in the same file:
// releases that didn't find again what a function renames added one with each run.
func (p *placement) isCopy(item item, from origin) bool {
	for _, i := range p.homes[homeOf(item, from)] {
		if p.replaced[i] != nil && p.items[i].id == item.id {
			return true
		}
	}
	return false
}

func (p *placement) movedOrphan(item item, from origin) *framework.Result {
	remedy := "or bring the view back"
	if p.hasView(func(other string) bool { return other == from.view }) {
		remedy = fmt.Sprintf("or, if a function after this one changes its namespace, move it into %s beside the view", defaultName(item.id.kind, from.name))
	}
	return warningOf(item.node, "",
		fmt.Sprintf("was generated from %s %s, which is not among the resources: remove it from its file, %s", v1.Kind, viewOf(item, from), remedy))
}

// leftAlone has a word about an item that may be ours or somebody's own.
func leftAlone(item item, from origin) *framework.Result {
	return warningOf(item.node, "metadata.name",
		fmt.Sprintf("is left as it is, though its labels and file are those of %s %s of %s %s: remove it if it was that one once; if it is your own, give it other labels",
			item.id.kind, from.name, v1.Kind, from.view))
}

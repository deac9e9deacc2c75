package function

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/zoetrope/markdown-view/generator"
)

// origin is what an object was generated from, and by which name. Functions that come later
// in a kpt pipeline may have given it another name or namespace since.
type origin struct{ view, name string }

// originOf tells the origin of an object that was generated, or that nothing tells from one:
// where the object of that name is there, another in its file is somebody's own.
func (x *index) originOf(item item) (from origin, isKnown bool) {
	from, isKnown = claimed(item)
	return from, isKnown && (item.id.name == from.name || len(x.byID[item.id.named(from.name)]) == 0)
}

// claimed tells an object's origin by its labels, and by its name or, in kpt, that of its
// file: kpt keeps an object in its file when a function renames it.
func claimed(item item) (from origin, isClaimed bool) {
	viewName := item.node.GetLabels(generator.InstanceLabel)[generator.InstanceLabel]
	if viewName == "" || !belongs(item.node, viewName) {
		return origin{}, false
	}
	from = origin{viewName, item.id.name}
	if item.id.isNamed(from) {
		return from, true
	}
	if !ofKpt(item.node) {
		return origin{}, false
	}
	from.name, isClaimed = nameInFile(item)
	return from, isClaimed && item.id.isNamed(from)
}

// isNamed reports whether an origin's name is one that its view gives an object of that kind.
func (i id) isNamed(from origin) bool {
	switch i.named("") {
	case id{"apps/v1", "Deployment", i.namespace, ""}, id{"v1", "Service", i.namespace, ""}:
		return from.name == generator.ViewerName(from.view)
	}
	return i.isConfigMap() && generator.IsPagesName(from.name, from.view)
}

func (i id) named(name string) id {
	i.name = name
	return i
}

// nameInFile returns the name of the resource that kpt made an item's file for.
func nameInFile(item item) (string, bool) {
	text := path.Base(fileOf(item.node).path)
	text, hasKind := strings.CutPrefix(text, strings.ToLower(item.id.kind)+"_")
	text, isYAML := strings.CutSuffix(text, ".yaml")
	return text, hasKind && isYAML
}

// home is where kpt has an object of an origin in a file of its own.
type home struct {
	file
	apiVersion, kind string
	origin
}

func homeOf(item item, from origin) home {
	return home{fileOf(item.node), item.id.apiVersion, item.id.kind, from}
}

// homes finds the generated objects of a package by their origin.
func (x *index) homes() map[home][]int {
	found := map[home][]int{}
	for i, item := range x.items {
		if item.node == nil || !ofKpt(item.node) {
			continue
		}
		if from, isKnown := x.originOf(item); isKnown {
			at := homeOf(item, from)
			found[at] = append(found[at], i)
		}
	}
	return found
}

// formerly finds the item that a view's object was until a function after this one, in
// an earlier run, gave it another name or namespace; -1 if there is none.
func (p *placement) formerly(v *view, object *yaml.RNode) int {
	view := p.inFile(v)
	if view == nil {
		return -1
	}
	var found []int
	at := home{beside(view, object.GetKind(), object.GetName()), object.GetApiVersion(), object.GetKind(), origin{v.node.GetName(), object.GetName()}}
	for _, i := range p.homes[at] {
		namespace := p.items[i].id.namespace
		isTaken := p.replaced[i] != nil || p.dropped[i] || p.wanted[p.items[i].id]
		if !isTaken && (namespace == object.GetNamespace() || !p.present[viewKey{namespace, v.node.GetName()}]) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return -1
	}
	// What is somebody's own in the same file more likely has a name of its own, or a longer one.
	return slices.MinFunc(found, func(a, b int) int { return p.strangeness(a, v, object) - p.strangeness(b, v, object) })
}

func (p *placement) strangeness(i int, v *view, object *yaml.RNode) int {
	const longest = 1 << 10 // more than a name has
	was := p.items[i].id
	strangeness := len(was.name)
	if change, ok := affixOf(was.name, object.GetName()); !ok || !p.isShared(renaming{viewKey{was.namespace, v.node.GetName()}, change}) {
		strangeness += longest
	}
	if was.namespace != object.GetNamespace() {
		strangeness += 2 * longest
	}
	return strangeness
}

// wasOf reports whether an item may be replaced by a view's object of the same identity: it
// was generated from the view, or from one that is gone, as when a function has renamed
// the view along with its objects.
func (p *placement) wasOf(i int, v *view) bool {
	item := p.items[i]
	if belongs(item.node, v.node.GetName()) {
		return true
	}
	from, isKnown := p.originOf(item)
	return isKnown && ofKpt(item.node) && !p.present[viewKey{item.id.namespace, from.view}] && p.isOfFunction(item, from)
}

func (p *placement) hasView(named func(string) bool) bool {
	for view := range p.present {
		if named(view.name) {
			return true
		}
	}
	return false
}

// renamed has a word about an object that a function seems to have renamed, perhaps along
// with its view, and that isn't in its file: it stays beside the one that is generated anew.
func (p *placement) renamed(item item) framework.Results {
	viewName := item.node.GetLabels(generator.InstanceLabel)[generator.InstanceLabel]
	first := generator.ViewerName(viewName)
	if item.id.isConfigMap() {
		first = pagesNameIn(item.id.name, viewName)
	}
	switch {
	case viewName == "", !belongs(item.node, viewName), p.wanted[item.id],
		!item.id.isNamed(origin{viewName, first}), !strings.Contains(item.id.name, first), len(p.byID[item.id.named(first)]) > 0,
		!p.hasView(func(other string) bool { return strings.Contains(other, viewName) }):
		return nil
	}
	return framework.Results{warningOf(item.node, "metadata.name",
		fmt.Sprintf("was %s when it was generated, as its labels say, so that it is generated again beside this one: remove this one, and list the function that renames it before this function; or move it into %s beside the view, where it is found again; if it is your own, give it other labels",
			first, defaultName(item.id.kind, first)))}
}

// pagesNameIn returns the name of the shard that a name was made of.
func pagesNameIn(name, viewName string) string {
	first := generator.PagesName(viewName, 0)
	_, rest, _ := strings.Cut(name, first+".")
	further := first + "." + rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	if generator.IsPagesName(further, viewName) {
		return further
	}
	return first
}

package function

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/zoetrope/markdown-view/generator"
)

const localConfigAnnotation = "config.kubernetes.io/local-config"

// viewKey is namespace and name of a view.
type viewKey struct{ namespace, name string }

func keyOf(v *view) viewKey { return viewKey{v.node.GetNamespace(), v.node.GetName()} }

// placement puts what views expand to among the items.
type placement struct {
	*index
	replaced map[int]*yaml.RNode
	dropped  map[int]bool
	added    []*yaml.RNode
	faults   framework.Results
	// leftover are the ConfigMaps that an earlier run made beside a view's first.
	leftover map[viewKey][]int
	// present are all views, and wanted all that they expand to.
	present map[viewKey]bool
	wanted  map[id]bool
	// homes and files are of kpt only.
	homes map[home][]int
	files files
	// renamings are by the kinds of objects that have them.
	renamings map[renaming]map[string]bool
}

func (x *index) placement(views []*view) *placement {
	p := &placement{
		index: x, replaced: map[int]*yaml.RNode{}, dropped: map[int]bool{}, leftover: x.shards(),
		present: map[viewKey]bool{}, wanted: map[id]bool{}, homes: x.homes(), files: x.files(),
	}
	for _, v := range views {
		p.present[keyOf(v)] = true
		for _, object := range v.objects {
			p.wanted[idOf(object)] = true
		}
	}
	for _, item := range x.items {
		if item.id.isView() {
			p.present[viewKey{item.id.namespace, item.id.name}] = true
		}
	}
	p.renamings = p.allRenamings()
	return p
}

// place returns the items with what the views expand to: an object that is there
// already is replaced where it stands, others are added at the end, shards that a
// view no longer has are dropped. The views stay, marked as local configuration:
// kustomize then leaves them out of what it prints, and kpt out of what it
// applies. Nothing is changed when there are faults among the results.
func (x *index) place(views []*view) ([]*yaml.RNode, framework.Results) {
	p := x.placement(views)
	var notes framework.Results
	for _, v := range views {
		notes = append(notes, p.placeObjects(v)...)
	}
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	for _, v := range views {
		p.markLocal(v)
	}
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	notes = append(notes, p.dropOrphans()...)
	items := make([]*yaml.RNode, 0, len(x.items)+len(p.added))
	for i, item := range x.items {
		switch object := p.replaced[i]; {
		case p.dropped[i]:
		case object != nil:
			keepToolAnnotations(item.node, object)
			items = append(items, object)
		default:
			items = append(items, item.raw)
		}
	}
	return append(items, p.added...), notes
}

// shards returns the ConfigMaps that were generated beside the first of a view.
func (x *index) shards() map[viewKey][]int {
	shards := map[viewKey][]int{}
	for i, item := range x.items {
		if !item.id.isConfigMap() {
			continue
		}
		if from, isKnown := x.originOf(item); isKnown {
			key := viewKey{item.id.namespace, from.view}
			shards[key] = append(shards[key], i)
		}
	}
	return shards
}

func (p *placement) placeObjects(v *view) framework.Results {
	var renamed []int
	for _, object := range v.objects {
		key := idOf(object)
		at := p.byID[key]
		if i := p.formerly(v, object); len(at) == 0 && i >= 0 {
			at, renamed = []int{i}, append(renamed, i)
		}
		if p.inFile(v) != nil {
			noteDirectives(object)
		}
		switch {
		case len(at) == 0:
			p.add(v, object)
		case len(at) > 1:
			p.faults = append(p.faults, faultOf(v.node, "metadata.name", "%s %s, which this view expands to, is among the resources %d times%s: keep one", key.kind, key.name, len(at), p.in(at)))
		case !p.wasOf(at[0], v):
			p.faults = append(p.faults, faultOf(v.node, "metadata.name", "%s %s is among the resources already%s and was not generated from this view: rename it or the view", key.kind, key.name, p.in(at)))
		default:
			p.replaced[at[0]] = object
		}
	}
	if len(p.faults) > 0 {
		return nil
	}
	p.dropShards(v, renamed)
	return p.overwritten(v, renamed)
}

func (p *placement) add(v *view, object *yaml.RNode) {
	view := p.inFile(v)
	switch {
	case view != nil:
		p.files.placeBeside(view, object)
	case p.inKustomize():
		if err := notePreviousName(object); err != nil {
			p.faults = append(p.faults, faultOf(v.node, "metadata.annotations", "%v", err))
		}
	}
	p.added = append(p.added, object)
}

// in names the files that items are from.
func (x *index) in(items []int) string {
	var names []string
	for _, i := range items {
		if name, _, _ := kioutil.GetFileAnnotations(x.items[i].node); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", in " + strings.Join(slices.Compact(names), " and ")
}

// belongs reports whether an item was generated from the view of that name.
func belongs(item *yaml.RNode, viewName string) bool {
	labels := item.GetLabels()
	for key, value := range generator.Labels(viewName) {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// markLocal marks a view's item; a functionConfig may be a view that is none.
func (p *placement) markLocal(v *view) {
	for _, i := range p.byID[idOf(v.node)] {
		item := p.items[i]
		if err := p.markExpanded(v.node, item); err != nil {
			p.faults = append(p.faults, faultOf(v.node, "metadata.annotations", "%v", err))
		}
		if item.node.GetAnnotations(localConfigAnnotation)[localConfigAnnotation] == "true" {
			continue
		}
		if err := item.raw.PipeE(yaml.SetAnnotation(localConfigAnnotation, "true")); err != nil {
			p.faults = append(p.faults, faultOf(v.node, "metadata.annotations", "%v", err))
		}
	}
}

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

// placement puts what views expand to among the items.
type placement struct {
	*index
	replaced map[int]*yaml.RNode
	dropped  map[int]bool
	added    []*yaml.RNode
	faults   framework.Results
	// leftover are the ConfigMaps that an earlier run made beside a view's first,
	// by namespace and name of the view.
	leftover map[[2]string][]int
}

// place returns the items with what the views expand to: an object that is there
// already is replaced where it stands, others are added at the end, shards that a
// view no longer has are dropped. The views stay, marked as local configuration:
// kustomize then leaves them out of what it prints, and kpt out of what it
// applies. Nothing is changed when there are faults among the results.
func (x *index) place(views []*view) ([]*yaml.RNode, framework.Results) {
	p := &placement{index: x, replaced: map[int]*yaml.RNode{}, dropped: map[int]bool{}, leftover: x.shards()}
	for _, v := range views {
		p.placeObjects(v)
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
	notes := p.inPackage(views)
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
func (x *index) shards() map[[2]string][]int {
	shards := map[[2]string][]int{}
	for i, item := range x.items {
		if !item.id.isConfigMap() {
			continue
		}
		viewName := item.node.GetLabels(generator.InstanceLabel)[generator.InstanceLabel]
		if generator.IsPagesName(item.id.name, viewName) && belongs(item.node, viewName) {
			key := [2]string{item.id.namespace, viewName}
			shards[key] = append(shards[key], i)
		}
	}
	return shards
}

func (p *placement) placeObjects(v *view) {
	generated := map[id]bool{}
	for _, object := range v.objects {
		key := idOf(object)
		generated[key] = true
		switch at := p.byID[key]; {
		case len(at) == 0:
			p.add(v, object)
		case len(at) > 1:
			p.faults = append(p.faults, faultOf(v.node, "metadata.name", "%s %s, which this view expands to, is among the resources %d times%s: keep one", key.kind, key.name, len(at), p.in(at)))
		case !belongs(p.items[at[0]].node, v.node.GetName()):
			p.faults = append(p.faults, faultOf(v.node, "metadata.name", "%s %s is among the resources already%s and was not generated from this view: rename it or the view", key.kind, key.name, p.in(at)))
		default:
			p.replaced[at[0]] = object
		}
	}
	for _, i := range p.leftover[[2]string{v.node.GetNamespace(), v.node.GetName()}] {
		if !generated[p.items[i].id] {
			p.dropped[i] = true
		}
	}
}

func (p *placement) add(v *view, object *yaml.RNode) {
	if p.inKustomize() {
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

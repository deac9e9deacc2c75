package function

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// view is one MarkdownView on its way through the function.
type view struct {
	node    *yaml.RNode
	results framework.Results
	// objects are what it expands to; nil if a result is an error.
	objects []*yaml.RNode
}

// expand expands each view by itself, so that all faults of all views are found.
func (f *Function) expand(nodes []*yaml.RNode, input *index, config config) []*view {
	views := make([]*view, 0, len(nodes))
	seen, applied := map[id]*yaml.RNode{}, map[id]*yaml.RNode{}
	for _, node := range nodes {
		v := &view{node: node}
		views = append(views, v)
		key := idOf(node)
		if key.name == "" { // which is at fault, and not another's
			f.expandOne(v, input, config)
			input.locate(v)
			continue
		}
		if first := seen[key]; first != nil {
			v.results = append(v.results, faultOf(node, "metadata.name", "%s has the same name and namespace: rename one of them", another(first, node)))
			continue
		}
		seen[key] = node
		anywhere := key
		anywhere.namespace = cmp.Or(key.namespace, resid.DefaultNamespace)
		if first := applied[anywhere]; first != nil {
			v.results = append(v.results, warningOf(node, "metadata.namespace", another(first, node)+
				" has the same name, and one of them has no namespace: applied to the namespace "+resid.DefaultNamespace+" the later one replaces the other, so give it its namespace"))
		}
		applied[anywhere] = node
		f.expandOne(v, input, config)
	}
	return views
}

// locate has the faults of a view without a name say which item it is, if no file does.
func (x *index) locate(v *view) {
	i := slices.IndexFunc(x.items, func(i item) bool { return i.node == v.node })
	for _, result := range v.results {
		if i >= 0 && result.File == nil && result.Field != nil {
			result.Field.Path = fmt.Sprintf("%s[%d].%s", itemsField, i, result.Field.Path)
		}
	}
}

func (f *Function) expandOne(v *view, input *index, config config) {
	var spec v1.MarkdownView
	if faults := decode(v.node, &spec); len(faults) > 0 {
		v.results = faults
		return
	}
	invalid := spec.Validate()
	var contents []generator.Content
	complete := !hasFaultySource(invalid)
	if complete {
		resolver := resolver{function: f, view: v, input: input, config: config}
		contents, complete = resolver.contents(&spec)
	}
	if !complete {
		// Whether the pages are good can't be told without all of them.
		v.add(diagnostic.FromFields(invalid))
		return
	}
	f.generate(v, &spec, contents)
}

func hasFaultySource(invalid field.ErrorList) bool {
	for _, err := range invalid {
		if strings.HasPrefix(err.Field, "spec.contentFrom") {
			return true
		}
	}
	return false
}

func (f *Function) generate(v *view, spec *v1.MarkdownView, contents []generator.Content) {
	output, err := generator.Generate(spec, contents)
	var invalid *generator.InvalidError
	switch {
	case errors.As(err, &invalid):
		v.add(invalid.Problems)
		return
	case err != nil:
		v.results = append(v.results, faultOf(v.node, "", "%v", err))
		return
	}
	warnings := output.Warnings
	if f.AllWarnings {
		warnings = output.AllWarnings
	}
	v.add(warnings)
	for _, object := range output.Objects() {
		node, err := toNode(object)
		if err != nil {
			v.results = append(v.results, faultOf(v.node, "", "%v", err))
			return
		}
		v.objects = append(v.objects, node)
	}
}

func (v *view) add(found diagnostic.List) {
	for _, problem := range found {
		v.results = append(v.results, resultOf(v.node, problem))
	}
}

func results(views []*view) framework.Results {
	var list framework.Results
	for _, v := range views {
		list = append(list, v.results...)
	}
	return list
}

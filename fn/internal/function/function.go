// Package function is the front end of builds: a KRM function that kustomize
// runs as a generator or a transformer, that kpt runs, and that people run by hand.
//
// Beside its input it reads only the folders that a view's directory names,
// through the file system that it is given.
package function

import (
	"io/fs"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Function expands MarkdownViews.
type Function struct {
	// WorkingDirectory is what a view's directory is relative to. It must not
	// follow links that lead out of it, as os.Root.FS doesn't.
	WorkingDirectory fs.FS
	// AllWarnings has each warning listed. Otherwise many of a kind are one.
	AllWarnings bool
}

var _ framework.ResourceListProcessor = &Function{}

// Process expands the views of a ResourceList as its functionConfig says. If any
// view is faulty, the items stay as they came and the error is the list's
// framework.Results: one for each fault of any view.
func (f *Function) Process(list *framework.ResourceList) error {
	config, faults := readConfig(list.FunctionConfig)
	if len(faults) > 0 {
		list.Results = faults
		return faults
	}
	input, faults := indexItems(list.Items)
	nodes, notes := input.toExpand(config)
	views := f.expand(nodes, input, config)
	list.Results = slices.Concat(faults, notes, results(views), input.strangers(), input.misspelt())
	if len(list.Results) == 0 {
		list.Results = input.nothingToDo(config)
	}
	if failed(list.Results) {
		return list.Results
	}
	items := list.Items
	if config.mode == Expand {
		var found framework.Results
		items, found = input.place(views)
		list.Results = append(list.Results, found...)
		if failed(found) {
			return list.Results
		}
	}
	list.Results = append(list.Results, overlaps(items)...)
	list.Items = items
	return nil
}

// Render expands the views among items and returns what they expand to and
// nothing else, as is wanted by hand. The error is a framework.Results.
func (f *Function) Render(items []*yaml.RNode) ([]*yaml.RNode, framework.Results, error) {
	input, faults := indexItems(items)
	views := f.expand(input.views(), input, config{mode: Expand})
	found := slices.Concat(faults, results(views), input.strangers(), input.misspelt(), input.unused())
	if len(views) == 0 && !failed(found) {
		found = append(found, fault("no MarkdownView to expand: name a file that holds one"))
	}
	if failed(found) {
		return nil, found, found
	}
	var rendered []*yaml.RNode
	for _, view := range views {
		rendered = append(rendered, view.objects...)
	}
	return rendered, found, nil
}

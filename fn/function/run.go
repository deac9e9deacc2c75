package function

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// RunOnResourceList reads a ResourceList from in and writes one to out. Results
// stand in the list, and on errOut as text for those who drop them: kustomize
// does. The error is a framework.Results when views are at fault; the list then
// has its items as they came. With any other error nothing is written to out.
//
// It is framework.Execute, but for the annotations that tell which resource is
// which: nothing here changes them, so it has nothing to reconcile, and items that
// no view is concerned with stay as they are.
func RunOnResourceList(fn *Function, in io.Reader, out, errOut io.Writer) error {
	list := &kio.ByteReadWriter{Reader: in, OmitReaderAnnotations: true, KeepReaderAnnotations: true}
	items, err := list.Read()
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	if err := checkWrapping(list, items); err != nil {
		return err
	}
	resources := &framework.ResourceList{Items: items, FunctionConfig: list.FunctionConfig}
	if err := keepAnchors(resources); err != nil {
		return err
	}
	if err := checkItems(resources.Items); err != nil {
		return err
	}
	fault := fn.Process(resources)
	printResults(errOut, resources.Results)
	if err := write(list, resources, out); err != nil {
		return err
	}
	return fault
}

// write writes all or nothing.
func write(list *kio.ByteReadWriter, resources *framework.ResourceList, out io.Writer) error {
	if len(resources.Results) > 0 {
		text, err := yaml.Marshal(resources.Results)
		if err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
		if list.Results, err = yaml.Parse(string(text)); err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
	}
	var text bytes.Buffer
	list.Writer, list.FunctionConfig = &text, resources.FunctionConfig
	if err := list.Write(resources.Items); err != nil {
		return fmt.Errorf("write the ResourceList: %w", err)
	}
	_, err := text.WriteTo(out)
	return err
}

// checkWrapping says what the input is if it is no ResourceList.
func checkWrapping(list *kio.ByteReadWriter, items []*yaml.RNode) error {
	const wanted = "standard input must hold a ResourceList of apiVersion config.kubernetes.io/v1, as kustomize and kpt write it"
	switch {
	case list.WrappingKind == kio.ResourceListKind:
		return nil
	case list.WrappingKind != "":
		return fmt.Errorf("%s, not a %s", wanted, list.WrappingKind)
	case len(items) == 0:
		return fmt.Errorf("%s, but is empty", wanted)
	case items[0].GetKind() == v1.Kind:
		return fmt.Errorf("%s, not a bare %s: to expand it by hand, run fn with its file name, or with - for standard input", wanted, v1.Kind)
	case items[0].GetKind() == kio.ResourceListKind && len(items) > 1:
		return fmt.Errorf("%s, in a single document", wanted)
	case items[0].GetKind() == kio.ResourceListKind:
		return fmt.Errorf("%s, and this one has neither items nor functionConfig", wanted)
	}
	return fmt.Errorf("%s, not resources of kind %q", wanted, items[0].GetKind())
}

func checkItems(items []*yaml.RNode) error {
	for i, item := range items {
		if node := item.YNode(); node == nil || node.Kind != yaml.MappingNode {
			return fmt.Errorf("standard input: item %d of the ResourceList is no resource: it must be a map", i)
		}
	}
	return nil
}

// keepAnchors writes out the aliases that stand for something in another resource:
// the other may not come before it in the output, or not at all.
func keepAnchors(list *framework.ResourceList) error {
	resources := list.Items
	if list.FunctionConfig != nil {
		resources = append(slices.Clone(resources), list.FunctionConfig)
	}
	for i, resource := range resources {
		if _, foreign := usesAliases(resource.YNode()); !foreign {
			continue
		}
		node, err := withoutAliases(resource)
		if err != nil {
			return fmt.Errorf("standard input: %s %s: %w", resource.GetKind(), resource.GetName(), err)
		}
		if i < len(list.Items) {
			list.Items[i] = node
		} else {
			list.FunctionConfig = node
		}
	}
	return nil
}

func printResults(to io.Writer, results framework.Results) {
	for _, result := range results {
		// Nothing is left to tell it to if standard error is gone.
		_, _ = fmt.Fprintln(to, Line(result))
	}
}

// IsFault says whether an error was printed as results already.
func IsFault(err error) bool {
	var results framework.Results
	return errors.As(err, &results)
}

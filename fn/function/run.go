package function

import (
	"errors"
	"fmt"
	"io"

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
	if err := checkResources(resources); err != nil {
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
	var text chunks
	list.Writer, list.FunctionConfig = &text, resources.FunctionConfig
	if err := list.Write(resources.Items); err != nil {
		return fmt.Errorf("write the ResourceList: %w", err)
	}
	return text.writeTo(out)
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
	}
	first, err := withoutAliases(items[0])
	if err != nil {
		return fmt.Errorf("%s, not something else: it %w", wanted, err)
	}
	switch kind := first.GetKind(); {
	case kind == v1.Kind:
		return fmt.Errorf("%s, not a bare %s: to expand it by hand, run fn with its file name, or with - for standard input", wanted, v1.Kind)
	case kind == kio.ResourceListKind && len(items) > 1:
		return fmt.Errorf("%s, in a single document", wanted)
	case kind == kio.ResourceListKind:
		return fmt.Errorf("%s, and this one has neither items nor functionConfig", wanted)
	default:
		return fmt.Errorf("%s, not resources of kind %q", wanted, kind)
	}
}

// checkResources refuses what kyaml's writer panics on. On the way it writes out the
// aliases that stand for something in another resource: the other may not come
// before it in the output, or not at all.
func checkResources(list *framework.ResourceList) error {
	for i, raw := range list.Items {
		node, err := withoutAliases(raw)
		if err != nil {
			return fmt.Errorf("standard input: items[%d] of the ResourceList can't be read: %w", i, err)
		}
		if holdsForeignAlias(raw) {
			list.Items[i] = node
		}
	}
	if list.FunctionConfig.IsNilOrEmpty() {
		return nil
	}
	node, err := withoutAliases(list.FunctionConfig)
	if err != nil {
		return fmt.Errorf("standard input: the functionConfig can't be read: %w", err)
	}
	if holdsForeignAlias(list.FunctionConfig) {
		list.FunctionConfig = node
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

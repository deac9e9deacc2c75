package function

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// RunOnResourceList reads a ResourceList from in and writes one to out. Results
// stand in the list, and on errOut as text for those who drop them: kustomize
// does. The error is a framework.Results when views are at fault; the list then
// has its items as they came. With any other error nothing is written to out.
func RunOnResourceList(fn *Function, in io.Reader, out, errOut io.Writer) error {
	buffered := bufio.NewWriter(out)
	list := &kio.ByteReadWriter{Reader: in, Writer: buffered, KeepReaderAnnotations: true}
	err := framework.Execute(framework.ResourceListProcessorFunc(func(rl *framework.ResourceList) error {
		err := checkWrapping(list, rl.Items)
		if err == nil {
			err = keepAnchors(list, rl)
		}
		if err != nil {
			rl.Items, list.FunctionConfig, list.WrappingKind = nil, nil, ""
			return err
		}
		err = fn.Process(rl)
		printResults(errOut, rl.Results)
		return err
	}), list)
	if flushErr := buffered.Flush(); err == nil {
		err = flushErr
	}
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
	case items[0].GetKind() == kio.ResourceListKind:
		return fmt.Errorf("%s, and this one has neither items nor functionConfig", wanted)
	}
	return fmt.Errorf("%s, not resources of kind %q", wanted, items[0].GetKind())
}

// keepAnchors writes out the aliases that stand for something in another resource:
// the other may not come before it in the output, or not at all.
func keepAnchors(list *kio.ByteReadWriter, rl *framework.ResourceList) error {
	resources := rl.Items
	if rl.FunctionConfig != nil {
		resources = append(slices.Clone(resources), rl.FunctionConfig)
	}
	for i, resource := range resources {
		if _, foreign := usesAliases(resource.YNode()); !foreign {
			continue
		}
		node, err := withoutAliases(resource)
		if err != nil {
			return fmt.Errorf("%s %s: %w", resource.GetKind(), resource.GetName(), err)
		}
		if i < len(rl.Items) {
			rl.Items[i] = node
		} else {
			rl.FunctionConfig, list.FunctionConfig = node, node
		}
	}
	return nil
}

// RunOnFiles writes what the MarkdownViews in files expand to, and nothing else,
// to out. "-" stands for in. On an error nothing is written to out; it is a
// framework.Results, and printed on errOut, when views are at fault.
func RunOnFiles(fn *Function, files []string, in io.Reader, out, errOut io.Writer) error {
	var items []*yaml.RNode
	for _, name := range files {
		read, err := readFile(name, in)
		if err != nil {
			return err
		}
		items = append(items, read...)
	}
	rendered, results, err := fn.Render(items)
	printResults(errOut, results)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(out)
	if err := (kio.ByteWriter{Writer: buffered}).Write(rendered); err != nil {
		return err
	}
	return buffered.Flush()
}

func readFile(name string, in io.Reader) ([]*yaml.RNode, error) {
	var text []byte
	var err error
	if name == "-" {
		name = "standard input"
		text, err = io.ReadAll(in)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, err
	}
	reader := kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true}
	items, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("%s: holds no resource", name)
	}
	for i, item := range items {
		if items[i], err = withoutAliases(item); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		kind := items[i].GetKind()
		if kind != v1.Kind && kind != "ConfigMap" {
			return nil, fmt.Errorf("%s: holds a resource of kind %q: by hand, name only files with MarkdownViews and the ConfigMaps that hold their pages", name, kind)
		}
		if err := items[i].PipeE(yaml.SetAnnotation(kioutil.PathAnnotation, name)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return items, nil
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

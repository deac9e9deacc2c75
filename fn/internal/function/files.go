package function

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// stdin is the name of standard input among files.
const stdin = "-"

// RunOnFiles writes what the MarkdownViews in files expand to, and nothing else,
// to out. "-" stands for in. On an error nothing is written to out; it is a
// framework.Results, and printed on errOut, when views are at fault.
func RunOnFiles(fn *Function, files []string, in io.Reader, out, errOut io.Writer) error {
	if err := checkNames(files); err != nil {
		return err
	}
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
	var text chunks
	if err := (kio.ByteWriter{Writer: &text}).Write(rendered); err != nil {
		return err
	}
	return text.writeTo(out)
}

// readFile returns what a file holds. Results name the file that a view was read from.
func readFile(name string, in io.Reader) ([]*yaml.RNode, error) {
	text, err := readAll(name, in, maxFileBytes)
	if err != nil {
		return nil, err
	}
	if name == stdin {
		name = "standard input"
	}
	found, err := documents(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var items []*yaml.RNode
	for _, document := range found {
		held, err := resources(fmt.Sprintf("document %d", document.number), document.node)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, resource := range held {
			if err := checkKind(resource); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			file := name
			if resource.node.GetName() == "" { // so that it can be found
				file += ", " + resource.at
			}
			if err := resource.node.PipeE(yaml.SetAnnotation(kioutil.PathAnnotation, file)); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, resource.at, err)
			}
			items = append(items, resource.node)
		}
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("%s: holds no resource: name a file with a %s", name, v1.Kind)
	}
	return items, nil
}

func checkKind(from located) error {
	const wanted = ": by hand, name only files with MarkdownViews and the ConfigMaps that hold their pages"
	switch kind, apiVersion := from.node.GetKind(), from.node.GetApiVersion(); {
	case kind == "":
		return fmt.Errorf("%s has no kind%s: write kind: %s, or kind: ConfigMap", from.at, butHas(from.node, yaml.KindField), v1.Kind)
	case kind == v1.Kind && apiVersion != v1.GroupVersion.String():
		return fmt.Errorf("%s is a %s %s: use %s", from.at, kind, ofVersion(from.node), v1.GroupVersion)
	case kind == "ConfigMap" && apiVersion != "v1":
		return fmt.Errorf("%s is a %s %s: use v1", from.at, kind, ofVersion(from.node))
	case kind != v1.Kind && kind != "ConfigMap":
		return fmt.Errorf("%s is a resource of kind %q%s", from.at, kind, cmp.Or(suggestion(kind, []string{v1.Kind, "ConfigMap"}), wanted))
	}
	return nil
}

func ofVersion(node *yaml.RNode) string {
	if version := node.GetApiVersion(); version != "" {
		return fmt.Sprintf("of apiVersion %q", version)
	}
	return "without an apiVersion" + butHas(node, yaml.APIVersionField)
}

// butHas names a field that is spelt as another in upper or lower case.
func butHas(node *yaml.RNode, field string) string {
	names, _ := node.Fields() // it is a map
	for _, name := range names {
		if strings.EqualFold(name, field) {
			return fmt.Sprintf(", but %q", name)
		}
	}
	return ""
}

// checkNames finds files that are named twice.
func checkNames(names []string) error {
	seen := map[string]os.FileInfo{}
	for i, name := range names {
		switch {
		case slices.Contains(names[:i], name) && name == stdin:
			return errors.New(`"-" is named twice: standard input can be read only once`)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("%s is named twice: name each file once", name)
		case name == stdin:
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			continue // reading it says what is wrong
		}
		for _, other := range sortedKeys(seen) {
			if os.SameFile(info, seen[other]) {
				return fmt.Errorf("%s and %s are the same file: name it once", other, name)
			}
		}
		seen[name] = info
	}
	return nil
}

// maxFileBytes is the most that is read of a file: several of the largest books, in base64.
// Reading takes a multiple of it in memory, and nobody writes that much by hand. A
// ResourceList has no such limit: kustomize and kpt hold all of a build anyhow.
const maxFileBytes = 256 << 20

// readAll returns all of a file, which may have that many bytes at most.
func readAll(name string, in io.Reader, most int64) ([]byte, error) {
	if name == stdin {
		return readUpTo(most, "standard input", in, 0)
	}
	if name == "" {
		return nil, errors.New(`the name of a file is empty; "-" is standard input`)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory: name the files in it, or name it under contentFrom in a %s", name, v1.Kind)
	case info.Size() > most:
		return nil, tooLarge(name, fmt.Sprintf("%d bytes, more than the %d", info.Size(), most))
	}
	return readUpTo(most, name, file, info.Size())
}

// readUpTo reads what says that it has so many bytes, or 0 if it doesn't.
func readUpTo(most int64, name string, from io.Reader, size int64) ([]byte, error) {
	var text bytes.Buffer
	text.Grow(int(size) + bytes.MinRead)
	switch read, err := text.ReadFrom(io.LimitReader(from, most+1)); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case read > most:
		return nil, tooLarge(name, fmt.Sprintf("more than the %d bytes", most))
	}
	return text.Bytes(), nil
}

func tooLarge(name, size string) error {
	return fmt.Errorf("%s has %s that a file may have: split it, and name only files with %ss and the ConfigMaps that hold their pages", name, size, v1.Kind)
}

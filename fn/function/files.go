package function

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

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
	var text chunks
	if err := (kio.ByteWriter{Writer: &text}).Write(rendered); err != nil {
		return err
	}
	return text.writeTo(out)
}

// afterEnd finds what kyaml leaves out: all that follows the end of a document but
// isn't set off as another one.
var afterEnd = regexp.MustCompile(`(?m)^\.\.\.[ \t\r]*\n(?:[ \t\r]*(?:#.*)?\n)*(?:[^-#\s]|-[^-]|--[^-])`)

func readFile(name string, in io.Reader) ([]*yaml.RNode, error) {
	text, err := readAll(name, in)
	if err != nil {
		return nil, err
	}
	if name == "-" {
		name = "standard input"
	}
	if afterEnd.Match(text) {
		return nil, fmt.Errorf("%s: something follows the line \"...\", which ends the document: begin the next one with \"---\"", name)
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
			return nil, fmt.Errorf("%s: document %d can't be read: %w", name, i, err)
		}
		switch kind := items[i].GetKind(); kind {
		case v1.Kind:
			if got := items[i].GetApiVersion(); !strings.HasPrefix(got, v1.GroupVersion.Group+"/") {
				return nil, fmt.Errorf("%s: holds a %s of apiVersion %q: use %s", name, kind, got, v1.GroupVersion)
			}
		case "ConfigMap":
		case "":
			return nil, fmt.Errorf("%s: document %d has no kind", name, i)
		default:
			return nil, fmt.Errorf("%s: holds a resource of kind %q: by hand, name only files with MarkdownViews and the ConfigMaps that hold their pages", name, kind)
		}
		// Results name the file that a view was read from.
		if err := items[i].PipeE(yaml.SetAnnotation(kioutil.PathAnnotation, name)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return items, nil
}

func readAll(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory: name the files in it, or name it under contentFrom in a %s", name, v1.Kind)
	}
	return os.ReadFile(name)
}

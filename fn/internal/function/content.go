package function

import (
	"encoding/base64"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/directory"
)

// resolver finds what a view's contentFrom names.
type resolver struct {
	function *Function
	view     *view
	input    *index
	config   config
}

// contents returns the contents in the order of spec.contentFrom, and whether these
// are all. What can't be found is noted among the view's results.
func (r *resolver) contents(spec *v1.MarkdownView) (contents []generator.Content, complete bool) {
	elsewhere := false
	for i, source := range spec.Spec.ContentFrom {
		field := fmt.Sprintf("spec.contentFrom[%d]", i)
		var pages *book.Book
		switch {
		case source.ConfigMapRef != nil:
			field += ".configMapRef"
			pages = r.configMap(field, source.ConfigMapRef)
		case source.SourceRef != nil && r.config.mode == Validate:
			elsewhere = true
			r.note(diagnostic.Info, field+".sourceRef", "its pages are in the cluster, so neither pages nor configuration are checked")
		case source.SourceRef != nil:
			r.fault(field+".sourceRef", "is for the cluster, where Flux's sources are: use directory, or have the controller read it")
		default:
			field += ".directory"
			pages = r.directory(field, source.Directory, spec.Spec.BookToml)
		}
		if pages != nil {
			contents = append(contents, generator.Content{Field: field, Book: *pages})
		}
	}
	return contents, !elsewhere && !failed(r.view.results)
}

func (r *resolver) fault(field, format string, args ...any) {
	r.note(diagnostic.Error, field, fmt.Sprintf(format, args...))
}

func (r *resolver) note(severity diagnostic.Severity, field, message string) {
	r.view.add(diagnostic.List{{Severity: severity, Field: field, Message: message}})
}

func (r *resolver) directory(field string, source *v1.DirectorySource, bookToml string) *book.Book {
	options := directory.Options{Ignore: source.Ignore}
	if bookToml != "" {
		options.BookToml = []byte(bookToml)
	}
	content, err := directory.Read(r.function.WorkingDirectory, source.Path, options)
	if err == nil {
		return &content
	}
	r.view.add(diagnostic.FromError(err).Below(field))
	return nil
}

func (r *resolver) configMap(field string, source *v1.ConfigMapSource) *book.Book {
	found, err := r.input.configMap(r.view.node, source.Name)
	var labels map[string]string
	if found.node != nil {
		labels = found.node.GetLabels()
	}
	generated := generator.GeneratedPages(r.view.node.GetName(), source.Name, labels)
	switch {
	case generated != "":
		r.fault(field, "%s", generated)
	case found.node != nil:
		pages, faults := pagesOf(found.node)
		for _, fault := range faults {
			r.fault(field, "ConfigMap %s: %s", source.Name, fault)
		}
		return pages
	case err != nil:
		r.fault(field, "%v", err)
	case source.Optional:
	case r.config.generates && r.input.holdsOnly(r.view.node):
		r.fault(field, "a kustomize generator sees no other resources, so ConfigMap %s can't be read: use directory, or list the view under resources and a %s under transformers", source.Name, TransformerKind)
	default:
		r.fault(field, "%s", found.missing)
	}
	return nil
}

// pagesOf takes each key of a ConfigMap as a page.
func pagesOf(node *yaml.RNode) (*book.Book, []string) {
	var faults []string
	read := func(field string) map[string]string {
		var texts map[string]string
		if value := node.Field(field); value != nil {
			for _, fault := range decodeField(value.Value, field, &texts) {
				faults = append(faults, fault.path+": "+fault.message)
			}
		}
		return texts
	}
	pages := map[string][]byte{}
	for key, text := range read(yaml.DataField) {
		pages[key] = []byte(text)
	}
	encoded := read(yaml.BinaryDataField)
	for _, key := range sortedKeys(encoded) {
		content, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded[key]), ""))
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s: is not base64: %v: encode it, or write text under data", fieldPath(yaml.BinaryDataField, key), err))
		}
		pages[key] = content
	}
	return &book.Book{Pages: pages}, faults
}

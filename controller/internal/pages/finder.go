// Package pages finds what a view takes its pages from, ConfigMaps and Flux's sources,
// tells its versions apart without reading it, and reads it.
//
// It may import the store of artifacts and the outcomes, and knows nothing of what
// becomes of the pages.
package pages

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator/book"
)

// Input is one source of a view's pages, as it is now.
type Input struct {
	// Field is the field of the view that names it.
	Field string
	// Version differs whenever the pages do.
	Version string
	// Revision is what Flux calls the version; empty if it isn't Flux's.
	Revision string
	// Bytes is about how many bytes the pages have, and not less than they have; 0 for
	// what can't be read yet, which may change at any time.
	Bytes func() int64
	// Read returns the pages.
	Read func(context.Context) (book.Book, error)
}

// Revision is that of Flux's sources, of all of them if there are several; empty if
// there is none.
func Revision(inputs []Input) string {
	var revisions []string
	for _, in := range inputs {
		if in.Revision != "" {
			revisions = append(revisions, in.Revision)
		}
	}
	return strings.Join(revisions, ",")
}

// Finder finds inputs. All of its fields are required.
type Finder struct {
	// Metadata reads the metadata of ConfigMaps from a cache, but for those that carry this
	// system's label, which Client reads from another one.
	Metadata, Client client.Reader
	// APIReader reads the contents of ConfigMaps.
	APIReader client.Reader
	// Sources gives access to Flux's sources.
	Sources *Sources

	contents contentCache
}

// Find finds what a view's contentFrom names, in its order. Optional inputs that are
// missing are left out.
func (f *Finder) Find(ctx context.Context, view *v1.MarkdownView) ([]Input, error) {
	if len(view.Validate()) > 0 {
		return nil, nil // the generator reports it, and needs no content to do it
	}
	var inputs []Input
	for i := range view.Spec.ContentFrom {
		in, err := f.find(ctx, view, fmt.Sprintf("spec.contentFrom[%d]", i), &view.Spec.ContentFrom[i])
		if err != nil {
			return nil, err
		}
		if in != nil {
			inputs = append(inputs, *in)
		}
	}
	return inputs, nil
}

// find finds one input; nil if it is missing and optional.
func (f *Finder) find(ctx context.Context, view *v1.MarkdownView, field string, content *v1.ContentSource) (*Input, error) {
	switch {
	case content.Directory != nil:
		return nil, &outcome.Error{State: outcome.Stalled, Reason: v1.InvalidReason,
			Message: field + ".directory is for build time, when the function can read folders: use configMapRef or sourceRef, or apply what the function renders"}
	case content.SourceRef != nil:
		return f.Sources.find(ctx, view, field+".sourceRef", content.SourceRef)
	}
	return f.findConfigMap(ctx, view, field+".configMapRef", content.ConfigMapRef)
}

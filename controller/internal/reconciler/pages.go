package reconciler

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/book"
)

// notFoundError says that a source of pages doesn't exist. It may turn up.
type notFoundError struct {
	field, object string
	err           error
}

func (e *notFoundError) Error() string {
	return fmt.Sprintf("%s: %s doesn't exist: create it, or set optional: true", e.field, e.object)
}

func (e *notFoundError) Unwrap() error {
	return e.err
}

// unsupportedError says that a source of pages works at build time only.
type unsupportedError struct {
	field string
}

func (e *unsupportedError) Error() string {
	return e.field + " is for build time, when the function can read folders: use configMapRef or sourceRef, or apply what the function renders"
}

// input is one source of a view's pages, as it is now.
type input struct {
	// field is the field of the view that names it.
	field string
	// version differs whenever the pages do.
	version string
	// revision is what Flux calls the version; empty if it isn't Flux's.
	revision string
	// read returns the pages.
	read func(context.Context) (book.Book, error)
}

// inputs finds what a view's contentFrom names, in its order.
func (r *Reconciler) inputs(ctx context.Context, view *v1.MarkdownView) ([]input, error) {
	if len(view.Validate()) > 0 {
		return nil, nil // the generator says so, and needs no content to do it
	}
	var inputs []input
	for i := range view.Spec.ContentFrom {
		in, found, err := r.find(ctx, view, fmt.Sprintf("spec.contentFrom[%d]", i), &view.Spec.ContentFrom[i])
		if err != nil {
			return nil, err
		}
		if found {
			inputs = append(inputs, in)
		}
	}
	return inputs, nil
}

// find finds one source; found is false if it is missing and may be.
func (r *Reconciler) find(ctx context.Context, view *v1.MarkdownView, field string, content *v1.ContentSource) (in input, found bool, err error) {
	switch {
	case content.Directory != nil:
		return input{}, false, &unsupportedError{field + ".directory"}
	case content.SourceRef != nil:
		field += ".sourceRef"
		in, err = r.sourceVersion(ctx, view, field, content.SourceRef)
	default:
		field += ".configMapRef"
		in, err = r.configMapVersion(ctx, view, field, content.ConfigMapRef.Name)
		if apierrors.IsNotFound(err) && content.ConfigMapRef.Optional {
			return input{}, false, nil
		}
	}
	in.field = field
	return in, err == nil, err
}

// configMapVersion finds the version of a ConfigMap.
func (r *Reconciler) configMapVersion(ctx context.Context, view *v1.MarkdownView, field, name string) (input, error) {
	metadata := configMapMetadata()
	key := types.NamespacedName{Namespace: view.Namespace, Name: name}
	err := r.Metadata.Get(ctx, key, metadata)
	if fault := generator.GeneratedPages(view.Name, name, metadata.Labels); fault != "" {
		return input{}, &generator.InvalidError{
			Namespace: view.Namespace, Name: view.Name,
			Problems: []generator.Problem{{Field: field, Message: fault}},
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		return input{}, &notFoundError{field, "ConfigMap " + name, err}
	case err != nil:
		return input{}, fmt.Errorf("%s: read ConfigMap %s: %w", field, name, err)
	}
	version := contentVersion{uid: metadata.UID, resourceVersion: metadata.ResourceVersion}
	return input{
		version: string(version.uid) + " " + version.resourceVersion,
		read: func(ctx context.Context) (book.Book, error) {
			return r.configMapPages(ctx, key, version)
		},
	}, nil
}

// configMapPages takes each key of a ConfigMap as a page. Only the metadata of
// ConfigMaps are watched, so the contents cost a request once for each version.
func (r *Reconciler) configMapPages(ctx context.Context, name types.NamespacedName, version contentVersion) (book.Book, error) {
	if pages, ok := r.contents.get(version); ok {
		return pages, nil
	}
	var configMap corev1.ConfigMap
	if err := r.APIReader.Get(ctx, name, &configMap); err != nil {
		return book.Book{}, err
	}
	pages := book.Book{Pages: make(map[string][]byte, len(configMap.Data)+len(configMap.BinaryData))}
	for key, text := range configMap.Data {
		pages.Pages[key] = []byte(text)
	}
	maps.Copy(pages.Pages, configMap.BinaryData)
	r.contents.add(contentVersion{uid: configMap.UID, resourceVersion: configMap.ResourceVersion}, pages)
	return pages, nil
}

func configMapMetadata() *metav1.PartialObjectMetadata { return metadataOf("ConfigMap") }

func serviceMetadata() *metav1.PartialObjectMetadata { return metadataOf("Service") }

func metadataOf(kind string) *metav1.PartialObjectMetadata {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return metadata
}

// contentVersion names one version of an object.
type contentVersion struct {
	uid             types.UID
	resourceVersion string
}

// maxContents bounds the cache of contents: each is at most 1 MiB.
const maxContents = 64

// contentCache holds the pages of the ConfigMaps that were read last.
type contentCache struct {
	cache *lru.Cache
}

func newContentCache() contentCache {
	return contentCache{lru.New(maxContents)}
}

func (c contentCache) get(version contentVersion) (book.Book, bool) {
	value, ok := c.cache.Get(version)
	if !ok {
		return book.Book{}, false
	}
	return value.(book.Book), true
}

func (c contentCache) add(version contentVersion, pages book.Book) {
	c.cache.Add(version, pages)
}

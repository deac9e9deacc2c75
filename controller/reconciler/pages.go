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
}

func (e *notFoundError) Error() string {
	return fmt.Sprintf("%s: %s doesn't exist: create it, or set optional: true", e.field, e.object)
}

// unsupportedError says that a source of pages works at build time only.
type unsupportedError struct {
	field string
}

func (e *unsupportedError) Error() string {
	return e.field + " is for build time, when the function can read folders: use configMapRef, or apply what the function renders"
}

// resolve reads what a view's contentFrom names, in its order.
func (r *Reconciler) resolve(ctx context.Context, view *v1.MarkdownView) ([]generator.Content, error) {
	if len(view.Validate()) > 0 {
		return nil, nil // the generator says so, and needs no content to do it
	}
	var contents []generator.Content
	for i, source := range view.Spec.ContentFrom {
		field := fmt.Sprintf("spec.contentFrom[%d]", i)
		if source.Directory != nil {
			return nil, &unsupportedError{field + ".directory"}
		}
		pages, err := r.configMapPages(ctx, types.NamespacedName{Namespace: view.Namespace, Name: source.ConfigMapRef.Name})
		switch {
		case err == nil:
			contents = append(contents, generator.Content{Field: field + ".configMapRef", Book: pages})
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("%s.configMapRef: read ConfigMap %s: %w", field, source.ConfigMapRef.Name, err)
		case !source.ConfigMapRef.Optional:
			return nil, &notFoundError{field + ".configMapRef", "ConfigMap " + source.ConfigMapRef.Name}
		}
	}
	return contents, nil
}

// configMapPages takes each key of a ConfigMap as a page. Only the metadata of
// ConfigMaps are watched, so the contents cost a request once for each version.
func (r *Reconciler) configMapPages(ctx context.Context, name types.NamespacedName) (book.Book, error) {
	metadata := configMapMetadata()
	if err := r.Metadata.Get(ctx, name, metadata); err != nil {
		return book.Book{}, err
	}
	version := contentVersion{uid: metadata.UID, resourceVersion: metadata.ResourceVersion}
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

func configMapMetadata() *metav1.PartialObjectMetadata {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
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

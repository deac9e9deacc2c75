package pages

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/book"
)

// findConfigMap finds the version of a ConfigMap; nil if it is missing and optional.
func (f *Finder) findConfigMap(ctx context.Context, view *v1.MarkdownView, field string, ref *v1.ConfigMapSource) (*Input, error) {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	key := types.NamespacedName{Namespace: view.Namespace, Name: ref.Name}
	err := f.Metadata.Get(ctx, key, metadata)
	if fault := generator.GeneratedPages(view.Name, ref.Name, metadata.Labels); fault != "" {
		return nil, &outcome.Error{State: outcome.Stalled, Reason: v1.InvalidReason, Message: field + ": " + fault}
	}
	switch {
	case apierrors.IsNotFound(err) && ref.Optional:
		return nil, nil
	case apierrors.IsNotFound(err):
		return nil, &outcome.Error{State: outcome.Retrying, Reason: v1.PagesNotFoundReason,
			Message: fmt.Sprintf("%s: ConfigMap %s doesn't exist: create it, or set optional: true", field, ref.Name)}
	case err != nil:
		return nil, fmt.Errorf("%s: read ConfigMap %s: %w", field, ref.Name, err)
	}
	version := contentVersion{uid: metadata.UID, resourceVersion: metadata.ResourceVersion}
	return &Input{
		Field:   field,
		Version: string(version.uid) + " " + version.resourceVersion,
		Read: func(ctx context.Context) (book.Book, error) {
			return f.readConfigMap(ctx, key, version)
		},
	}, nil
}

// readConfigMap takes each key of a ConfigMap as a page. Only the metadata of
// ConfigMaps are watched, so the contents cost a request once for each version.
func (f *Finder) readConfigMap(ctx context.Context, name types.NamespacedName, version contentVersion) (book.Book, error) {
	if pages, ok := f.contents.get(version); ok {
		return pages, nil
	}
	var configMap corev1.ConfigMap
	if err := f.APIReader.Get(ctx, name, &configMap); err != nil {
		return book.Book{}, err
	}
	pages := book.Book{Pages: make(map[string][]byte, len(configMap.Data)+len(configMap.BinaryData))}
	for key, text := range configMap.Data {
		pages.Pages[key] = []byte(text)
	}
	maps.Copy(pages.Pages, configMap.BinaryData)
	f.contents.add(contentVersion{uid: configMap.UID, resourceVersion: configMap.ResourceVersion}, pages)
	return pages, nil
}

// contentVersion names one version of an object.
type contentVersion struct {
	uid             types.UID
	resourceVersion string
}

// maxContents bounds the cache of contents: each is at most 1 MiB.
const maxContents = 64

// contentCache holds the pages of the ConfigMaps that were read last, for all views.
type contentCache struct {
	once  sync.Once
	cache *lru.Cache
}

func (c *contentCache) lru() *lru.Cache {
	c.once.Do(func() { c.cache = lru.New(maxContents) })
	return c.cache
}

func (c *contentCache) get(version contentVersion) (book.Book, bool) {
	value, ok := c.lru().Get(version)
	if !ok {
		return book.Book{}, false
	}
	return value.(book.Book), true
}

func (c *contentCache) add(version contentVersion, pages book.Book) {
	c.lru().Add(version, pages)
}

package pages

import (
	"container/list"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/book"
)

// findConfigMap finds the version of a ConfigMap; nil if it is missing and optional.
func (f *Finder) findConfigMap(ctx context.Context, view *v1.MarkdownView, field string, ref *v1.ConfigMapSource) (*Input, error) {
	key := types.NamespacedName{Namespace: view.Namespace, Name: ref.Name}
	metadata, err := f.metadataOf(ctx, key)
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
		return nil, notRead(field, ref.Name, err)
	}
	version := contentVersion{uid: metadata.UID, resourceVersion: metadata.ResourceVersion}
	return &Input{
		Field:   field,
		Version: string(version.uid) + " " + version.resourceVersion,
		Bytes:   func() int64 { return f.contents.bytesOf(version) },
		Read: func(ctx context.Context) (book.Book, error) {
			pages, err := f.readConfigMap(ctx, key, version)
			return pages, notRead(field, ref.Name, err)
		},
	}, nil
}

// notRead is the outcome of a ConfigMap that can't be read; nil if it was. One that went since
// its metadata was seen is looked for again: the field may be optional.
func notRead(field, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return &outcome.Error{State: outcome.Unreported, Retry: time.Second,
			Message: fmt.Sprintf("%s: ConfigMap %s is gone since it was found", field, name)}
	}
	return fmt.Errorf("%s: read ConfigMap %s: %w", field, name, err)
}

// metadataOf finds the metadata of a ConfigMap, also of one that carries our label.
func (f *Finder) metadataOf(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := f.Metadata.Get(ctx, key, metadata)
	if !apierrors.IsNotFound(err) {
		return metadata, err
	}
	var ours corev1.ConfigMap
	err = f.Client.Get(ctx, key, &ours)
	metadata.ObjectMeta = ours.ObjectMeta
	return metadata, err
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

const (
	// maxContentBytes bounds the cache of contents: views that share a ConfigMap read it
	// one after the other, and what is large is soon let go.
	maxContentBytes = 8 << 20
	// maxContents is how many versions are known of which the size is.
	maxContents = 4096
	// maxConfigMapBytes is what one may hold whose size isn't known.
	maxConfigMapBytes = corev1.MaxSecretSize
)

// contentCache holds the pages of the ConfigMaps that were read last, for all views, and
// the size of those that were read before. Its zero value is empty.
type contentCache struct {
	mu     sync.Mutex
	known  map[contentVersion]*content
	recent list.List // of *content, the one used last in front
	bytes  int64
}

// content is what was read of a ConfigMap; without pages if only the size is known.
type content struct {
	version contentVersion
	pages   map[string][]byte
	bytes   int64
	place   *list.Element
}

func (c *contentCache) get(version contentVersion) (book.Book, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.known[version]
	if found == nil || found.pages == nil {
		return book.Book{}, false
	}
	c.recent.MoveToFront(found.place)
	return book.Book{Pages: found.pages}, true
}

// bytesOf is the size of a version, or the largest there may be if it isn't known.
func (c *contentCache) bytesOf(version contentVersion) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.known[version]; found != nil {
		return found.bytes
	}
	return maxConfigMapBytes
}

func (c *contentCache) add(version contentVersion, pages book.Book) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[contentVersion]*content{}
	}
	added := c.known[version]
	if added == nil {
		added = &content{version: version}
		added.place = c.recent.PushFront(added)
		c.known[version] = added
	}
	if added.pages == nil {
		added.pages, added.bytes = pages.Pages, 0
		for _, page := range pages.Pages {
			added.bytes += int64(len(page))
		}
		c.bytes += added.bytes
	}
	c.recent.MoveToFront(added.place)
	for place := c.recent.Back(); place != nil && c.bytes > maxContentBytes; place = place.Prev() {
		if oldest := place.Value.(*content); oldest.pages != nil {
			oldest.pages = nil
			c.bytes -= oldest.bytes
		}
	}
	if len(c.known) > maxContents {
		oldest := c.recent.Remove(c.recent.Back()).(*content)
		if oldest.pages != nil {
			c.bytes -= oldest.bytes
		}
		delete(c.known, oldest.version)
	}
}

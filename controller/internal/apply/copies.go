package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// Copies returns what is to be written before the desired objects are: copies of the
// ConfigMaps whose pages others are to take the place of, if those are of the revision
// that was served last. Pods of it can't start any more from the ConfigMaps themselves.
// The contents are read from the API server.
func (a *Applier) Copies(ctx context.Context, view *v1.MarkdownView, desired []Desired, served string, written *Expectations) ([]Desired, error) {
	if served == "" {
		return nil, nil
	}
	var copies []Desired
	for i := range desired {
		if desired[i].Kind != "ConfigMap" {
			continue
		}
		c, err := a.read(ctx, &desired[i], written)
		if err != nil {
			return nil, err
		}
		if !changesPages(c) || checkOwnership(view, c.gvk, c.live, isUnknown) != nil {
			continue
		}
		existing, err := a.copyOf(ctx, view, desired[i].Name, written)
		if err != nil {
			return nil, err
		}
		// What was copied of the last served pages isn't copied again: what is live has
		// never been served.
		if existing.Annotations[v1.LastServedAnnotation] == served {
			continue
		}
		d, err := a.newCopy(ctx, view, desired[i].Name, served)
		if err != nil {
			return nil, err
		}
		if d != nil {
			copies = append(copies, *d)
		}
	}
	return copies, nil
}

// changesPages reports whether a ConfigMap of pages is there, and other pages are wanted.
func changesPages(c *child) bool {
	live := c.live.(*corev1.ConfigMap)
	for key := range c.desired.(*corev1ac.ConfigMapApplyConfiguration).Data {
		if generator.IsRevisionKey(key) {
			_, same := live.Data[key]
			return c.exists() && !same
		}
	}
	return false
}

// copyOf reads the copy of a ConfigMap of pages from the cache; an empty one if there is
// none.
func (a *Applier) copyOf(ctx context.Context, view *v1.MarkdownView, pages string, written *Expectations) (*corev1.ConfigMap, error) {
	desired := desiredConfigMap(corev1ac.ConfigMap(generator.LastPagesName(pages, view.Name), view.Namespace))
	c, err := a.read(ctx, &desired, written)
	if err != nil {
		return nil, err
	}
	return c.live.(*corev1.ConfigMap), nil
}

// newCopy makes a copy of a ConfigMap's pages as the API server has them; nil if they
// aren't there any more, or aren't what they were applied as.
func (a *Applier) newCopy(ctx context.Context, view *v1.MarkdownView, pages, revision string) (*Desired, error) {
	live := &corev1.ConfigMap{}
	if err := a.APIReader.Get(ctx, client.ObjectKey{Namespace: view.Namespace, Name: pages}, live); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read ConfigMap %s, to copy its pages: %w", pages, err)
	}
	key := generator.RevisionKeyOf(live.Data, live.BinaryData)
	if _, asApplied := live.Data[key]; !asApplied {
		return nil, nil
	}
	data := map[string]string{}
	for name, text := range live.Data {
		if name == key || !generator.IsRevisionKey(name) {
			data[name] = text
		}
	}
	applied, err := corev1ac.ExtractConfigMap(live, generator.FieldManager)
	if err != nil {
		return nil, fmt.Errorf("read the managed fields of ConfigMap %s: %w", pages, err)
	}
	common := generator.CommonMetadata(view)
	configMap := corev1ac.ConfigMap(generator.LastPagesName(pages, view.Name), view.Namespace).
		WithLabels(common.Labels).
		WithAnnotations(common.Annotations)
	if metadata := applied.ObjectMetaApplyConfiguration; metadata != nil {
		// What a patch has added: what let the pages pass a policy has their copy pass it, too.
		configMap.WithLabels(metadata.Labels).WithAnnotations(metadata.Annotations)
	}
	configMap.
		WithLabels(generator.Labels(view.Name)).
		WithAnnotations(map[string]string{v1.LastServedAnnotation: revision}).
		WithOwnerReferences(ownerOf(view)).
		WithData(data)
	if len(live.BinaryData) > 0 {
		configMap.WithBinaryData(live.BinaryData)
	}
	d := desiredConfigMap(configMap)
	return &d, d.seal()
}

// LastServed is the revision of the copies that were written last, by the cache; empty if
// there are none.
func (a *Applier) LastServed(ctx context.Context, view *v1.MarkdownView) (string, error) {
	var list corev1.ConfigMapList
	if err := a.Client.List(ctx, &list, OfView(view)...); err != nil {
		return "", err
	}
	var newest *corev1.ConfigMap
	for i := range list.Items {
		configMap := &list.Items[i]
		if _, isCopy := generator.CutLast(configMap.Name, view.Name); !isCopy || configMap.Annotations[v1.LastServedAnnotation] == "" {
			continue
		}
		if newest == nil || newer(configMap.ResourceVersion, newest.ResourceVersion) {
			newest = configMap
		}
	}
	if newest == nil {
		return "", nil
	}
	return newest.Annotations[v1.LastServedAnnotation], nil
}

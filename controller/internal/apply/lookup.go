package apply

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lookUp reads the metadata of what has the child's name, and finds out whose that is.
func (a *Applier) lookUp(ctx context.Context, s *situation) error {
	existing, err := a.lookUpMetadata(ctx, s)
	if s.existing = existing; existing == nil || err != nil {
		return err
	}
	s.predecessor, err = a.findPredecessor(ctx, s.view, existing, s.predecessor)
	return err
}

// lookUpMetadata reads from the cache of metadata, and when that doesn't agree with the API
// server from there.
func (a *Applier) lookUpMetadata(ctx context.Context, s *situation) (*metav1.PartialObjectMetadata, error) {
	if !s.done.lookedAgain {
		existing := &metav1.PartialObjectMetadata{}
		existing.SetGroupVersionKind(s.gvk)
		if err := a.Metadata.Get(ctx, client.ObjectKeyFromObject(s.live), existing); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		return existing, nil
	}
	return a.metadataOf(ctx, s.gvk, s.live)
}

// metadataOf asks the API server for the metadata of what has an object's name; nil if
// there is nothing.
func (a *Applier) metadataOf(ctx context.Context, kind schema.GroupVersionKind, object client.Object) (*metav1.PartialObjectMetadata, error) {
	// A list, which needs no right beside that to watch.
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := a.APIReader.List(ctx, &list, client.InNamespace(object.GetNamespace()), client.MatchingFields{metav1.ObjectNameField: object.GetName()})
	if err != nil {
		return nil, fmt.Errorf("look up %s %s: %w", kind.Kind, object.GetName(), err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return &list.Items[0], nil
}

// readAll reads the whole of what has the child's name and isn't in the cache, from the API
// server. From then on it is the live object.
func (a *Applier) readAll(ctx context.Context, s *situation) error {
	live, _, err := a.listed(ctx, s.child)
	if err != nil {
		return err
	}
	if live == nil || live.GetUID() != s.existing.UID {
		s.existing = nil // it has just gone
		return nil
	}
	s.become(live)
	s.answer()
	return nil
}

// listed reads the whole of what has a child's name from the API server, and the version of the
// cluster that was looked at; live is nil if there is nothing.
func (a *Applier) listed(ctx context.Context, c *child) (live client.Object, version string, err error) {
	var list client.ObjectList
	switch c.live.(type) {
	case *corev1.ConfigMap:
		list = &corev1.ConfigMapList{}
	case *appsv1.Deployment:
		list = &appsv1.DeploymentList{}
	case *corev1.Service:
		list = &corev1.ServiceList{}
	}
	err = a.APIReader.List(ctx, list, client.InNamespace(c.live.GetNamespace()), client.MatchingFields{metav1.ObjectNameField: c.live.GetName()})
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", c, err)
	}
	items, err := apimeta.ExtractList(list)
	if err != nil || len(items) == 0 {
		return nil, "", err
	}
	return items[0].(client.Object), list.GetResourceVersion(), nil
}

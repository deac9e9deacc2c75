package fakecluster

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// Lag is a cache that is behind the cluster: the versions of one object arrive in order,
// when a test has them arrive, and those of different objects in any order.
type Lag struct {
	// OnEvent is called when the cache has taken in a version; gone means that the
	// object was deleted, or isn't selected any more, and unknown that the watch was
	// interrupted meanwhile.
	OnEvent func(kind string, object client.Object, gone, unknown bool)

	cluster *Cluster
	// selects is what it holds.
	selects func(client.Object) bool
	indexes []Index
	// truth is the newest version of each object that it has heard of, seen what it
	// holds, and pending what is on the way.
	truth, seen map[string]client.Object
	pending     map[string][]change
}

// change is a version of an object.
type change struct {
	object client.Object
	gone   bool
}

// NewLag returns a cache of the cluster's ConfigMaps, Deployments, Services and
// MarkdownViews, of those that are selected.
func NewLag(c *Cluster, indexes []Index, selects func(client.Object) bool) *Lag {
	l := &Lag{
		cluster: c, selects: selects, indexes: indexes, OnEvent: func(string, client.Object, bool, bool) {},
		truth: map[string]client.Object{}, seen: map[string]client.Object{}, pending: map[string][]change{},
	}
	c.lags = append(c.lags, l)
	return l
}

// Behind makes the cluster's Cached read from a cache that is behind, and writes notice
// what they change for all caches.
func (c *Cluster) Behind(l *Lag) { c.lag = l }

// Observe has all caches hear, later, of what has changed in the cluster.
func (c *Cluster) Observe() {
	c.t.Helper()
	for _, l := range c.lags {
		l.observe()
	}
}

func (l *Lag) observe() {
	now := map[string]client.Object{}
	for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &v1.MarkdownViewList{}} {
		l.cluster.Must(l.cluster.Admin.List(l.cluster.t.Context(), list))
		items, err := apimeta.ExtractList(list)
		l.cluster.Must(err)
		for _, item := range items {
			object := item.(client.Object)
			l.cluster.Must(dropStatus(object))
			if _, isView := object.(*v1.MarkdownView); isView || l.selects(object) {
				now[keyOf(object)] = object
			}
		}
	}
	for key, before := range l.truth {
		if after, there := now[key]; !there || after.GetUID() != before.GetUID() {
			gone := before.DeepCopyObject().(client.Object)
			// That of the deletion, or of the change of its labels.
			gone.SetResourceVersion(l.cluster.nextVersion())
			l.pending[key] = append(l.pending[key], change{gone, true})
		}
	}
	for key, after := range now {
		if before, there := l.truth[key]; !there || before.GetResourceVersion() != after.GetResourceVersion() {
			l.pending[key] = append(l.pending[key], change{after, false})
		}
	}
	l.truth = now
}

// Pending lists the objects of which versions are on the way.
func (l *Lag) Pending() []string {
	var keys []string
	for key, changes := range l.pending {
		if len(changes) > 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Deliver has the next version of an object arrive.
func (l *Lag) Deliver(key string) {
	next := l.pending[key][0]
	l.pending[key] = l.pending[key][1:]
	l.take(key, next, false)
}

// Relist has the last version of an object arrive, and none of those before.
func (l *Lag) Relist(key string) {
	changes := l.pending[key]
	last := changes[len(changes)-1]
	l.pending[key] = nil
	if before := l.seen[key]; before != nil && (last.gone || before.GetUID() != last.object.GetUID()) {
		l.take(key, change{before, true}, true)
	}
	if !last.gone {
		l.take(key, last, false)
	}
}

func (l *Lag) take(key string, c change, unknown bool) {
	if c.gone {
		delete(l.seen, key)
	} else {
		l.seen[key] = c.object
	}
	l.OnEvent(reflect.TypeOf(c.object).Elem().Name(), c.object, c.gone, unknown)
}

// Get implements client.Reader.
func (l *Lag) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(object, l.cluster.Admin.Scheme())
	if err != nil {
		return err
	}
	found, there := l.seen[fmt.Sprintf("%s %s", gvk.Kind, key)]
	if !there {
		reflect.ValueOf(object).Elem().SetZero()
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	if metadata, ok := object.(*metav1.PartialObjectMetadata); ok {
		metadata.ObjectMeta = *metadataOf(found)
		return nil
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
	return nil
}

// List implements client.Reader, of ConfigMaps; there are no pods.
func (l *Lag) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	configMaps, ok := list.(*corev1.ConfigMapList)
	if !ok {
		return nil
	}
	selected := (&client.ListOptions{}).ApplyOptions(options)
	for _, object := range l.seen {
		configMap, ok := object.(*corev1.ConfigMap)
		if ok && configMap.Namespace == selected.Namespace && l.matches(configMap, selected) {
			configMaps.Items = append(configMaps.Items, *configMap)
		}
	}
	return nil
}

func (l *Lag) matches(configMap *corev1.ConfigMap, selected *client.ListOptions) bool {
	for _, requirement := range selected.FieldSelector.Requirements() {
		for _, index := range l.indexes {
			if _, ok := index.Object.(*corev1.ConfigMap); ok && index.Name == requirement.Field && !slices.Contains(index.Values(configMap), requirement.Value) {
				return false
			}
		}
	}
	return true
}

func metadataOf(object client.Object) *metav1.ObjectMeta {
	return reflect.ValueOf(object.DeepCopyObject()).Elem().FieldByName("ObjectMeta").Addr().Interface().(*metav1.ObjectMeta)
}

func keyOf(object client.Object) string {
	return fmt.Sprintf("%s %s", reflect.TypeOf(object).Elem().Name(), client.ObjectKeyFromObject(object))
}

// nextVersion uses up a version of the cluster's.
func (c *Cluster) nextVersion() string {
	c.t.Helper()
	counter := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("version-%d", c.versions)}}
	c.versions++
	c.Must(c.Admin.Create(c.t.Context(), counter))
	return counter.ResourceVersion
}

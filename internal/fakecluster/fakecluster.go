// Package fakecluster is a cluster in memory, for tests of the controller's decisions in
// milliseconds: controller-runtime's fake client, with its server-side apply and managed
// fields, seen as the controller sees a cluster. What only a real API server can tell,
// such as defaults and validation, is tested in test/integration.
//
// Only tests may import it.
package fakecluster

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// Cluster is a cluster in memory.
type Cluster struct {
	t testing.TB
	// Admin sees and changes all objects.
	Admin client.Client
	// Cached is the controller's client: of what views generate it sees only what
	// carries the label, as the controller's cache does.
	Cached client.Client
	// Others reads what doesn't carry the label, as the cache of metadata does.
	Others client.Reader
	// Refuse is asked before a write of Cached, whose answer is its error, if any.
	Refuse func(verb string, object client.Object) error
	// Mutate changes the fields that Cached applies, as an admission webhook does.
	Mutate func(fields map[string]any)

	// Conflicts counts the writes of Cached that were refused because what they were
	// decided on was no longer so.
	Conflicts int

	label, value string
	requests     []string
	created      int
	versions     int
	lags         []*Lag
	transform    func(client.Object) error
	lag          *Lag
	history      []*corev1.ConfigMap
}

// Index is one of a cache's.
type Index struct {
	Object client.Object
	Name   string
	Values client.IndexerFunc
}

// New returns a cluster with these objects in it. label and value select what Cached
// sees of the kinds that views generate.
func New(t testing.TB, label, value string, indexes []Index, objects ...client.Object) *Cluster {
	t.Helper()
	builder := fake.NewClientBuilder().WithScheme(Scheme()).WithReturnManagedFields().WithGlobalResourceVersionCounter().
		WithStatusSubresource(&v1.MarkdownView{}).WithObjects(objects...)
	for _, index := range indexes {
		builder = builder.WithIndex(index.Object, index.Name, index.Values)
	}
	for _, object := range []client.Object{&corev1.ConfigMap{}, &appsv1.Deployment{}, &corev1.Service{}, &v1.MarkdownView{}} {
		builder = builder.WithIndex(object, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} })
	}
	store := builder.Build()
	c := &Cluster{t: t, label: label, value: value}
	c.Admin = c.remembering(store)
	c.Cached = interceptor.NewClient(store, interceptor.Funcs{
		Get: c.get, List: c.list, Patch: c.patch, Delete: c.delete, SubResourcePatch: c.patchStatus,
	})
	c.Others = interceptor.NewClient(store, interceptor.Funcs{Get: c.getOther})
	return c
}

// Scheme knows Kubernetes' kinds and MarkdownViews.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}

// Requests returns the writes of Cached since it was called last, as "verb name".
func (c *Cluster) Requests() []string {
	requests := c.requests
	c.requests = nil
	return requests
}

// Must fails the test on an error.
func (c *Cluster) Must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// Get reads an object as it is.
func Get[T client.Object](c *Cluster, object T, namespace, name string) T {
	c.t.Helper()
	c.Must(c.Admin.Get(c.t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object))
	return object
}

// Edit has a field manager update an object.
func Edit[T client.Object](c *Cluster, manager string, object T, namespace, name string, change func(T)) {
	c.t.Helper()
	change(Get(c, object, namespace, name))
	c.Must(c.Admin.Update(c.t.Context(), object, client.FieldOwner(manager)))
}

// Transform has Cached show what is left of objects that pass through a function, as
// caches do.
func (c *Cluster) Transform(transform func(client.Object) error) { c.transform = transform }

// transformed passes an object through what Transform was told.
func (c *Cluster) transformed(object runtime.Object) error {
	if single, ok := object.(client.Object); ok && c.transform != nil {
		return c.transform(single)
	}
	return nil
}

func (c *Cluster) list(ctx context.Context, store client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	read := store.List
	if c.lag != nil {
		read = c.lag.List
	}
	if err := read(ctx, list, options...); err != nil {
		return err
	}
	return meta.EachListItem(list, c.transformed)
}

func (c *Cluster) get(ctx context.Context, store client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := c.read(ctx, store, key, object, options...); err != nil {
		return err
	}
	return c.transformed(object)
}

func (c *Cluster) read(ctx context.Context, store client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if c.lag != nil {
		return c.lag.Get(ctx, key, object, options...)
	}
	if err := store.Get(ctx, key, object, options...); err != nil {
		return err
	}
	if !c.cached(object) {
		gvk, err := apiutil.GVKForObject(object, store.Scheme())
		reflect.ValueOf(object).Elem().SetZero()
		return firstOf(err, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind)}, key.Name))
	}
	return dropStatus(object)
}

func (c *Cluster) getOther(ctx context.Context, store client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := store.Get(ctx, key, object, options...)
	if err == nil && object.GetLabels()[c.label] == c.value {
		return apierrors.NewNotFound(schema.GroupResource{Resource: strings.ToLower(object.GetObjectKind().GroupVersionKind().Kind)}, key.Name)
	}
	return err
}

// cached reports whether the controller's cache holds an object.
func (c *Cluster) cached(object client.Object) bool {
	_, isView := object.(*v1.MarkdownView)
	_, isSource := object.(runtime.Unstructured)
	return isView || isSource || object.GetLabels()[c.label] == c.value
}

func (c *Cluster) patch(ctx context.Context, store client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	defer c.Observe()
	before := object.DeepCopyObject()
	err := c.tryPatch(ctx, store, object, patch, options...)
	if err != nil {
		// The fake has written what it refuses into the object; a client doesn't.
		reflect.ValueOf(object).Elem().Set(reflect.ValueOf(before).Elem())
	}
	if apierrors.IsConflict(err) {
		c.Conflicts++
	}
	return err
}

func (c *Cluster) tryPatch(ctx context.Context, store client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	verb := map[types.PatchType]string{
		types.ApplyPatchType: "apply", types.JSONPatchType: "patch fields of", types.MergePatchType: "merge into",
	}[patch.Type()]
	if err := c.request(verb, object); err != nil {
		return err
	}
	isNew := false
	if patch.Type() == types.ApplyPatchType {
		existing := store.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopyObject().(client.Object))
		isNew = apierrors.IsNotFound(existing)
		var err error
		if patch, err = c.admit(object, patch, isNew); err != nil {
			return err
		}
	}
	if err := store.Patch(ctx, object, patch, options...); err != nil {
		return err
	}
	if isNew {
		c.created++
		object.SetUID(types.UID(fmt.Sprintf("uid-%d", c.created)))
		if err := store.Update(ctx, object); err != nil {
			return err
		}
	}
	return dropStatus(object)
}

// admit is admission: it lets Mutate change what is applied, and gives a new object what
// the API server gives it and the fake doesn't.
func (c *Cluster) admit(object client.Object, patch client.Patch, isNew bool) (client.Patch, error) {
	data, err := patch.Data(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	metadata := fields["metadata"].(map[string]any)
	if isNew {
		metadata["resourceVersion"] = "1"
	}
	if c.Mutate != nil {
		c.Mutate(fields)
	}
	data, err = json.Marshal(fields)
	return client.RawPatch(patch.Type(), data), err
}

func (c *Cluster) delete(ctx context.Context, store client.WithWatch, object client.Object, options ...client.DeleteOption) error {
	if err := c.request("delete", object); err != nil {
		return err
	}
	defer c.Observe()
	return store.Delete(ctx, object, options...)
}

func (c *Cluster) patchStatus(ctx context.Context, store client.Client, subresource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if err := c.request("write the "+subresource+" of", object); err != nil {
		return err
	}
	defer c.Observe()
	return store.SubResource(subresource).Patch(ctx, object, patch, options...)
}

func (c *Cluster) request(verb string, object client.Object) error {
	kind := reflect.TypeOf(object).Elem().Name()
	if partial, ok := object.(*metav1.PartialObjectMetadata); ok { // all of it is asked for but the answer
		kind = partial.Kind
	}
	c.requests = append(c.requests, fmt.Sprintf("%s %s %s", verb, kind, object.GetName()))
	if c.Refuse == nil {
		return nil
	}
	return c.Refuse(verb, object)
}

// dropStatus removes the status from what an apply owns: the API server doesn't let an
// apply of the object set it.
func dropStatus(object client.Object) error {
	entries := object.GetManagedFields()
	for i, entry := range entries {
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return err
		}
		delete(fields, "f:status")
		raw, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		entries[i].FieldsV1 = metav1.NewFieldsV1(string(raw))
	}
	object.SetManagedFields(entries)
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

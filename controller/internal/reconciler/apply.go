package reconciler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/ssa"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// readAll reads the children that exist, and checks that they are the view's to change.
func (r *Reconciler) readAll(ctx context.Context, view *v1.MarkdownView, children []*child) error {
	for _, c := range children {
		if err := r.read(ctx, c); err != nil {
			return err
		}
	}
	for _, c := range children {
		if c.exists() {
			if err := checkOwnership(view, c.String(), c.live); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply brings each child to what is wanted, pages first, and stops at the first
// that can't be: a Deployment must not ask for pages that aren't there.
func (r *Reconciler) apply(ctx context.Context, view *v1.MarkdownView, children []*child) error {
	for _, c := range children {
		if err := r.applyOne(ctx, view, c); err != nil {
			return err
		}
	}
	return nil
}

// read fills in the live object from the cache.
func (r *Reconciler) read(ctx context.Context, c *child) error {
	key := client.ObjectKeyFromObject(c.live)
	err := r.Get(ctx, key, c.live)
	if err == nil && c.keep != nil {
		c.desired, err = c.keep()
		return err
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	// Get has cleared it.
	c.live.SetNamespace(key.Namespace)
	c.live.SetName(key.Name)
	return nil
}

func (r *Reconciler) applyOne(ctx context.Context, view *v1.MarkdownView, c *child) error {
	if !c.exists() {
		return r.create(ctx, view, c)
	}
	last := r.settled.last(view, c)
	lately := r.Clock.Since(last.at) < intervalOf(view)
	if lately && c.unchanged(last) {
		return nil
	}
	found, err := c.drift()
	if err != nil {
		return err
	}
	now, err := c.settle(r.Clock.Now())
	if err != nil {
		return err
	}
	// What an admission webhook makes of our fields is not drift, or it would be
	// fought over for ever. Once an interval is often enough to see if it still
	// insists.
	if lately && last.same(now) {
		found.fields = nil
	}
	if err := r.correct(ctx, c, found); err != nil {
		return err
	}
	// An apply has taken back the fields that we set. What others have added stays
	// until it is ours, and is pruned then.
	if moved, err := r.takeOver(ctx, c, takenOver); err != nil {
		return err
	} else if moved {
		more, err := c.drift()
		if err != nil {
			return err
		}
		if err := r.correct(ctx, c, more); err != nil {
			return err
		}
		found.add(more)
	}
	if lately && found.none() && last.desired == now.desired && last.state == now.state {
		return nil
	}
	return r.settleNow(view, c, last, found)
}

// settleNow notes what an apply has led to, and records what it has corrected.
func (r *Reconciler) settleNow(view *v1.MarkdownView, c *child, last settled, found drift) error {
	now, err := c.settle(r.Clock.Now())
	if err != nil {
		return err
	}
	r.settled.note(view, c, now)
	// A change that is wanted isn't drift, and what is still so, because a webhook
	// insists on it, isn't corrected.
	left, err := c.drift()
	if err != nil {
		return err
	}
	if found.subtract(left); !found.none() && last.desired == now.desired {
		r.recordDrift(view, c, found)
	}
	return nil
}

func (r *Reconciler) correct(ctx context.Context, c *child, found drift) error {
	if len(found.fields) > 0 {
		if err := r.applyAnyway(ctx, c); err != nil {
			return err
		}
		// An apply has removed the keys that were ours.
		if c.foreign != nil {
			found.foreign = c.foreign()
		}
	}
	if found.hasForeign() {
		return r.removeForeign(ctx, c, found.foreign)
	}
	return nil
}

// applyAnyway applies a child that exists. If what others have set doesn't go
// together with ours, as a second Service port without a name doesn't, theirs goes.
func (r *Reconciler) applyAnyway(ctx context.Context, c *child) error {
	refusal := r.serverSideApply(ctx, c, true)
	if !isOfAField(refusal) {
		return refusal
	}
	moved, err := r.takeOver(ctx, c, writersOf(c.live))
	if err != nil || !moved {
		return errors.Join(refusal, err)
	}
	return r.serverSideApply(ctx, c, true)
}

// isOfAField says whether an object was refused because of what one of its fields holds.
// A policy that refuses it is Invalid too, but names no field.
func isOfAField(refusal error) bool {
	var status apierrors.APIStatus
	return apierrors.IsInvalid(refusal) && errors.As(refusal, &status) && status.Status().Details != nil &&
		slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field != "" })
}

// create applies a child that the cache doesn't hold. One that doesn't carry our
// label may exist all the same: without force the API server refuses to change a
// field that somebody else set, and for ConfigMaps and Services, which may have none
// in common with ours, the metadata of all are known.
func (r *Reconciler) create(ctx context.Context, view *v1.MarkdownView, c *child) error {
	force := adopts(view)
	if force || c.kind != "Deployment" {
		exists, err := r.checkExisting(ctx, view, c)
		if err != nil {
			return err
		}
		// The view's own, without its labels, as the tutorial made it.
		force = force || exists
	}
	err := r.serverSideApply(ctx, c, force)
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		if exists, checkErr := r.checkExisting(ctx, view, c); checkErr != nil {
			return checkErr
		} else if exists {
			err = r.serverSideApply(ctx, c, true)
		}
	}
	if err != nil {
		return err
	}
	if found, err := c.drift(); err != nil || found.hasForeign() {
		return errors.Join(err, r.removeForeign(ctx, c, found.foreign))
	}
	settled, err := c.settle(r.Clock.Now())
	if err != nil {
		return err
	}
	if r.settled.last(view, c).desired == settled.desired {
		r.recordMissing(view, c)
	}
	r.settled.note(view, c, settled)
	return nil
}

// checkExisting finds out whether there is an object, and whether it is somebody else's.
// If there is none, a refusal to create one has another cause.
func (r *Reconciler) checkExisting(ctx context.Context, view *v1.MarkdownView, c *child) (exists bool, err error) {
	reader := r.Metadata
	if c.kind == "Deployment" {
		reader = r.APIReader
	}
	existing := &metav1.PartialObjectMetadata{}
	existing.SetGroupVersionKind(gvkOf(c))
	switch err := reader.Get(ctx, client.ObjectKeyFromObject(c.live), existing); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, checkOwnership(view, c.String(), existing)
}

// serverSideApply sends what is wanted in one request and reads back the result.
func (r *Reconciler) serverSideApply(ctx context.Context, c *child, force bool) error {
	// Escaped for HTML, a page of little but "<" would be six times as long, and
	// more than the API server reads.
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(c.desired); err != nil {
		return fmt.Errorf("encode %s: %w", c, err)
	}
	options := []client.PatchOption{client.FieldOwner(generator.FieldManager)}
	if force {
		options = append(options, client.ForceOwnership)
	}
	if err := r.Patch(ctx, c.live, client.RawPatch(types.ApplyPatchType, body.Bytes()), options...); err != nil {
		return &applyError{object: c.String(), err: err}
	}
	return nil
}

// takeOver moves the fields of field managers to ours, and says whether there were
// any. What of them isn't wanted is drift from then on.
func (r *Reconciler) takeOver(ctx context.Context, c *child, managers []ssa.FieldManager) (moved bool, err error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(managedFieldsOf(c.live))
	if err != nil {
		return false, fmt.Errorf("read the managed fields of %s: %w", c, err)
	}
	patches, err := ssa.PatchReplaceFieldsManagers(&unstructured.Unstructured{Object: object}, managers, generator.FieldManager)
	if err != nil {
		return false, fmt.Errorf("read the managed fields of %s: %w", c, err)
	}
	if len(patches) == 0 {
		return false, nil
	}
	// Not "test", which is refused as invalid when it fails; a version that isn't the
	// object's any more is a conflict.
	operations := []any{map[string]string{"op": "replace", "path": "/metadata/resourceVersion", "value": c.live.GetResourceVersion()}}
	for _, patch := range patches {
		operations = append(operations, patch)
	}
	body, err := json.Marshal(operations)
	if err != nil {
		return false, fmt.Errorf("encode the managed fields of %s: %w", c, err)
	}
	if err := r.Patch(ctx, c.live, client.RawPatch(types.JSONPatchType, body), client.FieldOwner(generator.FieldManager)); err != nil {
		return false, raced(fmt.Errorf("take over the fields of %s: %w", c, err))
	}
	return true, nil
}

// raceError says that somebody else was quicker: the next look at the object is right.
type raceError struct{ err error }

func (e *raceError) Error() string { return e.err.Error() }
func (e *raceError) Unwrap() error { return e.err }

func raced(err error) error {
	if apierrors.IsConflict(err) {
		return &raceError{err}
	}
	return err
}

func managedFieldsOf(object client.Object) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: object.GetManagedFields()}}
}

// removeForeign removes keys that an apply can't: those that others own.
func (r *Reconciler) removeForeign(ctx context.Context, c *child, foreign map[string][]string) error {
	patch := map[string]map[string]any{}
	for field, keys := range foreign {
		for _, key := range keys {
			if patch[field] == nil {
				patch[field] = map[string]any{}
			}
			patch[field][key] = nil
		}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode %s: %w", c, err)
	}
	if err := r.Patch(ctx, c.live, client.RawPatch(types.MergePatchType, body), client.FieldOwner(generator.FieldManager)); err != nil {
		return &applyError{object: c.String(), err: err}
	}
	return nil
}

// prune deletes ConfigMaps that a view no longer has pages for. It comes last,
// when no pod mounts them any more.
func (r *Reconciler) prune(ctx context.Context, view *v1.MarkdownView, wanted []string) error {
	var list corev1.ConfigMapList
	if err := r.List(ctx, &list, ofView(view)...); err != nil {
		return err
	}
	for i := range list.Items {
		configMap := &list.Items[i]
		ours := metav1.IsControlledBy(configMap, view) ||
			metav1.GetControllerOf(configMap) == nil && generator.IsPagesName(configMap.Name, view.Name)
		if slices.Contains(wanted, configMap.Name) || !ours || !configMap.DeletionTimestamp.IsZero() {
			continue
		}
		preconditions := client.Preconditions{UID: &configMap.UID, ResourceVersion: &configMap.ResourceVersion}
		if err := client.IgnoreNotFound(r.Delete(ctx, configMap, preconditions)); err != nil {
			return raced(fmt.Errorf("delete ConfigMap %s: %w", configMap.Name, err))
		}
	}
	return nil
}

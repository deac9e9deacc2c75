package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/ssa"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator"
)

// write performs an action that is a write.
func (a *Applier) write(ctx context.Context, s *situation, next action, refused bool, written *Expectations) error {
	if next.verb == create || next.verb == apply {
		if err := a.recollect(ctx, s.child, written.deletedIn(s.String())); err != nil {
			return err
		}
	}
	switch next.verb {
	case create:
		s.refusal = a.serverSideApply(ctx, s.child, "", absentVersion)
		s.done.applied = true
	case apply:
		uid, version := s.live.GetUID(), s.live.GetResourceVersion()
		switch {
		case !s.exists():
			uid, version = s.existing.GetUID(), s.existing.GetResourceVersion()
		case s.restless && !isPredecessors(s.view, s.live):
			version = "" // it is the same object, and only our own fields are set
		}
		s.refusal = a.serverSideApply(ctx, s.child, uid, version)
		s.done.applied = true
	case removeKeys:
		s.done.removedKeys = true
		return a.removeKeys(ctx, s.child, next.drift.unwanted)
	case mark:
		s.done.marked, s.done.applied = true, s.done.applied && !refused
		return a.mark(ctx, s, next.edited)
	case giveUp:
		s.done.gaveUp = true
		return a.changeOwners(ctx, s.child, next)
	case takeOver:
		s.done.tookOver, s.done.tookOverAll = s.done.tookOver || !refused, refused
		s.done.applied, s.done.removedKeys = false, false
		return a.changeOwners(ctx, s.child, next)
	}
	return nil
}

// checkAnswer returns an error if what was written came back without the labels that let
// the controller see it: it never will, and neither will the Service see the pods.
func checkAnswer(s *situation) error {
	for key, value := range generator.Labels(s.view.Name) {
		if got := s.live.GetLabels()[key]; got != value {
			return &outcome.Error{State: outcome.Retrying, Reason: v1.ApplyFailedReason, Message: fmt.Sprintf(
				"%s was written with the label %s=%s and came back with %q: have the admission webhook or policy that changes it leave it alone", s, key, value, got)}
		}
	}
	return nil
}

// absentVersion is the version of no object: an apply that names it is refused with a
// conflict if there is one of the name, and creates it if there is none.
const absentVersion = "1"

// serverSideApply sends what is wanted in one request and reads back the result. It is
// refused with a conflict if the object isn't as it was when that was decided.
func (a *Applier) serverSideApply(ctx context.Context, c *child, uid types.UID, version string) error {
	object, err := c.body(uid, version)
	if err != nil {
		return err
	}
	// Escaped for HTML, a page of little but "<" would be six times as long, and
	// more than the API server reads.
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return fmt.Errorf("encode %s: %w", c, err)
	}
	patch := client.RawPatch(types.ApplyPatchType, body.Bytes())
	if err := a.Writer.Patch(ctx, c.live, patch, client.FieldOwner(generator.FieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s: %w", c, err)
	}
	return nil
}

// changeOwners changes who owns which fields, as takeOver and giveUp have it.
func (a *Applier) changeOwners(ctx context.Context, c *child, next action) error {
	fields, err := a.managedFields(ctx, c)
	if err != nil {
		return err
	}
	var patch []ssa.JSONPatch
	if next.verb == giveUp {
		patch, err = c.giveUp(fields)
	} else {
		patch, err = c.takeOverFrom(fields, next.managers)
	}
	if err != nil {
		return fmt.Errorf("read the managed fields of %s: %w", c, err)
	}
	if patch == nil {
		return nil
	}
	// Not "test", which is refused as invalid when it fails; a version that isn't the
	// object's any more is a conflict.
	operations := []any{map[string]string{"op": "replace", "path": "/metadata/resourceVersion", "value": c.live.GetResourceVersion()}}
	for _, operation := range patch {
		operations = append(operations, operation)
	}
	body, err := json.Marshal(operations)
	if err != nil {
		return fmt.Errorf("encode the managed fields of %s: %w", c, err)
	}
	if err := a.Writer.Patch(ctx, c.live, client.RawPatch(types.JSONPatchType, body), client.FieldOwner(generator.FieldManager)); err != nil {
		return staleVersion(fmt.Errorf("change who owns fields of %s: %w", c, err))
	}
	return nil
}

// managedFields returns all that is known of an object's fields, of which caches may have
// no more than digests: as it was answered to the last write, or from the API server.
func (a *Applier) managedFields(ctx context.Context, c *child) ([]metav1.ManagedFieldsEntry, error) {
	if c.answered.version == c.live.GetResourceVersion() {
		return c.answered.managedFields, nil
	}
	if all := c.live.GetManagedFields(); !slices.ContainsFunc(all, func(entry metav1.ManagedFieldsEntry) bool { return isDigested(&entry) }) && len(all) < maxManagers {
		return all, nil
	}
	found, err := a.metadataOf(ctx, c.gvk, c.live)
	switch {
	case err != nil:
		return nil, err
	case found == nil || found.UID != c.live.GetUID() || found.ResourceVersion != c.live.GetResourceVersion():
		return nil, &outcome.Error{State: outcome.Unreported, Retry: staleRecheck, Message: c.String() + " has changed, which the cache doesn't show yet"}
	}
	return found.ManagedFields, nil
}

// removeKeys removes keys that an apply can't: those that others own.
func (a *Applier) removeKeys(ctx context.Context, c *child, unwanted map[string][]string) error {
	patch := map[string]map[string]any{"metadata": {"resourceVersion": c.live.GetResourceVersion()}}
	for field, keys := range unwanted {
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
	if err := a.Writer.Patch(ctx, c.live, client.RawPatch(types.MergePatchType, body), client.FieldOwner(generator.FieldManager)); err != nil {
		return staleVersion(fmt.Errorf("apply %s: %w", c, err))
	}
	return nil
}

// staleRecheck is how soon it is looked again at what was written by somebody else
// meanwhile, if the watch doesn't tell before.
const staleRecheck = time.Second

// staleVersion gives a conflict the outcome that it has where a write names the version
// it was decided on: somebody else was quicker, and the next look at the object is right.
func staleVersion(err error) error {
	if isStale(err) {
		return &outcome.Error{State: outcome.Unreported, Retry: staleRecheck, Err: err}
	}
	return err
}

// isStale reports whether a write was refused because the object isn't any more what that
// was decided on. An admission webhook may deny with any code, which a later look doesn't change.
func isStale(err error) bool {
	return (apierrors.IsConflict(err) || apierrors.IsNotFound(err)) && !strings.Contains(err.Error(), `admission webhook "`)
}

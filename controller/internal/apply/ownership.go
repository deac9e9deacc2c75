package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/ssa"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator"
)

// ownershipRecheck is how soon an object that isn't the view's is looked at again: it
// isn't watched, because it doesn't carry our label.
const ownershipRecheck = 30 * time.Second

// ownershipError is the outcome of an object of the right name that isn't the view's.
func ownershipError(object, reason string) error {
	return &outcome.Error{State: outcome.Stalled, Reason: v1.ConflictReason, Retry: ownershipRecheck,
		Message: fmt.Sprintf("%s exists and %s", object, reason)}
}

// checkOwnership returns an error unless a view may change an existing object: one that
// it owns, that carries its labels and has no controller, as the function's output does,
// or that lost both and that we have applied for the view. With the adopt annotation the
// labels don't matter. An orphan is as one without a controller.
func checkOwnership(view *v1.MarkdownView, kind schema.GroupVersionKind, live metav1.Object, predecessor predecessor) error {
	name := kind.Kind + " " + live.GetName()
	owner, itsPredecessors := metav1.GetControllerOf(live), isPredecessors(view, live)
	switch {
	case owner == nil, itsPredecessors && predecessor == isGone:
	case owner.UID == view.UID:
		return nil
	case itsPredecessors && predecessor == isCollected:
		return &outcome.Error{State: outcome.Progressing, Reason: v1.ProgressingReason, Retry: predecessorRecheck,
			Message: "waiting for the garbage collection of " + name + ", which belongs to a deleted view of the same name"}
	default:
		return ownershipError(name, fmt.Sprintf("is controlled by %s %s: rename the view, or delete the object", owner.Kind, owner.Name))
	}
	if CarriesLabels(live, view.Name) || Adopts(view) || isListed(view, kind, live.GetName()) && appliedByUs(live) {
		return nil
	}
	return ownershipError(name, fmt.Sprintf("was not generated from this view: rename the view, delete the object, or set the view's annotation %s to \"true\" to take it over", v1.AdoptAnnotation))
}

// predecessor is what is known of another view of a view's name.
type predecessor int

const (
	// isUnknown: it may be there, and the cache be behind.
	isUnknown predecessor = iota
	// isCollected: it was deleted a short time ago, and what it has is being deleted.
	isCollected
	// isGone: the API server has the view itself by that name, and what its predecessor had
	// is nobody's.
	isGone
)

const (
	// collectionTime is how long a view waits for the garbage collection of the objects of
	// one of its name that was deleted before it was made. The collector never deletes
	// them if it has missed that the view is another one, as while its watch is away.
	collectionTime = 30 * time.Second
	// predecessorRecheck is how soon it is looked at them again.
	predecessorRecheck = 2 * time.Second
)

// isPredecessors reports whether the controller of an object is another view of a view's
// name.
func isPredecessors(view *v1.MarkdownView, object metav1.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && owner.UID != view.UID && owner.Kind == v1.Kind && owner.Name == view.Name && isOurGroup(owner.APIVersion)
}

// isOurGroup reports whether an API version is one of our group.
func isOurGroup(apiVersion string) bool {
	version, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && version.Group == v1.GroupVersion.Group
}

// findPredecessor finds out about the view that an object belongs to, if that is another
// one of the view's name. There is one of a name at a time: the API server is asked whether
// that is the view, unless known says so already.
func (a *Applier) findPredecessor(ctx context.Context, view *v1.MarkdownView, object metav1.Object, known predecessor) (predecessor, error) {
	switch {
	case known == isGone || !isPredecessors(view, object):
		return known, nil
	case a.Clock.Since(view.CreationTimestamp.Time) < collectionTime:
		return isCollected, nil
	}
	current, err := a.metadataOf(ctx, v1.GroupVersion.WithKind(v1.Kind), view)
	switch {
	case err != nil:
		return isUnknown, err
	case current == nil || current.UID != view.UID:
		return isUnknown, &outcome.Error{State: outcome.Unreported, Retry: staleRecheck, Message: "the view was deleted, which the cache doesn't show yet"}
	}
	return isGone, nil
}

// InventoryID names an object in a view's inventory.
func InventoryID(namespace, name string, kind schema.GroupVersionKind) string {
	return fmt.Sprintf("%s_%s_%s_%s", namespace, name, kind.Group, kind.Kind)
}

// isListed reports whether an object is in a view's inventory, which only the controller
// writes.
func isListed(view *v1.MarkdownView, kind schema.GroupVersionKind, name string) bool {
	return view.Status.Inventory != nil && slices.ContainsFunc(view.Status.Inventory.Entries, func(entry v1.InventoryEntry) bool {
		return entry.ID == InventoryID(view.Namespace, name, kind)
	})
}

// appliedByUs reports whether our field manager has applied an object: it has an entry for
// it, which goes with the object. Whoever makes another one of the name makes it without.
func appliedByUs(object metav1.Object) bool {
	if packed, isPacked := rest(object); isPacked {
		return packed.isOurs()
	}
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return isOurs(&entry) })
}

// OurEntries returns, without fields, the entries that tell that our field manager has
// applied an object.
func OurEntries(managedFields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var ours []metav1.ManagedFieldsEntry
	for i := range managedFields {
		if isOurs(&managedFields[i]) {
			ours = append(ours, metav1.ManagedFieldsEntry{Manager: generator.FieldManager, Operation: metav1.ManagedFieldsOperationApply})
		}
	}
	return ours
}

// Adopts reports whether a view may take over objects that were not generated from it.
func Adopts(view *v1.MarkdownView) bool {
	return view.Annotations[v1.AdoptAnnotation] == "true"
}

// CarriesLabels reports whether an object carries the labels of a view's objects, which
// stay with it when owner references are lost.
func CarriesLabels(object metav1.Object, viewName string) bool {
	for key, value := range generator.Labels(viewName) {
		if object.GetLabels()[key] != value {
			return false
		}
	}
	return true
}

// ViewIndex is the name of an index of objects by the view whose labels they carry.
const ViewIndex = ".metadata.labels.view"

// ViewOf lists, for the index, the view whose labels an object carries.
func ViewOf(object client.Object) []string {
	name := object.GetLabels()[generator.InstanceLabel]
	if !CarriesLabels(object, name) {
		return nil
	}
	return []string{name}
}

// OfView selects the objects that carry a view's labels. They are the cache's own, not
// to be changed.
func OfView(view *v1.MarkdownView) []client.ListOption {
	return []client.ListOption{client.InNamespace(view.Namespace), client.MatchingFields{ViewIndex: view.Name}, client.UnsafeDisableDeepCopy}
}

// ownerOf is the reference that lets the garbage collector delete a view's
// objects, and foreground deletion wait for them.
func ownerOf(view *v1.MarkdownView) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1.GroupVersion.String()).
		WithKind(v1.Kind).
		WithName(view.Name).
		WithUID(view.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// kept are the field managers whose fields people expect to stay.
var kept = []string{"kubectl-annotate", "kubectl-label", "kubectl-rollout", "kubectl-scale"}

// takenOver are the field managers whose fields become ours, and are removed when they
// aren't wanted: a person's edit by kubectl, and whatever wrote the object before.
var takenOver = func() []ssa.FieldManager {
	managers := []ssa.FieldManager{
		{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply, ExactMatch: true},
	}
	for _, name := range []string{
		generator.FieldManager, "before-first-apply", "kubectl-client-side-apply",
		"kubectl-create", "kubectl-edit", "kubectl-patch", "kubectl-replace", "kubectl-set",
	} {
		managers = append(managers, ssa.FieldManager{Name: name, OperationType: metav1.ManagedFieldsOperationUpdate, ExactMatch: true})
	}
	return managers
}()

// writersOf are the field managers that have updated an object, except those whose
// fields stay.
func writersOf(object metav1.Object) []ssa.FieldManager {
	var managers []ssa.FieldManager
	for _, entry := range object.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == "" && !slices.Contains(kept, entry.Manager) {
			managers = append(managers, ssa.FieldManager{Name: entry.Manager, OperationType: entry.Operation, ExactMatch: true})
		}
	}
	return managers
}

package apply

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
// it owns, or that carries its labels and has no controller, as the function's output
// does. With the adopt annotation the labels don't matter.
func checkOwnership(view *v1.MarkdownView, name string, live metav1.Object) error {
	if owner := metav1.GetControllerOf(live); owner != nil {
		if owner.UID == view.UID {
			return nil
		}
		return ownershipError(name, fmt.Sprintf("is controlled by %s %s: rename the view, or delete the object", owner.Kind, owner.Name))
	}
	if CarriesLabels(live, view.Name) || Adopts(view) {
		return nil
	}
	return ownershipError(name, fmt.Sprintf("was not generated from this view: rename the view, delete the object, or set the view's annotation %s to \"true\" to take it over", v1.AdoptAnnotation))
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

package reconciler

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fluxcd/pkg/ssa"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// errForeign marks a conflictError.
var errForeign = errors.New("belongs to somebody else")

// conflictError says that an object of the right name isn't the view's to change.
type conflictError struct {
	object, reason string
}

func (e *conflictError) Error() string {
	return fmt.Sprintf("%s exists and %s", e.object, e.reason)
}

func (e *conflictError) Unwrap() error {
	return errForeign
}

// checkOwnership says whether a view may change an existing object: one that it
// owns, or that carries its labels and has no controller, as the function's
// output does. With the adopt annotation the labels aren't asked for.
func checkOwnership(view *v1.MarkdownView, name string, live metav1.Object) error {
	if owner := metav1.GetControllerOf(live); owner != nil {
		if owner.UID == view.UID {
			return nil
		}
		return &conflictError{name, fmt.Sprintf("is controlled by %s %s: rename the view, or delete the object", owner.Kind, owner.Name)}
	}
	if hasLabels(live, generator.Labels(view.Name)) || adopts(view) {
		return nil
	}
	return &conflictError{name, fmt.Sprintf("was not generated from this view: rename the view, delete the object, or set the view's annotation %s to \"true\" to take it over", v1.AdoptAnnotation)}
}

func adopts(view *v1.MarkdownView) bool {
	return view.Annotations[v1.AdoptAnnotation] == "true"
}

func hasLabels(object metav1.Object, labels map[string]string) bool {
	for key, value := range labels {
		if object.GetLabels()[key] != value {
			return false
		}
	}
	return true
}

// leftAlone are the field managers whose fields people expect to stay.
var leftAlone = []string{"kubectl-annotate", "kubectl-label", "kubectl-rollout", "kubectl-scale"}

// takenOver are the field managers whose fields become ours, and are pruned when
// they aren't wanted: a person's edit by kubectl, and whatever wrote the object
// before.
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

// writersOf are the field managers that have updated an object, but those that are
// left alone.
func writersOf(object metav1.Object) []ssa.FieldManager {
	var managers []ssa.FieldManager
	for _, entry := range object.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == "" && !slices.Contains(leftAlone, entry.Manager) {
			managers = append(managers, ssa.FieldManager{Name: entry.Manager, OperationType: entry.Operation, ExactMatch: true})
		}
	}
	return managers
}

package reconciler

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/account"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
)

// applierOf returns an applier that writes what is planned for a view as its service
// account, which has the rights for it.
func (r *Reconciler) applierOf(ctx context.Context, view *v1.MarkdownView, plan *apply.Plan) (*apply.Applier, error) {
	var needs []account.Need
	plan.Objects(func(kind schema.GroupVersionKind, name string, exists bool) {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		need := account.Need{Verb: "patch", Group: kind.Group, Resource: resource.Resource, Name: name, Object: kind.Kind + " " + name}
		if !exists {
			create := need
			create.Verb = "create"
			needs = append(needs, create)
		}
		needs = append(needs, need)
	})
	writer, err := r.Accounts.Writer(ctx, view, needs)
	if err != nil {
		return nil, err
	}
	return r.Applier.As(writer), nil
}

// execute does what is planned for a view as its service account, or nothing if that lacks
// a right for it.
func (r *Reconciler) execute(ctx context.Context, view *v1.MarkdownView, plan *apply.Plan) (apply.Report, error) {
	applier, err := r.applierOf(ctx, view, plan)
	if err != nil {
		return apply.Report{}, err
	}
	report, err := applier.Execute(ctx, plan)
	return report, r.Accounts.Explain(view, err)
}

// restart replaces as its service account the pods of a view.
func (r *Reconciler) restart(ctx context.Context, view *v1.MarkdownView, state *viewState, plan *apply.Plan, edits []string) error {
	writer, err := r.Accounts.Writer(ctx, view, nil)
	if err != nil {
		return err
	}
	return r.Accounts.Explain(view, r.Applier.As(writer).Restart(ctx, plan, edits, &state.written))
}

// pruneAs deletes as its service account what a view no longer has pages for.
func (r *Reconciler) pruneAs(ctx context.Context, view *v1.MarkdownView, state *viewState, wanted []string) (pruned []string, recheck time.Duration, err error) {
	writer, err := r.Accounts.Writer(ctx, view, nil)
	if err != nil {
		return nil, 0, err
	}
	pruned, recheck, err = r.Applier.As(writer).Prune(ctx, view, wanted, &state.lastApplied, &state.written)
	return pruned, recheck, r.Accounts.Explain(view, err)
}

// accountIndex is the name of an index of views by the service accounts that they name.
const accountIndex = ".spec.serviceAccountName"

// accountOf lists, for the index, the service account that a view names; empty for the
// default.
func accountOf(object client.Object) []string {
	return []string{object.(*v1.MarkdownView).Spec.ServiceAccountName}
}

// viewsOfAccount finds the views that are written as a service account.
func (r *Reconciler) viewsOfAccount(ctx context.Context, serviceAccount *metav1.PartialObjectMetadata) []reconcile.Request {
	in := client.InNamespace(serviceAccount.Namespace)
	requests := r.viewsBy(ctx, serviceAccount, in, client.MatchingFields{accountIndex: serviceAccount.Name})
	if serviceAccount.Name == r.Accounts.Default {
		requests = append(requests, r.viewsBy(ctx, serviceAccount, in, client.MatchingFields{accountIndex: ""})...)
	}
	return requests
}

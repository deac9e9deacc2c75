package reconciler

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// logResult writes one line when the outcome has changed or something was written, and
// none at rest. The logger names the view.
func logResult(ctx context.Context, before, view *v1.MarkdownView, r *result) {
	log := ctrl.LoggerFrom(ctx)
	if !outcomeChanged(before, view) && len(r.written) == 0 {
		log.V(1).Info("nothing changed", "reason", r.reason, "message", r.message)
		return
	}
	values := []any{
		"ready", conditions.IsTrue(view, meta.ReadyCondition),
		"reason", r.reason, "revision", view.Status.LastAttemptedRevision, "message", r.message,
	}
	if len(r.written) > 0 {
		values = append(values, "written", r.written)
	}
	log.Info("reconciled", values...)
}

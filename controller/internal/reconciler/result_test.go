package reconciler

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

func TestReportSetsConditionsAsFluxReadsThem(t *testing.T) {
	now := time.Now()
	tests := map[string]struct {
		result result
		want   map[string]metav1.ConditionStatus
		final  bool // observedGeneration is the view's generation
	}{
		"served": {
			result: result{state: outcome.Served, reason: v1.HealthyReason},
			want:   map[string]metav1.ConditionStatus{"Ready": "True"}, final: true,
		},
		"rolling out": {
			result: result{state: outcome.Progressing, reason: v1.ProgressingReason},
			want:   map[string]metav1.ConditionStatus{"Ready": "False", "Reconciling": "True"},
		},
		"failed, and tried again": {
			result: result{state: outcome.Retrying, reason: v1.ApplyFailedReason},
			want:   map[string]metav1.ConditionStatus{"Ready": "False", "Reconciling": "True"},
		},
		"failed for good": {
			result: result{state: outcome.Stalled, reason: v1.InvalidReason},
			want:   map[string]metav1.ConditionStatus{"Ready": "False", "Stalled": "True"}, final: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", Generation: 2}}
			// Whatever was there before must not stay.
			for _, before := range []outcome.State{outcome.Stalled, outcome.Progressing, outcome.Served} {
				result{state: before, reason: "Before"}.report(view, now)
			}
			view.Generation = 3
			test.result.report(view, now)
			got := map[string]metav1.ConditionStatus{}
			for _, condition := range view.Status.Conditions {
				got[condition.Type] = condition.Status
				if condition.ObservedGeneration != view.Generation {
					t.Errorf("%s is of generation %d", condition.Type, condition.ObservedGeneration)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if final := view.Status.ObservedGeneration == view.Generation; final != test.final {
				t.Errorf("observedGeneration is %d of %d", view.Status.ObservedGeneration, view.Generation)
			}
		})
	}
}

func TestFailure(t *testing.T) {
	gone := &outcome.Error{State: outcome.Retrying, Reason: v1.ArtifactFailedReason, Message: "fetch", Err: errors.New("not found")}
	busy := &outcome.Error{State: outcome.Unreported, Retry: time.Second, Message: "fetching"}
	slow := &outcome.Error{State: outcome.Progressing, Reason: v1.ProgressingReason, Retry: time.Minute, Message: "fetching"}
	resource := schema.GroupResource{Resource: "deployments"}
	raced := &outcome.Error{State: outcome.Unreported, Err: apierrors.NewConflict(resource, "viewer-docs", errors.New("modified"))}
	away := errors.New("connection refused")
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "viewer-docs", nil)
	immutable := apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "viewer-docs", field.ErrorList{field.Invalid(field.NewPath("spec", "selector"), "", "field is immutable")})
	const undeclared = "failed to create typed patch object (docs/viewer-docs; apps/v1, Kind=Deployment): .spec.template.spec.nodeSelectors: field not declared in schema"
	misspelt := errors.New(undeclared)
	denied := errors.New(`admission webhook "policy.example.com" denied the request: ` + undeclared)
	terminating := apierrors.NewForbidden(resource, "viewer-docs", errors.New("being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	tests := map[string]struct {
		err  error
		want result
	}{
		"an error that carries its outcome": {
			fmt.Errorf("plan: %w", gone),
			result{state: outcome.Retrying, reason: v1.ArtifactFailedReason, message: gone.Error(), err: gone},
		},
		"one that is worth another look at a time": {
			&outcome.Error{State: outcome.Retrying, Reason: v1.SourceNotFoundReason, Message: "no such kind", Retry: time.Minute},
			result{state: outcome.Retrying, reason: v1.SourceNotFoundReason, message: "no such kind", requeueAfter: time.Minute},
		},
		"one that only a change helps": {
			&outcome.Error{State: outcome.Stalled, Reason: v1.InvalidReason, Message: "wrong"},
			result{state: outcome.Stalled, reason: v1.InvalidReason, message: "wrong"},
		},
		"a fetch that goes on is not reported": {
			busy, result{state: outcome.Unreported, message: busy.Error(), requeueAfter: time.Second, slot: slotKept},
		},
		"a fetch that takes its time is progress, and no failure": {
			slow, result{state: outcome.Progressing, reason: v1.ProgressingReason, message: "fetching", requeueAfter: time.Minute, slot: slotKept},
		},
		"a write that somebody else was quicker than is not reported": {
			raced, result{state: outcome.Unreported, message: raced.Error(), err: raced, slot: slotKept},
		},
		"one that somebody else always writes first may be rolled out already": {
			&outcome.Error{State: outcome.Retrying, Reason: v1.ContestedReason, Message: "Service x", Retry: time.Minute},
			result{state: outcome.Retrying, reason: v1.ContestedReason, message: "Service x", requeueAfter: time.Minute, slot: slotKept},
		},
		"a namespace that is being deleted is not reported": {
			terminating, result{state: outcome.Unreported},
		},
		"an API server that is away": {
			away, result{state: outcome.Retrying, reason: v1.ApplyFailedReason, message: away.Error(), err: away},
		},
		"an object that the API server calls invalid": {
			invalid, result{state: outcome.Stalled, reason: v1.ApplyFailedReason, message: invalid.Error(), requeueAfter: refusalRecheck},
		},
		"a field that the API server doesn't know": {
			misspelt,
			result{
				state: outcome.Stalled, reason: v1.ApplyFailedReason, requeueAfter: refusalRecheck,
				message: misspelt.Error() + ": correct the field's name in spec.patches, or remove it there",
			},
		},
		"a webhook that says as much": {
			denied, result{state: outcome.Retrying, reason: v1.ApplyFailedReason, message: denied.Error(), err: denied},
		},
		"an object with a field that can't change": {
			immutable,
			result{state: outcome.Stalled, reason: v1.ApplyFailedReason, message: immutable.Error() + ": delete the object, and the controller recreates it", requeueAfter: refusalRecheck},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, failure(test.err), cmp.AllowUnexported(result{}), cmpopts.EquateErrors()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReportWhenClockJumps: what the status says may have been written at another time than
// it is now. Counts may then be written later or sooner, outcomes are always written.
func TestReportWhenClockJumps(t *testing.T) {
	now := time.Now()
	progress := func(count int) result {
		return result{state: outcome.Progressing, reason: v1.ProgressingReason, message: fmt.Sprintf("%d of 3 replicas are available", count)}
	}
	tests := map[string]struct {
		at     time.Time
		result result
		want   string
	}{
		"counts, a second later":         {now.Add(time.Second), progress(2), progress(1).message},
		"counts, when it is time":        {now.Add(time.Minute), progress(2), progress(2).message},
		"counts, put forward by an hour": {now.Add(time.Hour), progress(2), progress(2).message},
		"counts, put back by an hour":    {now.Add(-time.Hour), progress(2), progress(2).message},
		"an outcome, put back by an hour": {
			now.Add(-time.Hour), result{state: outcome.Served, reason: v1.HealthyReason, message: "served"}, "served",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", Generation: 1}}
			progress(1).report(view, now)
			for i := range view.Status.Conditions {
				view.Status.Conditions[i].LastTransitionTime = metav1.NewTime(now)
			}
			test.result.report(view, test.at)
			if got := conditions.GetMessage(view, meta.ReadyCondition); got != test.want {
				t.Errorf("the view says %q, want %q", got, test.want)
			}
		})
	}
}

// TestADenialIsToldWhateverItsCode has an admission webhook deny as if somebody had been quicker.
func TestADenialIsToldWhateverItsCode(t *testing.T) {
	const said = `admission webhook "policy.example.com" denied the request: not on Mondays`
	for _, code := range []metav1.Status{
		{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict},
		{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound},
	} {
		for _, isNew := range []bool{true, false} {
			t.Run(fmt.Sprint(code.Reason, ", of a new view: ", isNew), func(t *testing.T) {
				f := newFixture(t)
				if isNew {
					f.view("docs")
				} else {
					f.served("docs")
					f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Changed\n" })
				}
				f.Refuse = func(_ string, object client.Object) error {
					if isView(object) {
						return nil
					}
					denial := code
					denial.Message = said
					return &apierrors.StatusError{ErrStatus: denial}
				}
				_, _ = f.tryReconcile("docs")
				f.Refuse = nil
				view := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
				ready := apimeta.FindStatusCondition(view.Status.Conditions, meta.ReadyCondition)
				if ready == nil || ready.Reason != v1.ApplyFailedReason || !strings.Contains(ready.Message, said) {
					t.Errorf("Ready is %+v", ready)
				}
			})
		}
	}
}

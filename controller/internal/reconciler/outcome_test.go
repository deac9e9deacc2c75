package reconciler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/artifact"
	"github.com/zoetrope/markdown-view/generator"
)

func TestReportGivesTheConditionsThatFluxReads(t *testing.T) {
	now := time.Now()
	tests := map[string]struct {
		outcome outcome
		want    map[string]metav1.ConditionStatus
		final   bool // observedGeneration is the view's generation
	}{
		"served": {
			outcome: outcome{state: served, reason: v1.HealthyReason},
			want:    map[string]metav1.ConditionStatus{"Ready": "True"}, final: true,
		},
		"rolling out": {
			outcome: outcome{state: progressing, reason: v1.ProgressingReason},
			want:    map[string]metav1.ConditionStatus{"Ready": "Unknown", "Reconciling": "True"},
		},
		"failed, and tried again": {
			outcome: outcome{state: retrying, reason: v1.ApplyFailedReason},
			want:    map[string]metav1.ConditionStatus{"Ready": "False", "Reconciling": "True"},
		},
		"failed for good": {
			outcome: outcome{state: stalled, reason: v1.InvalidReason},
			want:    map[string]metav1.ConditionStatus{"Ready": "False", "Stalled": "True"}, final: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", Generation: 2}}
			// Whatever was there before must not stay.
			for _, before := range []state{stalled, progressing, served} {
				outcome{state: before, reason: "Before"}.report(view, now)
			}
			view.Generation = 3
			test.outcome.report(view, now)
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

func TestFailureTellsWhatHelpsFromWhatIsTriedAgain(t *testing.T) {
	tests := map[string]struct {
		err    error
		state  state
		reason string
	}{
		"a view that breaks a rule": {&generator.InvalidError{Name: "docs", Problems: []generator.Problem{{Message: "wrong"}}}, stalled, v1.InvalidReason},
		"a folder":                  {&unsupportedError{"spec.contentFrom[0].directory"}, stalled, v1.InvalidReason},
		"a missing ConfigMap":       {&notFoundError{field: "spec.contentFrom[0].configMapRef", object: "ConfigMap pages"}, retrying, v1.PagesNotFoundReason},
		"a foreign object":          {&conflictError{"Service viewer-docs", "is controlled by App x"}, stalled, v1.ConflictReason},
		"an artifact that is gone":  {&sourceError{field: "f", message: "fetch", reason: v1.ArtifactFailedReason, err: artifact.ErrNotFound}, retrying, v1.ArtifactFailedReason},
		"an API server that is away": {
			errors.New("connection refused"), retrying, v1.ApplyFailedReason,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := failure(test.err)
			if got.state != test.state || got.reason != test.reason || got.message == "" {
				t.Errorf("got %+v", got)
			}
			if (got.err != nil) != (test.state == retrying) {
				t.Errorf("the error for the queue is %v", got.err)
			}
		})
	}
}

func TestFailuresThatAreNobodysFault(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "viewer-docs", errors.New("modified"))
	if got := failure(fmt.Errorf("take over: %w", raced(conflict))); got.state != ignored || got.err == nil {
		t.Errorf("a race: got %+v", got)
	}
	if got := failure(&sourceError{err: artifact.ErrBusy}); got.state != ignored || got.err != nil || got.requeueAfter == 0 {
		t.Errorf("a fetch that goes on: got %+v", got)
	}
}

func TestRefusalsOfFields(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "viewer-docs", field.ErrorList{field.Required(field.NewPath("spec", "ports").Index(0).Child("name"), "")})
	policy := apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "viewer-docs", nil)
	policy.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "this image isn't allowed"}}
	for want, err := range map[bool]error{true: invalid, false: policy} {
		if got := isOfAField(&applyError{object: "Deployment viewer-docs", err: err}); got != want {
			t.Errorf("%v: got %t", err, got)
		}
	}
}

func TestCheckOwnership(t *testing.T) {
	view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", UID: "ours"}}
	adopting := view.DeepCopy()
	adopting.Annotations = map[string]string{v1.AdoptAnnotation: "true"}
	owned := func(uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: "App", Name: "theirs", UID: uid, Controller: new(true)}}
	}
	tests := map[string]struct {
		view *v1.MarkdownView
		live metav1.ObjectMeta
		want string
	}{
		"the view's own":                  {view, metav1.ObjectMeta{OwnerReferences: owned("ours")}, ""},
		"the function's output":           {view, metav1.ObjectMeta{Labels: generator.Labels("docs")}, ""},
		"a foreign object, to be adopted": {adopting, metav1.ObjectMeta{}, ""},
		"another controller's, with our labels": {
			view, metav1.ObjectMeta{Labels: generator.Labels("docs"), OwnerReferences: owned("theirs")},
			"Service viewer-docs exists and is controlled by App theirs: rename the view, or delete the object",
		},
		"another controller's is never adopted": {
			adopting, metav1.ObjectMeta{OwnerReferences: owned("theirs")},
			"Service viewer-docs exists and is controlled by App theirs: rename the view, or delete the object",
		},
		"another view's": {
			view, metav1.ObjectMeta{Labels: generator.Labels("other")},
			`Service viewer-docs exists and was not generated from this view: rename the view, delete the object, or set the view's annotation view.zoetrope.github.io/adopt to "true" to take it over`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := checkOwnership(test.view, "Service viewer-docs", &test.live); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestAClockThatJumps shows that what was written at another time than it is now
// holds nothing up: counts may be written later or sooner, outcomes never.
func TestAClockThatJumps(t *testing.T) {
	now := time.Now()
	progress := func(count int) outcome {
		return outcome{state: progressing, reason: v1.ProgressingReason, message: fmt.Sprintf("%d of 3 replicas are available", count)}
	}
	tests := map[string]struct {
		at      time.Time
		outcome outcome
		want    string
	}{
		"counts, a second later":         {now.Add(time.Second), progress(2), progress(1).message},
		"counts, when it is time":        {now.Add(time.Minute), progress(2), progress(2).message},
		"counts, put forward by an hour": {now.Add(time.Hour), progress(2), progress(2).message},
		"counts, put back by an hour":    {now.Add(-time.Hour), progress(2), progress(2).message},
		"an outcome, put back by an hour": {
			now.Add(-time.Hour), outcome{state: served, reason: v1.HealthyReason, message: "served"}, "served",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", Generation: 1}}
			progress(1).report(view, now)
			for i := range view.Status.Conditions {
				view.Status.Conditions[i].LastTransitionTime = metav1.NewTime(now)
			}
			test.outcome.report(view, test.at)
			if got := conditions.GetMessage(view, meta.ReadyCondition); got != test.want {
				t.Errorf("the view says %q, want %q", got, test.want)
			}
		})
	}
}

package pages

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/artifact"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

func TestArtifactThatIsNotThere(t *testing.T) {
	failed, broken := &artifact.FailedError{Message: "no", Retry: 8 * time.Second}, errors.New("disk")
	tests := map[string]struct {
		err  error
		want *outcome.Error
	}{
		"one that may come in a moment": {
			&artifact.BusyError{For: 100 * time.Millisecond},
			&outcome.Error{State: outcome.Unreported, Retry: 900 * time.Millisecond, Message: "field: fetching it"},
		},
		"one that takes its time": {
			&artifact.BusyError{For: time.Second},
			&outcome.Error{State: outcome.Progressing, Reason: v1.ProgressingReason, Retry: progressRecheck, Message: "field: fetching it"},
		},
		"one that couldn't be fetched": {
			failed, &outcome.Error{State: outcome.Retrying, Reason: v1.ArtifactFailedReason, Retry: 8 * time.Second, Message: "field: fetch it", Err: failed},
		},
		"one that can't be read": {
			broken, &outcome.Error{State: outcome.Retrying, Reason: v1.ArtifactFailedReason, Message: "field: fetch it", Err: broken},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := errors.AsType[*outcome.Error](notFetched("field", "it", test.err))
			if !ok {
				t.Fatal("it carries no outcome")
			}
			if diff := cmp.Diff(*test.want, *got, cmpopts.EquateErrors()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestKindThatIsNotListedYetBlocksNoWorker has the views of such a kind looked at again
// later.
func TestKindThatIsNotListedYetBlocksNoWorker(t *testing.T) {
	f := newFixture(t, gitRepository("docs", nil))
	f.informers.unsynced = true
	f.view.Spec.ContentFrom = []v1.ContentSource{fromGit("", "")}
	for _, test := range []struct {
		watched time.Duration // for how long
		state   outcome.State
	}{
		{0, outcome.Unreported},
		{syncTimeout, outcome.Retrying},
	} {
		if _, err := f.Find(t.Context(), f.view); err == nil {
			t.Fatal("a source of a kind that isn't listed gives pages")
		}
		f.Sources.watchedKinds[v1.GitRepositoryKind] = time.Now().Add(-test.watched)
		_, err := f.Find(t.Context(), f.view)
		if got, ok := errors.AsType[*outcome.Error](err); !ok || got.State != test.state || got.Retry == 0 {
			t.Errorf("after %s: got %+v", test.watched, err)
		}
	}
}

func TestSourceWithoutArtifact(t *testing.T) {
	ready := func(status, message string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status, "message": message}}}
	}
	tests := map[string]struct {
		spec, status map[string]any
		state        outcome.State
		reason       string
		message      string
	}{
		"one that was just made": {
			state: outcome.Progressing, reason: v1.ProgressingReason, message: "it has no artifact yet",
		},
		"one that is being fetched": {
			status: ready("Unknown", "building artifact"),
			state:  outcome.Progressing, reason: v1.ProgressingReason, message: "it has no artifact yet: building artifact",
		},
		"one that fails": {
			status: ready("False", "authentication required"),
			state:  outcome.Retrying, reason: v1.ArtifactFailedReason, message: "it has no artifact yet: authentication required",
		},
		"one that is suspended": {
			spec:  map[string]any{"suspend": true},
			state: outcome.Retrying, reason: v1.ArtifactFailedReason, message: "it has no artifact yet, and is suspended: resume it",
		},
		"one whose status is something else": {
			status: map[string]any{"conditions": "none"},
			state:  outcome.Progressing, reason: v1.ProgressingReason, message: "it has no artifact yet",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{}}
			if test.spec != nil {
				object.Object["spec"] = test.spec
			}
			if test.status != nil {
				object.Object["status"] = test.status
			}
			want := &outcome.Error{State: test.state, Reason: test.reason, Message: "spec: " + test.message, Retry: progressRecheck}
			if diff := cmp.Diff(error(want), withoutArtifact("spec", "it", object)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

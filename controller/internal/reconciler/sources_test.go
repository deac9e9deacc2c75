package reconciler

import (
	"testing"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestServesAll(t *testing.T) {
	const now, before = "main@sha1:2", "main@sha1:1"
	tests := map[string]struct {
		status v1.MarkdownViewStatus
		want   bool
	}{
		"the source's revision is served": {
			v1.MarkdownViewStatus{ObservedGeneration: 2, LastAttemptedRevision: now, LastAppliedRevision: now}, true,
		},
		"the source has a newer one": {
			v1.MarkdownViewStatus{ObservedGeneration: 2, LastAttemptedRevision: now, LastAppliedRevision: before}, false,
		},
		"the view has changed": {
			v1.MarkdownViewStatus{ObservedGeneration: 1, LastAttemptedRevision: now, LastAppliedRevision: now}, false,
		},
		"nothing was served yet": {
			v1.MarkdownViewStatus{ObservedGeneration: -1, LastAttemptedRevision: now}, false,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := &v1.MarkdownView{Status: test.status}
			view.Generation = 2
			if got := servesAll(view); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

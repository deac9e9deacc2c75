package reconciler

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestSourcesInNamespacesThatAreNotWatched(t *testing.T) {
	view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: "docs"}}
	r := &Reconciler{Sources: &Sources{Namespaces: []string{"docs", "more"}}}
	ref := &v1.SourceReference{Kind: v1.GitRepositoryKind, Name: "handbook", Namespace: "flux-system"}
	_, err := r.sourceVersion(t.Context(), view, "spec.contentFrom[0].sourceRef", ref)
	source, ok := errors.AsType[*sourceError](err)
	if !ok || !source.stalled || source.reason != v1.AccessDeniedReason {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"GitRepository flux-system/handbook", "--namespaces"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v doesn't name %s", err, want)
		}
	}
}

package argocd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster/build"
)

// reasons are those of the API's constants.
func reasons(t *testing.T) []string {
	t.Helper()
	repository, err := build.Repository()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository, "api", "v1", "constants.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for node := range ast.Preorder(file) {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasSuffix(spec.Names[0].Name, "Reason") {
			continue
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, reason)
	}
	return list
}

func TestEveryReasonHasAHealth(t *testing.T) {
	list := reasons(t)
	for _, reason := range list {
		if _, ok := ofReason[reason]; !ok {
			t.Errorf("%s has none: add it here, to the script if need be, and to docs/argocd.md", reason)
		}
	}
	if len(list) != len(ofReason) {
		t.Errorf("there are %d reasons, and %d have a health", len(list), len(ofReason))
	}
}

// TestHealthOfAView asks the script of what test/integration doesn't bring views to.
func TestHealthOfAView(t *testing.T) {
	ready := func(view *v1.MarkdownView) {
		conditions.MarkTrue(view, meta.ReadyCondition, v1.HealthyReason, "served")
	}
	for name, test := range map[string]struct {
		change func(*v1.MarkdownView)
		want   Health
	}{
		"without a status": {func(*v1.MarkdownView) {}, Progressing},
		"served":           {ready, Healthy},
		"a change that isn't looked at yet": {func(view *v1.MarkdownView) {
			ready(view)
			view.Generation++
		}, Progressing},
		"suspended while it is served": {func(view *v1.MarkdownView) {
			ready(view)
			view.Spec.Suspend = true
		}, Suspended},
		"of a later release, and stalled": {func(view *v1.MarkdownView) {
			conditions.MarkFalse(view, meta.ReadyCondition, "New", "a new reason")
			conditions.MarkTrue(view, meta.StalledCondition, "New", "a new reason")
		}, Degraded},
		"waiting for what may come": {func(view *v1.MarkdownView) {
			conditions.MarkFalse(view, meta.ReadyCondition, v1.SourceNotFoundReason, "no source")
			conditions.MarkTrue(view, meta.ReconcilingCondition, v1.SourceNotFoundReason, "no source")
		}, Progressing},
		"waiting for what never comes": {func(view *v1.MarkdownView) {
			conditions.MarkFalse(view, meta.ReadyCondition, v1.SourceNotFoundReason, "no source")
			conditions.MarkTrue(view, meta.StalledCondition, v1.SourceNotFoundReason, "no source")
		}, Degraded},
	} {
		t.Run(name, func(t *testing.T) {
			view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", Generation: 3}}
			test.change(view)
			got, message, err := Of(t.Context(), view)
			if err != nil || got != test.want || message == "" {
				t.Errorf("it is %q (%s), not %s: %v", got, message, test.want, err)
			}
		})
	}
}

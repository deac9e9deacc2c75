package generator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// Two dots may begin any name in a volume but the first one of a path.
func TestNamesThatBeginWithTwoDots(t *testing.T) {
	pages := map[string]string{"SUMMARY.md": "- [A](..a.md)\n- [B](x/..b.md)\n", "..a.md": "", "x/..b.md": "", "..foo.png": ""}
	view := newView("a", nil)
	view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
	output := mustGenerate(t, view, fromFolder(pages, map[string]string{"img/..x.png": ""}, ""))
	at := map[string]bool{}
	for _, item := range output.Deployment.Spec.Template.Spec.Volumes[0].ConfigMap.Items {
		at[*item.Path] = true
		if !acceptedItemPath(*item.Path) {
			t.Errorf("Kubernetes refuses to project a key to %q", *item.Path)
		}
	}
	for _, want := range []string{"src/..a.md", "src/x/..b.md", "src/..foo.png", "img/..x.png"} {
		if !at[want] {
			t.Errorf("nothing is at %s", want)
		}
	}

	want := []string{folder + `..foo.css: is at ..foo.css in the book's root folder, a path that must not start with "..": Kubernetes keeps such names in a mounted ConfigMap for itself`}
	if diff := cmp.Diff(want, problemsOf(t, view, fromFolder(pages, map[string]string{"..foo.css": ""}, ""))); diff != "" {
		t.Error(diff)
	}

	flat := mustGenerate(t, newView("a", withPages(map[string]string{"..a.md": ""})))
	for _, item := range flat.Deployment.Spec.Template.Spec.Volumes[0].ConfigMap.Items {
		if !acceptedItemPath(*item.Path) {
			t.Errorf("Kubernetes refuses to project a key to %q", *item.Path)
		}
	}
}

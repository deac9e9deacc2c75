package generator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestPage404OfAFlatBook(t *testing.T) {
	view := newView("a", nil)
	view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
	content := fromFolder(map[string]string{"SUMMARY.md": "- [A](a.md)", "a.md": "", "404.md": "\xff"}, nil, "")
	want := []string{folder + "404.md: is not UTF-8 text, as which mdBook reads this file: save it as UTF-8"}
	if diff := cmp.Diff(want, problemsOf(t, view, content)); diff != "" {
		t.Error(diff)
	}
}

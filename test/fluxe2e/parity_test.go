package fluxe2e

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/flux"
	"github.com/zoetrope/markdown-view/test/product"
)

// TestASourceGivesWhatADirectoryGives commits folders, and holds what the controller
// makes of them as a source against what the function makes of them as a directory.
func TestASourceGivesWhatADirectoryGives(t *testing.T) {
	t.Parallel()
	books := cmp.Or(os.Getenv("E2E_BOOKS"), "../../../shared/books")
	for name, test := range map[string]struct{ folder, path string }{
		"the handbook among the examples": {"../../examples/folder/base", "pages"},
		"the project among the examples":  {"../../examples/project", "book"},
		"the handbook that Flux serves":   {"../../examples/flux/docs-repository/repository", "docs"},
		"the handbook that was rendered":  {"../../examples/flux/rendered/repository", "docs/pages"},
		"the Cluster API book":            {books, "cluster-api-book/src"},
		"mdBook's own guide":              {books, "mdbook-guide"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(test.folder); err != nil {
				t.Skipf("%v; E2E_BOOKS names the folder with cluster-api-book and mdbook-guide", err)
			}
			f := newFixture(t)
			repository, err := f.flux.Git.Repository(t.Context(), f.namespace)
			f.must(err)
			f.must(os.CopyFS(filepath.Join(repository.Folder, test.path), os.DirFS(filepath.Join(test.folder, test.path))))
			revision, err := repository.Push(t.Context(), "Add the book")
			f.must(err)
			want := f.render(repository, test.path)

			f.gitRepository("book", repository)
			// Or Flux leaves out images.
			f.patch(&sourcev1.GitRepository{}, "book", `{"spec":{"ignore":"/.github/"}}`)
			f.sourceView("docs", "book", test.path)
			f.readyAt("docs", revision)
			if diff := gocmp.Diff(want, f.owned("docs")); diff != "" {
				t.Errorf("the front ends differ (-function +controller):\n%s", diff)
			}
		})
	}
}

// render returns what the function prints for a view of a folder.
func (f *fixture) render(repository *flux.Repository, path string) map[string]string {
	f.Helper()
	view := &v1.MarkdownView{Spec: v1.MarkdownViewSpec{ContentFrom: []v1.ContentSource{{Directory: &v1.DirectorySource{Path: path}}}}}
	view.Name, view.Namespace = "docs", f.namespace
	view.SetGroupVersionKind(v1.GroupVersion.WithKind(v1.Kind))
	input, err := sigsyaml.Marshal(view)
	f.must(err)
	objects, err := f.Render(f.Context(), repository.Folder, input)
	f.must(err)
	return f.text(objects)
}

// owned returns what the controller's field manager owns of a view's objects.
func (f *fixture) owned(view string) map[string]string {
	f.Helper()
	objects, err := f.Owned(f.Context(), f.namespace, view)
	f.must(err)
	return f.text(objects)
}

func (f *fixture) text(objects []*unstructured.Unstructured) map[string]string {
	f.Helper()
	texts, err := product.Text(objects)
	f.must(err)
	return texts
}

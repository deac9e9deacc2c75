package examples

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The functions here write the files of arrangements of kustomizations.

// files are an arrangement: path below its folder → text.
type files map[string]string

func (f files) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with returns the files of both.
func (f files) with(more files) files {
	all := maps.Clone(f)
	maps.Copy(all, more)
	return all
}

// below returns the files in a folder.
func (f files) below(folder string) files {
	moved := files{}
	for name, text := range f {
		moved[folder+"/"+name] = text
	}
	return moved
}

// fnAnnotation has kustomize run fn.
const fnAnnotation = `annotations: {config.kubernetes.io/function: "exec: {path: fn}"}`

// transformer is a kustomization's list of one transformer.
func transformer(mode string) string {
	return fmt.Sprintf("transformers: ['{apiVersion: view.zoetrope.github.io/v1, kind: MarkdownViewTransformer, metadata: {name: fn, annotations: {config.kubernetes.io/function: \"exec: {path: fn}\"}}, mode: %s}']\n", mode)
}

var (
	expanding  = transformer("Expand")
	validating = transformer("Validate")
)

// inlineView is a book of one page with the given text.
func inlineView(name, text string) string {
	return fmt.Sprintf(`apiVersion: view.zoetrope.github.io/v1
kind: MarkdownView
metadata:
  name: %s
spec:
  markdowns:
    SUMMARY.md: "- [A](a.md)"
    a.md: %q
`, name, text)
}

// inlineGenerator is an inlineView that kustomize runs as a generator.
func inlineGenerator(text string) string {
	return strings.Replace(inlineView("hb", text), "metadata:\n", "metadata:\n  "+fnAnnotation+"\n", 1)
}

// directoryView is a book of a folder's pages.
func directoryView(name, folder string) string {
	return fmt.Sprintf("{apiVersion: view.zoetrope.github.io/v1, kind: MarkdownView, metadata: {name: %s}, spec: {contentFrom: [{directory: {path: %s}}]}}\n", name, folder)
}

// pagesOfBooks returns the text of the page of that name in each generated book,
// by the Deployment's namespace/name.
func pagesOfBooks(t *testing.T, manifests, page string) map[string]string {
	t.Helper()
	objects := parse(t, manifests)
	texts := map[string]string{}
	for _, deployment := range objects.deployments {
		texts[deployment.Namespace+"/"+deployment.Name] = objects.book(t, deployment)["/book/src/"+page]
	}
	return texts
}

// buildQuietly expects nothing on standard error.
func buildQuietly(t *testing.T, dir string) string {
	t.Helper()
	got := build(t, dir, ".")
	if got.failed || got.stderr != "" {
		t.Fatalf("kustomize build failed: %t, and says:\n%s", got.failed, got.stderr)
	}
	return got.stdout
}

// sorted returns the names of the objects of a kind.
func (r rendered) sorted(kind string) []string {
	var names []string
	for _, name := range r.names {
		if rest, ok := strings.CutPrefix(name, kind+" "); ok {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	return names
}

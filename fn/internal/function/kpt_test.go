package function

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// render does what kpt does with a package: read its files, have a function run, and others
// after it, write the files.
func render(t *testing.T, folder string, after ...func(*yaml.RNode)) []*framework.Result {
	t.Helper()
	files := &kio.LocalPackageReadWriter{PackagePath: folder, PreserveSeqIndent: true}
	items, err := files.Read()
	if err != nil {
		t.Fatal(err)
	}
	got := runIn(t, folder, packageInput(t, items))
	if got.err != nil {
		t.Fatal(got.err)
	}
	reader := &kio.ByteReader{Reader: strings.NewReader(got.out)}
	items, err = reader.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range after {
		for _, item := range items {
			change(item)
		}
	}
	if err := files.Write(items); err != nil {
		t.Fatal(err)
	}
	var results framework.Results
	if reader.Results != nil {
		if err := reader.Results.YNode().Decode(&results); err != nil {
			t.Fatal(err)
		}
	}
	return results
}

// packageInput is what kpt has a function read.
func packageInput(t *testing.T, items []*yaml.RNode) string {
	t.Helper()
	config, err := yaml.Parse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: function-input}\n")
	if err != nil {
		t.Fatal(err)
	}
	var input bytes.Buffer
	writer := kio.ByteWriter{
		Writer: &input, KeepReaderAnnotations: true, FunctionConfig: config,
		WrappingKind: kio.ResourceListKind, WrappingAPIVersion: kio.ResourceListAPIVersion,
	}
	if err := writer.Write(items); err != nil {
		t.Fatal(err)
	}
	return input.String()
}

func readFolder(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(folder, p))
		files[p] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// kptView has everything that a rewritten file may lose.
const kptView = `# The handbook.
apiVersion: view.zoetrope.github.io/v1
kind: MarkdownView
metadata:
  name: handbook # kpt-set: ${name}
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  contentFrom:
    - configMapRef: {name: pages} # wide, with a comment
  markdowns:
    # Chapters
    SUMMARY.md: |
      - [A](a.md)
      - [B](b.md)
    a.md: &a |
      # A
    b.md: *a
`

func TestKptRendersTheSameEachTime(t *testing.T) {
	folder := t.TempDir()
	pages := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: pages\ndata:\n  big1.txt: " + strings.Repeat("x", 700<<10) + "\n  big2.txt: " + strings.Repeat("y", 700<<10) + "\n"
	for name, text := range map[string]string{"view.yaml": kptView, "pages.yaml": pages} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	render(t, folder)
	first := readFolder(t, folder)
	if diff := cmp.Diff(kptView, first["view.yaml"]); diff != "" {
		t.Errorf("the user's file: %s", diff)
	}
	want := []string{
		"configmap_markdowns-handbook.1.yaml", "configmap_markdowns-handbook.3.yaml", "configmap_markdowns-handbook.yaml", "deployment_viewer-handbook.yaml",
		"pages.yaml", "service_viewer-handbook.yaml", "view.yaml",
	}
	if diff := cmp.Diff(want, sortedKeys(first)); diff != "" {
		t.Fatalf("files: %s", diff)
	}

	// The user moves an object to another file.
	moved := maps.Clone(first)
	moved["apps.yaml"] = moved["deployment_viewer-handbook.yaml"]
	delete(moved, "deployment_viewer-handbook.yaml")
	if err := os.Rename(filepath.Join(folder, "deployment_viewer-handbook.yaml"), filepath.Join(folder, "apps.yaml")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		render(t, folder)
		if diff := cmp.Diff(moved, readFolder(t, folder)); diff != "" {
			t.Fatalf("another run changes files: %s", diff)
		}
	}

	// The book shrinks: the shards that it needs no more go.
	if err := os.WriteFile(filepath.Join(folder, "pages.yaml"), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: pages\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	render(t, folder)
	if diff := cmp.Diff([]string{"apps.yaml", "configmap_markdowns-handbook.yaml", "pages.yaml", "service_viewer-handbook.yaml", "view.yaml"}, sortedKeys(readFolder(t, folder))); diff != "" {
		t.Errorf("files: %s", diff)
	}
}

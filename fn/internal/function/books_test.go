package function

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// objects are what a view expands to.
type objects struct {
	configMaps map[string]corev1.ConfigMap
	deployment appsv1.Deployment
}

// parse reads the objects of a ResourceList, as kubectl reads YAML.
func parse(t testing.TB, list string) objects {
	t.Helper()
	var resources struct {
		Items []map[string]any `json:"items"`
	}
	if err := yaml.Unmarshal([]byte(list), &resources); err != nil {
		t.Fatal(err)
	}
	found := objects{configMaps: map[string]corev1.ConfigMap{}}
	read := func(item map[string]any, into any) {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(item, into, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, item := range resources.Items {
		switch item["kind"] {
		case "ConfigMap":
			var configMap corev1.ConfigMap
			read(item, &configMap)
			found.configMaps[configMap.Name] = configMap
		case "Deployment":
			read(item, &found.deployment)
		}
	}
	return found
}

// mounted returns the files that the pod sees in its volume of pages, without
// those of the revision keys.
func (o objects) mounted(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	add := func(name string, items []corev1.KeyToPath) {
		for _, item := range items {
			configMap := o.configMaps[name]
			content, ok := configMap.BinaryData[item.Key]
			if text, isText := configMap.Data[item.Key]; isText {
				content, ok = []byte(text), true
			}
			if !ok {
				t.Errorf("ConfigMap %s has no key %s", name, item.Key)
			}
			if !strings.HasPrefix(item.Key, ".revision-") {
				files[item.Path] = content
			}
		}
	}
	volume := o.deployment.Spec.Template.Spec.Volumes[0]
	if volume.ConfigMap != nil {
		add(volume.ConfigMap.Name, volume.ConfigMap.Items)
		return files
	}
	for _, source := range volume.Projected.Sources {
		add(source.ConfigMap.Name, source.ConfigMap.Items)
	}
	return files
}

// generatorInput is what kustomize hands a generator.
func generatorInput(spec string) string {
	return "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n" +
		"  apiVersion: view.zoetrope.github.io/v1\n  kind: MarkdownView\n  metadata: {name: handbook}\n  spec: " + spec + "\n"
}

// books are the real books that tests run over, kept outside of the repository.
func books(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("MARKDOWN_VIEW_BOOKS")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "shared", "books")
	}
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no books in %s: set MARKDOWN_VIEW_BOOKS to their folder", folder)
	}
	return folder
}

func TestRealBooksComeBackByteForByte(t *testing.T) {
	tests := map[string]struct{ dir, path, source string }{
		"a folder of 5 MB":    {"cluster-api-book", "src", "src"},
		"a folder of pages":   {"mdbook-guide", "./src", "src"},
		"a project":           {"mdbook-guide", ".", "src"},
		"a project elsewhere": {".", "mdbook-guide", "src"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(books(t), test.dir)
			got := runIn(t, folder, generatorInput(fmt.Sprintf("{contentFrom: [{directory: {path: %s}}]}", test.path)))
			if got.err != nil {
				t.Fatal(got.err)
			}
			written := t.TempDir()
			objects := parse(t, got.out)
			for p, content := range objects.mounted(t) {
				file := filepath.Join(written, filepath.FromSlash(p))
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			// These books include files of repositories that they aren't in here.
			root := strings.TrimPrefix(objects.deployment.Spec.Template.Spec.Containers[0].WorkingDir, "/book")
			compareFolders(t, filepath.Join(folder, test.path, strings.TrimPrefix(test.source, filepath.Clean(test.path))), filepath.Join(written, root, "src"))
		})
	}
}

func compareFolders(t *testing.T, want, got string) {
	t.Helper()
	read := func(folder string) map[string][]byte {
		files := map[string][]byte{}
		err := fs.WalkDir(os.DirFS(folder), ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == ".gitignore" { // which is left out
				return err
			}
			files[p], err = os.ReadFile(filepath.Join(folder, p))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	wantFiles, gotFiles := read(want), read(got)
	if len(wantFiles) < 10 {
		t.Errorf("there are only %d files in %s", len(wantFiles), want)
	}
	if diff := cmp.Diff(sortedKeys(wantFiles), sortedKeys(gotFiles)); diff != "" {
		t.Errorf("files: %s", diff)
	}
	for p, content := range wantFiles {
		if !slices.Equal(content, gotFiles[p]) {
			t.Errorf("%s isn't the same", p)
		}
	}
}

func TestNoLinkLeadsOut(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	for _, file := range []string{"SUMMARY.md", "secret.md"} {
		if err := os.WriteFile(filepath.Join(outside, file), []byte("- [A](secret.md)\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(inside, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"link":         outside,
		"docs/a.md":    filepath.Join(outside, "secret.md"),
		"docs/loop.md": "loop.md",
	} {
		if err := os.Symlink(target, filepath.Join(inside, link)); err != nil {
			t.Fatal(err)
		}
	}
	got := runIn(t, inside, generatorInput("{contentFrom: [{directory: {path: link}}, {directory: {path: docs}}]}"))
	const prefix = "error: MarkdownView handbook: spec.contentFrom"
	want := fmt.Sprintf(prefix+"[0].directory.path: link: the link link to %q leads out of the working directory: put the files themselves there, or ignore the link\n"+
		prefix+"[1].directory.path: docs/a.md: the link docs/a.md to %q leads out of the working directory: put the files themselves there, or ignore the link\n"+
		prefix+"[1].directory.path: docs/loop.md: the link docs/loop.md to \"loop.md\" leads back to itself: put the files themselves there, or ignore the link\n",
		outside, filepath.Join(outside, "secret.md"))
	if diff := cmp.Diff(want, got.errOut); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(got.out, "secret.md)") {
		t.Error("what is outside was read")
	}
}

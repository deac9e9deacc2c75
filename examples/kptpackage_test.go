package examples

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kptfile has a package run the function.
const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: NAME\npipeline:\n  mutators:\n  - exec: fn\n    configMap:\n      mode: Expand\n"

func kptfileOf(name string) string { return strings.ReplaceAll(kptfile, "NAME", name) }

// bookView is a small view.
func bookView(name, namespace, page string) string {
	if namespace != "" {
		name += "\n  namespace: " + namespace
	}
	return "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata:\n  name: " + name + "\nspec:\n  markdowns:\n    SUMMARY.md: |\n      - [A](a.md)\n    a.md: |\n      " + page + "\n"
}

// writeFiles writes files below dir.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// filesBelow returns the names of all files in dir and below, but those of Git.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if entry.Name() == ".git" {
			return fs.SkipDir
		}
		if !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// kpt runs the program that the environment variable KPT names.
func kpt(t *testing.T, dir string, args ...string) result {
	t.Helper()
	program := os.Getenv("KPT")
	if program == "" {
		t.Skip("KPT doesn't name kpt")
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	return resultOf(t, cmd)
}

func kptRender(t *testing.T, dir string) string {
	t.Helper()
	got := kpt(t, dir, "fn", "render", "--allow-exec", "--truncate-output=false")
	if got.failed {
		t.Fatal(got.stderr)
	}
	return got.stderr
}

func TestKptWritesObjectsBesideTheirView(t *testing.T) {
	dir := t.TempDir()
	views := map[string]string{
		"Kptfile":               kptfileOf("top"),
		"view.yaml":             bookView("top", "", "# A"),
		"books/view.yaml":       bookView("book", "docs", "# A"),
		"books/view2.yaml":      bookView("book", "other", "# A"),
		"sub/Kptfile":           "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n",
		"sub/view.yaml":         bookView("sub", "", "# A"),
		"sub/deep/view.yaml":    bookView("deep", "docs", "# A"),
		"config/Kptfile":        strings.Replace(kptfileOf("config"), "configMap:\n      mode: Expand", "configPath: in/view.yaml", 1),
		"config/in/view.yaml":   bookView("config", "docs", "# A"),
		"own/Kptfile":           kptfileOf("own"),
		"own/pages/view.yaml":   bookView("own", "docs", "# A"),
		"own/pages/a/view.yaml": bookView("own-a", "", "# A"),
	}
	writeFiles(t, dir, views)
	kptRender(t, dir)

	want := slices.Collect(func(yield func(string) bool) {
		for name := range views {
			yield(name)
		}
		for _, at := range []string{"/top", "books/book", "sub/sub", "sub/deep/deep", "own/pages/own", "own/pages/a/own-a", "config/in/config"} {
			folder, name := filepath.Split(at)
			for _, object := range []string{"configmap_markdowns-", "deployment_viewer-", "service_viewer-"} {
				yield(strings.TrimPrefix(folder, "/") + object + name + ".yaml")
			}
		}
	})
	slices.Sort(want)
	if diff := cmp.Diff(want, filesBelow(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	// Both of one name in one folder.
	if both := textOf(t, dir, "books/service_viewer-book.yaml"); !strings.Contains(both, "namespace: docs\n") || !strings.Contains(both, "namespace: other\n") {
		t.Errorf("books/service_viewer-book.yaml holds:\n%s", both)
	}

	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	kptRender(t, dir)
	for _, name := range filesBelow(t, dir) {
		if diff := cmp.Diff(textOf(t, before, name), textOf(t, dir, name)); diff != "" {
			t.Errorf("rendering again changes %s:\n%s", name, diff)
		}
	}
}

func TestKptRemovesWhatNoViewExpandsTo(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"Kptfile":        kptfileOf("top"),
		"renamed.yaml":   bookView("old", "", "# A"),
		"moved.yaml":     bookView("moved", "docs", "# A"),
		"a/removed.yaml": bookView("removed", "", "# A"),
		"kept.yaml":      bookView("kept", "", "# A"),
	})
	kptRender(t, dir)
	edit(t, dir, "renamed.yaml", "name: old", "name: new")
	edit(t, dir, "moved.yaml", "namespace: docs", "namespace: elsewhere")
	if err := os.Remove(filepath.Join(dir, "a/removed.yaml")); err != nil {
		t.Fatal(err)
	}
	// What is elsewhere than kpt put it may be wanted.
	if err := os.Rename(filepath.Join(dir, "a/deployment_viewer-removed.yaml"), filepath.Join(dir, "apps.yaml")); err != nil {
		t.Fatal(err)
	}
	messages := kptRender(t, dir)
	want := []string{
		"Kptfile", "apps.yaml",
		"configmap_markdowns-kept.yaml", "configmap_markdowns-moved.yaml", "configmap_markdowns-new.yaml",
		"deployment_viewer-kept.yaml", "deployment_viewer-moved.yaml", "deployment_viewer-new.yaml",
		"kept.yaml", "moved.yaml", "renamed.yaml",
		"service_viewer-kept.yaml", "service_viewer-moved.yaml", "service_viewer-new.yaml",
	}
	if diff := cmp.Diff(want, filesBelow(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if text := textOf(t, dir, "service_viewer-moved.yaml"); !strings.Contains(text, "namespace: elsewhere\n") || strings.Contains(text, "namespace: docs\n") {
		t.Errorf("service_viewer-moved.yaml holds:\n%s", text)
	}
	for _, message := range []string{
		"[info]: removed what was generated from MarkdownView old, which is no longer among the resources: ConfigMap markdowns-old, Deployment viewer-old, Service viewer-old",
		"[info]: removed what was generated from MarkdownView removed, which is no longer among the resources: ConfigMap markdowns-removed, Service viewer-removed",
		"[warning] apps/v1/Deployment/viewer-removed: was generated from MarkdownView removed, which is not among the resources: remove it from its file, or bring the view back",
	} {
		if strings.Count(messages, message) != 1 {
			t.Errorf("kpt doesn't print %q once:\n%s", message, messages)
		}
	}
	if again := kptRender(t, dir); strings.Contains(again, "removed what") {
		t.Errorf("it removes them again:\n%s", again)
	}
}

func TestKptPrintsEachMessageOnce(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"Kptfile": kptfileOf("top"), "view.yaml": bookView("a", "", "[B](b.md)")})
	const warning = "the link to b.md leads nowhere"
	for _, command := range [][]string{{"fn", "render", "--allow-exec"}, {"fn", "eval", "--exec", "fn", "--", "mode=Expand"}} {
		got := kpt(t, dir, command...)
		if n := strings.Count(got.stdout+got.stderr, warning); got.failed || n != 1 {
			t.Errorf("%v prints the warning %d times:\n%s", command, n, got.stderr)
		}
	}
	edit(t, dir, "view.yaml", "markdowns:", "markdown:")
	for _, command := range [][]string{{"fn", "render", "--allow-exec"}, {"fn", "eval", "--exec", "fn", "--", "mode=Expand"}} {
		got := kpt(t, dir, command...)
		if n := strings.Count(got.stdout+got.stderr, "did you mean"); !got.failed || n != 1 {
			t.Errorf("%v prints the error %d times:\n%s", command, n, got.stderr)
		}
	}
}

// git runs git in dir.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-C", dir}, args...)...)
	got := resultOf(t, cmd)
	if got.failed {
		t.Fatalf("%s\n%s", cmd, got.stderr)
	}
	return got.stdout
}

// Upstreams may publish packages that are rendered already, and such that aren't.
func TestKptUpdateBetweenRenders(t *testing.T) {
	up := filepath.Join(t.TempDir(), "up.git")
	published := filepath.Join(up, "book")
	writeFiles(t, published, map[string]string{"Kptfile": kptfileOf("book"), "view.yaml": bookView("a", "docs", "# A"), "pages/view.yaml": bookView("b", "", "# B")})
	commit := func(tag string) {
		git(t, up, "add", "--all")
		git(t, up, "commit", "--quiet", "--message", tag)
		git(t, up, "tag", tag)
	}
	git(t, filepath.Dir(up), "init", "--quiet", "--initial-branch", "main", up)
	commit("plain")
	kptRender(t, published)
	commit("rendered")
	edit(t, published, "view.yaml", "# A", "# A2")
	kptRender(t, published)
	commit("changed")

	for name, test := range map[string]struct {
		from, to string
	}{
		"a package that is rendered now": {from: "plain", to: "rendered"},
		"a rendered package":             {from: "rendered", to: "changed"},
	} {
		t.Run(name, func(t *testing.T) {
			work := t.TempDir()
			git(t, work, "init", "--quiet", "--initial-branch", "main")
			if got := kpt(t, work, "pkg", "get", "file://"+up+"/book@"+test.from, "book"); got.failed {
				t.Fatal(got.stderr)
			}
			book := filepath.Join(work, "book")
			save := func() {
				git(t, work, "add", "--all")
				git(t, work, "commit", "--quiet", "--allow-empty", "--message", "save")
			}
			kptRender(t, book)
			save()
			if got := kpt(t, work, "pkg", "update", "book@"+test.to); got.failed {
				t.Fatal(got.stderr)
			}
			save()
			if identified := textOf(t, book, "deployment_viewer-a.yaml"); !strings.Contains(identified, "internal.kpt.dev/upstream-identifier: 'apps|Deployment|docs|viewer-a'") {
				t.Fatalf("kpt writes no identifier:\n%s", identified)
			}
			kptRender(t, book)
			if diff := git(t, work, "diff"); diff != "" {
				t.Errorf("the render after the update changes:\n%s", diff)
			}
		})
	}
}

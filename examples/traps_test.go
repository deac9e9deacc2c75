package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests in this file hold what docs/function.md says about kustomize itself.

func TestKustomizeNeedsBothFlags(t *testing.T) {
	const noExec, noPlugins = "--enable-alpha-plugins", "--enable-exec"
	for name, test := range map[string]struct {
		example, flag string
		// names are the objects that are printed, stderr what is said.
		names  []string
		stderr string
	}{
		"without --enable-exec a generator is skipped without a word": {example: "inline", flag: noExec},
		"without --enable-exec a transformer is skipped without a word, and its view printed as it is": {
			example: "configmap", flag: noExec, names: []string{"MarkdownView support/faq"},
		},
		"without --enable-exec nothing is checked": {
			example: "validate/bad", flag: noExec, names: []string{"MarkdownView docs/faq", "MarkdownView docs/guide"},
		},
		"without --enable-alpha-plugins a build with a generator fails": {
			example: "inline", flag: noPlugins,
			stderr: "Error: loading generator plugins: failed to load generator: external plugins disabled; unable to load external plugin 'MarkdownView'\n",
		},
		"without --enable-alpha-plugins a build with a transformer fails": {
			example: "configmap", flag: noPlugins,
			stderr: "Error: external plugins disabled; unable to load external plugin 'MarkdownViewTransformer'\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			example, below, _ := strings.Cut(test.example, "/")
			got := build(t, filepath.Join(copyOf(t, example), below), ".", test.flag)
			if got.failed != (test.stderr != "") || got.stderr != test.stderr {
				t.Errorf("failed: %t, and says:\n%s", got.failed, got.stderr)
			}
			if diff := cmp.Diff(test.names, parse(t, got.stdout).names); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKustomizeValidatorsRefuseTheFunction(t *testing.T) {
	dir := copyOf(t, "validate")
	edit(t, dir, "kustomization.yaml", "transformers:", "validators:")
	got := build(t, dir, ".")
	if !got.failed || !strings.Contains(got.stderr, "validator shouldn't modify the resource map") {
		t.Errorf("failed: %t, and says:\n%s", got.failed, got.stderr)
	}
}

func TestAViewAmongTransformersExpandsOnlyItself(t *testing.T) {
	dir := copyOf(t, "configmap")
	const book = "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata:\n  name: book\n" +
		"  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: fn}\nspec:\n  markdowns:\n    SUMMARY.md: '- [A](a.md)'\n    a.md: ''\n"
	if err := os.WriteFile(filepath.Join(dir, "book.yaml"), []byte(book), 0o666); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, "kustomization.yaml", "transformers:", "transformers:\n- book.yaml")
	const said = "MarkdownView support/faq: isn't expanded by MarkdownView book, which expands only itself: list that one under generators; " +
		"and for this one, unless a MarkdownViewTransformer comes later, list one under transformers\n"
	got := build(t, dir, ".")
	if got.failed || !strings.Contains(got.stderr, said) || !strings.Contains(got.stdout, "viewer-faq") {
		t.Errorf("failed: %t, and says:\n%s", got.failed, got.stderr)
	}
	edit(t, dir, "kustomization.yaml", "transformers:\n- book.yaml", "generators:\n- book.yaml\ntransformers:")
	if got := build(t, dir, "."); got.failed || strings.Contains(got.stderr, "expands only itself") {
		t.Errorf("failed: %t, and says:\n%s", got.failed, got.stderr)
	}
}

func TestAPrefixBesideATransformerRenamesTheView(t *testing.T) {
	dir := copyOf(t, "configmap")
	edit(t, dir, "kustomization.yaml", "namespace: support", "namePrefix: dev-")
	want := []string{"ConfigMap /markdowns-dev-faq", "Service /viewer-dev-faq", "Deployment /viewer-dev-faq"}
	if diff := cmp.Diff(want, parse(t, buildAlike(t, dir)).names); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestASourceWithoutLocalConfigIsPrinted(t *testing.T) {
	dir := copyOf(t, "configmap")
	edit(t, dir, "kustomization.yaml", `config.kubernetes.io/local-config: "true"`, `example.com/kept: "true"`)
	names := parse(t, buildAlike(t, dir)).names
	if !strings.HasPrefix(names[0], "ConfigMap support/faq-pages-") {
		t.Errorf("the generated ConfigMap isn't the first of %q", names)
	}
}

func TestWhatWasRenderedCanNotBeAResourceToo(t *testing.T) {
	dir := copyOf(t, "inline")
	rendered := filepath.Join(dir, "rendered.yaml")
	if err := os.WriteFile(rendered, []byte(buildAlike(t, dir)), 0o644); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, "kustomization.yaml", "generators:", "resources:\n- rendered.yaml\ngenerators:")
	got := build(t, dir, ".")
	if !got.failed || !strings.Contains(got.stderr, "exists; can not use behavior: 'unspecified'") {
		t.Errorf("failed: %t, and says:\n%s", got.failed, got.stderr)
	}
}

func TestTwoViewsOfOneNameAreRefusedByKustomize(t *testing.T) {
	both := files{"a.yaml": inlineGenerator("a"), "b.yaml": inlineGenerator("b")}
	for name, test := range map[string]struct{ kustomization, want string }{
		"both resources":             {"resources: [a.yaml, b.yaml]\n" + expanding, "may not add resource with an already registered id: MarkdownView"},
		"both generators":            {"generators: [a.yaml, b.yaml]\n", "may not add resource with an already registered id: MarkdownView"},
		"a resource and a generator": {"resources: [a.yaml]\ngenerators: [b.yaml]\n", "exists; can not use behavior: 'unspecified'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := build(t, both.with(kustomization(test.kustomization)).write(t), ".")
			if !got.failed || !strings.Contains(got.stderr, test.want) {
				t.Errorf("failed: %t; %q isn't in:\n%s", got.failed, test.want, got.stderr)
			}
		})
	}
}

// What a build prints without a word, though its author meant something else.
func TestKustomizeIgnoresWhatComesTooLate(t *testing.T) {
	base := files{"base/view.yaml": inlineView("hb", "as it was $(HOST)"), "base/kustomization.yaml": "resources: [view.yaml]\n" + expanding}
	const patchOfPage = `patches: [{target: {kind: %s}, patch: '[{"op": "replace", "path": "/%s/a.md", "value": "patched"}]'}]` + "\n"
	for name, test := range map[string]struct {
		files files
		want  string
	}{
		"a patch of the view above its transformer": {
			files: base.with(kustomization("resources: [base]\n" + fmt.Sprintf(patchOfPage, "MarkdownView", "spec/markdowns"))),
			want:  "as it was $(HOST)",
		},
		"a patch of the view beside its transformer is in time": {
			files: files{"view.yaml": inlineView("hb", "as it was")}.with(kustomization("resources: [view.yaml]\n" + fmt.Sprintf(patchOfPage, "MarkdownView", "spec/markdowns") + expanding)),
			want:  "patched",
		},
		"a replacement beside the transformer is in time": {
			files: files{"view.yaml": inlineView("hb", "as it was"), "c.yaml": configMap("c", "replaced", "")}.with(kustomization("resources: [view.yaml, c.yaml]\n" +
				"replacements: [{source: {kind: ConfigMap, name: c, fieldPath: 'data.[a.md]'}, targets: [{select: {kind: MarkdownView}, fieldPaths: ['spec.markdowns.[a.md]']}]}]\n" + expanding)),
			want: "replaced",
		},
		"vars": {
			files: base.with(files{"config.yaml": "varReference: [{path: spec/markdowns, kind: MarkdownView}]\n"}).
				with(kustomization("resources: [base]\nconfigurations: [config.yaml]\nvars: [{name: HOST, objref: {kind: Service, name: viewer-hb, apiVersion: v1}}]\n")),
			want: "as it was $(HOST)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := build(t, test.files.write(t), ".")
			if diff := cmp.Diff(map[string]string{"/viewer-hb": test.want}, pagesOfBooks(t, got.stdout, "a.md")); diff != "" {
				t.Errorf("pages (-want +got):\n%s\n%s", diff, got.stderr)
			}
		})
	}
}

func TestAPageThatIsAddedToAGeneratedConfigMapIsNotInTheBook(t *testing.T) {
	arrangement := files{"base/view.yaml": inlineGenerator("page")}.with(kustomization("generators: [view.yaml]\n").below("base")).
		with(kustomization("resources: [base]\nconfigMapGenerator: [{name: markdowns-hb, behavior: merge, literals: [new.md=new]}]\n"))
	objects := parse(t, buildQuietly(t, arrangement.write(t)))
	if got := objects.configMaps["/markdowns-hb"].Data["new.md"]; got != "new" {
		t.Errorf("the ConfigMap holds %q", got)
	}
	if got, ok := objects.book(t, objects.deployments[0])["/book/src/new.md"]; ok {
		t.Errorf("the book has the page %q", got)
	}
}

func TestKustomizeCanNotTellNamesakesApartBelowOnePrefix(t *testing.T) {
	arrangement := files{"one/view.yaml": inlineGenerator("one"), "two/view.yaml": inlineGenerator("two")}.
		with(kustomization("generators: [view.yaml]\nnamePrefix: a-\n").below("one")).
		with(kustomization("generators: [view.yaml]\n").below("two")).
		with(kustomization(both + "namePrefix: top-\n"))
	got := build(t, arrangement.write(t), ".")
	if !got.failed || !strings.Contains(got.stderr, "found multiple possible referrals") {
		t.Errorf("failed: %t, and says:\n%s", got.failed, got.stderr)
	}
}

// Its copy is written, though: what fails is that it builds without flags.
func TestKustomizeLocalizeNeedsNoVerifyAndLeavesFoldersBehind(t *testing.T) {
	localize := func(flags ...string) (result, string) {
		to := filepath.Join(t.TempDir(), "copy")
		cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "kustomize"), append([]string{"localize", ".", to}, flags...)...)
		cmd.Dir = copyOf(t, "project")
		return resultOf(t, cmd), to
	}
	if got, _ := localize(); !got.failed || !strings.Contains(got.stderr, "external plugins disabled") {
		t.Errorf("failed: %t, and says:\n%s", got.failed, got.stderr)
	}
	got, to := localize("--no-verify")
	if got.failed {
		t.Fatal(got.stderr)
	}
	if got := build(t, to, "."); !got.failed || !strings.Contains(got.stderr, "./book: no such folder in the working directory") {
		t.Errorf("the copy's build failed: %t, and says:\n%s", got.failed, got.stderr)
	}
	if err := os.CopyFS(filepath.Join(to, "book"), os.DirFS("project/book")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(textOf(t, "testdata", "project.yaml"), buildQuietly(t, to)); diff != "" {
		t.Errorf("with its folder the copy builds something else (-want +got):\n%s", diff)
	}
}

// edit replaces a part of a file.
func edit(t *testing.T, dir, name, from, to string) {
	t.Helper()
	text := textOf(t, dir, name)
	if !strings.Contains(text, from) {
		t.Fatalf("%s doesn't hold %q", name, from)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, from, to)), 0o644); err != nil {
		t.Fatal(err)
	}
}

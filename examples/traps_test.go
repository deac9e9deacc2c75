package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests in this file hold what docs/function.md says about kustomize itself.

func TestKustomizeNeedsBothFlags(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		want  result
	}{
		"without --enable-exec the function is skipped without a word": {
			flags: []string{"--enable-alpha-plugins"},
		},
		"without --enable-alpha-plugins the build fails": {
			flags: []string{"--enable-exec"},
			want: result{failed: true, stderr: "Error: loading generator plugins: failed to load generator: external plugins disabled; " +
				"unable to load external plugin 'MarkdownView'\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := build(t, copyOf(t, "inline"), ".", test.flags...)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("kustomize build (-want +got):\n%s", diff)
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

package function

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func smallView(name, namespace string) string {
	return "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: {markdowns: {SUMMARY.md: '- [A](a.md)', a.md: ''}}\n"
}

func writeFiles(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInKptObjectsAreBesideTheirView(t *testing.T) {
	folder := t.TempDir()
	writeFiles(t, folder, map[string]string{"a/b/view.yaml": smallView("x", "docs"), "a/b/other.yaml": smallView("x", "other"), "view.yaml": smallView("z", "docs")})
	render(t, folder)
	first := readFolder(t, folder)
	want := []string{
		"a/b/configmap_markdowns-x.yaml", "a/b/deployment_viewer-x.yaml", "a/b/other.yaml", "a/b/service_viewer-x.yaml", "a/b/view.yaml",
		"configmap_markdowns-z.yaml", "deployment_viewer-z.yaml", "service_viewer-z.yaml", "view.yaml",
	}
	if diff := cmp.Diff(want, sortedKeys(first)); diff != "" {
		t.Fatalf("files: %s", diff)
	}
	if got := strings.Count(first["a/b/service_viewer-x.yaml"], "kind: Service\n"); got != 2 {
		t.Errorf("%d Services are in the file for both", got)
	}
	render(t, folder)
	if diff := cmp.Diff(first, readFolder(t, folder)); diff != "" {
		t.Errorf("another run changes files: %s", diff)
	}
}

func TestInKptWhatHasNoViewIsRemovedFromWhereItWasPut(t *testing.T) {
	folder := t.TempDir()
	foreign := "apiVersion: v1\nkind: Service\nmetadata:\n  name: viewer-foreign\n  labels: {app.kubernetes.io/name: mdbook, app.kubernetes.io/instance: foreign, app.kubernetes.io/created-by: someone}\n"
	other := "apiVersion: v1\nkind: Service\nmetadata:\n  name: dev-viewer-x\n  labels: {app.kubernetes.io/name: mdbook, app.kubernetes.io/instance: gone, app.kubernetes.io/created-by: markdown-view-controller}\n"
	writeFiles(t, folder, map[string]string{"x.yaml": smallView("x", "docs"), "z.yaml": smallView("z", "docs"), "service_viewer-foreign.yaml": foreign, "service_dev-viewer-x.yaml": other})
	render(t, folder)
	if err := os.Rename(filepath.Join(folder, "deployment_viewer-x.yaml"), filepath.Join(folder, "apps.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, "x.yaml")); err != nil {
		t.Fatal(err)
	}
	render(t, folder)
	want := []string{
		"apps.yaml", "configmap_markdowns-z.yaml", "deployment_viewer-z.yaml", "service_dev-viewer-x.yaml", "service_viewer-foreign.yaml", "service_viewer-z.yaml", "z.yaml",
	}
	if diff := cmp.Diff(want, sortedKeys(readFolder(t, folder))); diff != "" {
		t.Errorf("files: %s", diff)
	}
}

const orphan = `- apiVersion: v1
  kind: Service
  metadata:
    name: viewer-gone
    labels: {app.kubernetes.io/name: mdbook, app.kubernetes.io/instance: gone, app.kubernetes.io/created-by: markdown-view-controller}
    annotations:
      config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/index: '0'
      config.k8s.io/id: '1'
      internal.config.kubernetes.io/id: '1'
`

// In kustomize, a base may have been rendered elsewhere.
func TestOnlyKptsOrphansAreRemoved(t *testing.T) {
	const transformer = "functionConfig: {apiVersion: view.zoetrope.github.io/v1, kind: MarkdownViewTransformer, metadata: {name: a}}\n"
	head := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
	view := "- " + strings.ReplaceAll(strings.TrimSpace(smallView("x", "docs")), "\n", "\n  ") + "\n"
	inKpt := strings.ReplaceAll(orphan, "    annotations:\n", "    annotations:\n      internal.config.kubernetes.io/package-path: /p\n      internal.config.kubernetes.io/path: service_viewer-gone.yaml\n")
	for name, test := range map[string]struct {
		orphan, want string
	}{
		"in kustomize": {orphan, "viewer-gone"},
		"in kpt":       {inKpt, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := runIn(t, t.TempDir(), head+test.orphan+view+transformer)
			if got.err != nil || got.errOut != "" {
				t.Fatalf("%v %s", got.err, got.errOut)
			}
			if strings.Contains(got.out, "name: viewer-gone") != (test.want != "") {
				t.Errorf("it makes of it:\n%s", got.out)
			}
		})
	}
}

func TestMessagesAreLeftToWhoShowsResults(t *testing.T) {
	view := func(annotations string) string {
		return "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: view.zoetrope.github.io/v1\n  kind: MarkdownView\n  metadata:\n    name: a\n    annotations: {" + annotations +
			"}\n  spec: {markdown: {}}\nfunctionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
	}
	for name, test := range map[string]struct {
		annotations string
		printed     bool
	}{
		"kustomize":               {"config.kubernetes.io/index: '0', internal.config.kubernetes.io/id: '1', config.k8s.io/id: '1'", true},
		"kpt fn render":           {"internal.config.kubernetes.io/package-path: /p, internal.config.kubernetes.io/path: a.yaml, internal.config.kubernetes.io/id: '1'", false},
		"kpt fn eval":             {"internal.config.kubernetes.io/seqindent: compact, internal.config.kubernetes.io/path: a.yaml, internal.config.kubernetes.io/id: '1'", false},
		"kpt fn source | fn":      {"internal.config.kubernetes.io/seqindent: compact, internal.config.kubernetes.io/path: a.yaml", true},
		"a ResourceList of one's": {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			got := runIn(t, t.TempDir(), view(test.annotations))
			if !IsFault(got.err) || !strings.Contains(got.out, "unknown field") {
				t.Fatalf("%v\n%s", got.err, got.out)
			}
			if (got.errOut != "") != test.printed {
				t.Errorf("on standard error is %q", got.errOut)
			}
		})
	}
}

// kpt tells by them what belongs together when it updates a package.
func TestAnnotationsOfKptSurvive(t *testing.T) {
	folder := t.TempDir()
	writeFiles(t, folder, map[string]string{"view.yaml": smallView("x", `""`)})
	render(t, folder)
	const annotations = "  annotations:\n    cli-utils.sigs.k8s.io/on-remove: keep\n    client.lifecycle.config.k8s.io/deletion: detach\n    config.kubernetes.io/depends-on: 'apps/namespaces/a/Deployment/a'\n" +
		"    internal.kpt.dev/upstream-identifier: 'apps|Deployment|docs|viewer-x'\n    kpt.dev/a: \"b\"\n"
	file := filepath.Join(folder, "deployment_viewer-x.yaml")
	before := readFolder(t, folder)["deployment_viewer-x.yaml"]
	annotated := strings.Replace(before, "spec:\n", annotations+"spec:\n", 1)
	mine := strings.Replace(annotated, "kpt.dev/a", "example.com/mine: a\n    kpt.dev/a", 1)
	if err := os.WriteFile(file, []byte(mine), 0o644); err != nil {
		t.Fatal(err)
	}
	render(t, folder)
	if diff := cmp.Diff(annotated, readFolder(t, folder)["deployment_viewer-x.yaml"]); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}

// What a view tells tools by commonMetadata and patches follows the view; what people tell
// them on an object stays.
func TestDirectivesOfTheViewFollowIt(t *testing.T) {
	const view = "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: x}\nspec:\n  markdowns: {SUMMARY.md: '- [A](a.md)', a.md: ''}\n"
	common := func(annotation string) string { return "  commonMetadata: {annotations: {" + annotation + "}}\n" }
	const patch = "  patches: [{target: {kind: Service}, patch: '[{\"op\": \"add\", \"path\": \"/metadata/annotations\", \"value\": {\"cli-utils.sigs.k8s.io/on-remove\": \"keep\"}}]'}]\n"
	tests := map[string]struct {
		fields []string // of one render after the other
		want   string   // of the Service's annotations in the end
	}{
		"a value that is changed":      {[]string{common("kpt.dev/a: b"), common("kpt.dev/a: c")}, "kpt.dev/a: c, kpt.dev/mine: \"d\", view.zoetrope.github.io/directives: kpt.dev/a"},
		"an annotation that is gone":   {[]string{common("kpt.dev/a: b"), ""}, "kpt.dev/mine: \"d\""},
		"one of two":                   {[]string{common("kpt.dev/a: b, kpt.dev/b: c"), common("kpt.dev/b: c")}, "kpt.dev/b: c, kpt.dev/mine: \"d\", view.zoetrope.github.io/directives: kpt.dev/b"},
		"a patch that is gone":         {[]string{patch, ""}, "kpt.dev/mine: \"d\""},
		"one that somebody put, too":   {[]string{"", common("kpt.dev/mine: b")}, "kpt.dev/mine: b, view.zoetrope.github.io/directives: kpt.dev/mine"},
		"one of no tool that is gone":  {[]string{common("example.com/a: b"), ""}, "kpt.dev/mine: \"d\""},
		"a view that says none at all": {[]string{"", ""}, "kpt.dev/mine: \"d\""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			file := filepath.Join(folder, "service_viewer-x.yaml")
			for i, fields := range test.fields {
				writeFiles(t, folder, map[string]string{"view.yaml": view + fields})
				render(t, folder)
				if i == 0 { // somebody says something of the Service
					text := readFolder(t, folder)["service_viewer-x.yaml"]
					if !strings.Contains(text, "  annotations:\n") {
						text = strings.Replace(text, "metadata:\n", "metadata:\n  annotations:\n", 1)
					}
					text = strings.Replace(text, "  annotations:\n", "  annotations:\n    kpt.dev/mine: \"d\"\n", 1)
					if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			_, rest, _ := strings.Cut(readFolder(t, folder)["service_viewer-x.yaml"], "  annotations:\n    ")
			rest, _, _ = strings.Cut(rest, "\nspec:\n")
			if diff := cmp.Diff(test.want, strings.ReplaceAll(rest, "\n    ", ", ")); diff != "" {
				t.Errorf("the Service's annotations (-want +got):\n%s", diff)
			}
		})
	}
}

package generator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// An apply says what it owns: a zero value that nobody meant would take the field
// from its owner.
func TestOnlyFieldsThatAreMeant(t *testing.T) {
	outputs := map[string]*Output{
		"flat":    mustGenerate(t, tutorialView()),
		"project": mustGenerate(t, newView("a", withPages(map[string]string{"a/b.md": "", "c.png": "\x00"}))),
		"sharded": mustGenerate(t, newView("a", largeBook(3))),
	}
	for name, output := range outputs {
		for _, object := range unstructured(t, output) {
			kind := fmt.Sprintf("%s: %v", name, object["kind"])
			if _, ok := object["status"]; ok {
				t.Errorf("%s has a status", kind)
			}
			walkZeroes(kind, object, func(path string) {
				switch {
				case strings.HasSuffix(path, ".emptyDir"),
					strings.HasSuffix(path, ".maxUnavailable"),
					strings.HasSuffix(path, ".revisionHistoryLimit"),
					strings.Contains(path, ".data."),
					strings.HasSuffix(path, ".automountServiceAccountToken"),
					strings.HasSuffix(path, ".enableServiceLinks"),
					strings.HasSuffix(path, ".allowPrivilegeEscalation"):
				default:
					t.Errorf("%s is a zero value", path)
				}
			})
		}
	}
}

func walkZeroes(path string, value any, found func(path string)) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			found(path)
		}
		for key, v := range value {
			walkZeroes(path+"."+key, v, found)
		}
	case []any:
		if len(value) == 0 {
			found(path)
		}
		for i, v := range value {
			walkZeroes(fmt.Sprintf("%s[%d]", path, i), v, found)
		}
	case nil:
		found(path)
	case string:
		if value == "" {
			found(path)
		}
	case bool:
		if !value {
			found(path)
		}
	case int64:
		if value == 0 {
			found(path)
		}
	}
}

func TestNothingOfTheViewLeaks(t *testing.T) {
	plain := tutorialView()
	marked := tutorialView()
	marked.Labels = map[string]string{"team": "docs", "app.kubernetes.io/name": "other", "kustomize.toolkit.fluxcd.io/name": "apps"}
	marked.Annotations = map[string]string{
		"config.kubernetes.io/local-config":                "true",
		"internal.config.kubernetes.io/path":               "a.yaml",
		"kubectl.kubernetes.io/last-applied-configuration": "{}",
		"note": "mine",
	}
	marked.UID = "1234"
	marked.ResourceVersion = "7"
	marked.Finalizers = []string{"a/b"}
	if diff := cmp.Diff(string(manifest(t, mustGenerate(t, plain))), string(manifest(t, mustGenerate(t, marked)))); diff != "" {
		t.Error(diff)
	}
}

func TestInputIsNotChanged(t *testing.T) {
	view := newView("a", map[string]string{"a.md": "inline"})
	view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
	content := fromFolder(withPages(map[string]string{"a.md": "", "b/c.png": "\x00"}), map[string]string{"theme/x.css": "x"}, "[book]\n")
	viewBefore, contentBefore := view.DeepCopy(), fromFolder(withPages(map[string]string{"a.md": "", "b/c.png": "\x00"}), map[string]string{"theme/x.css": "x"}, "[book]\n")

	output := mustGenerate(t, view, content)
	output.Deployment.Spec.WithReplicas(7)
	output.Service.Spec.Selector["a"] = "b"
	clear(output.ConfigMaps[0].Data)

	if diff := cmp.Diff(viewBefore, view); diff != "" {
		t.Errorf("view: %s", diff)
	}
	if diff := cmp.Diff(contentBefore, content); diff != "" {
		t.Errorf("content: %s", diff)
	}
	if diff := cmp.Diff(Labels("a"), output.Deployment.Labels); diff != "" {
		t.Errorf("objects share a map: %s", diff)
	}
}

// Go's maps have another order each time.
func TestSameInputSameBytes(t *testing.T) {
	pages := largeBook(2)
	for i := range 50 {
		pages[fmt.Sprintf("p%d/ü.png", i)] = "\x00"
	}
	want := mustGenerate(t, newView("a", pages)).Objects()
	for range 10 {
		if diff := cmp.Diff(want, mustGenerate(t, newView("a", maps.Clone(pages))).Objects()); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestLaterContentWins(t *testing.T) {
	view := newView("a", map[string]string{"inline.md": "inline"})
	view.Spec.ContentFrom = make([]v1.ContentSource, 2)
	for i := range view.Spec.ContentFrom {
		view.Spec.ContentFrom[i].Directory = &v1.DirectorySource{Path: "docs"}
	}
	first := fromFolder(
		withPages(map[string]string{"inline.md": "first", "both.md": "first", "only.md": "first"}),
		map[string]string{"theme/a.css": "first", "theme/b.css": "first"}, "[book]\ntitle = 'first'\n")
	second := fromFolder(map[string]string{"inline.md": "second", "both.md": "second"},
		map[string]string{"theme/a.css": "second"}, "[book]\ntitle = 'second'\n")
	third := fromFolder(map[string]string{}, nil, "")

	data := mustGenerate(t, view, first, second, third).ConfigMaps[0].Data
	delete(data, "SUMMARY.md")
	maps.DeleteFunc(data, func(key, _ string) bool { return strings.HasPrefix(key, ".revision-") })
	want := map[string]string{
		"inline.md": "inline", "both.md": "second", "only.md": "first",
		"_root.theme__a.css": "second", "_root.theme__b.css": "first",
		"_root.book.toml": "[book]\ntitle = 'second'\n",
	}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Error(diff)
	}

	view.Spec.BookToml = "[book]\ntitle = 'inline'\n"
	data = mustGenerate(t, view, first, second).ConfigMaps[0].Data
	if diff := cmp.Diff(view.Spec.BookToml, data["_root.book.toml"]); diff != "" {
		t.Errorf("the view's own bookToml doesn't win: %s", diff)
	}
}

func TestReplicasAndImage(t *testing.T) {
	zero := int32(0)
	tests := map[string]struct {
		replicas     *int32
		image        string
		wantReplicas int32
		wantImage    string
	}{
		"nothing is said":  {nil, "", 1, DefaultViewerImage},
		"zero parks":       {&zero, "", 0, DefaultViewerImage},
		"an image is kept": {nil, "example.com/mdbook@sha256:0", 1, "example.com/mdbook@sha256:0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := tutorialView()
			view.Spec.Replicas, view.Spec.ViewerImage = test.replicas, test.image
			deployment := as[appsv1.Deployment](t, mustGenerate(t, view).Deployment)
			if got := *deployment.Spec.Replicas; got != test.wantReplicas {
				t.Errorf("replicas = %d, want %d", got, test.wantReplicas)
			}
			if diff := cmp.Diff(test.wantImage, deployment.Spec.Template.Spec.Containers[0].Image); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBytesAreKept(t *testing.T) {
	pages := map[string]string{
		"bom.md": "\ufeff# A", "crlf.md": "a\r\nb  \r\n", "cr.md": "a\rb", "spaces.md": "a  \n\tb \n\n\n", "empty.md": "",
		"emoji.md": "👩‍👩‍👧 \u2028\ufeff\U0001ffff", "c1.md": "It\u0092s", "nel.md": "a\u0085b", "fffe.md": "\ufffe", "ffff.md": "\uffff", "nul.txt": "a\x00b", "escape.md": "\x1b[1m", "delete.md": "\x7f", "png": "\x89PNG\r\n\x1a\n\xff",
	}
	configMap := as[corev1.ConfigMap](t, mustGenerate(t, newView("a", withPages(pages))).ConfigMaps[0])
	got := configMap.BinaryData
	var binary []string
	for key := range got {
		binary = append(binary, key)
	}
	slices.Sort(binary)
	if diff := cmp.Diff([]string{"c1.md", "delete.md", "escape.md", "fffe.md", "ffff.md", "nel.md", "nul.txt", "png"}, binary); diff != "" {
		t.Errorf("binaryData: %s", diff)
	}
	for key, text := range configMap.Data {
		got[key] = []byte(text)
	}
	for p, want := range pages {
		if diff := cmp.Diff(want, string(got[p])); diff != "" {
			t.Errorf("%s: %s", p, diff)
		}
	}
}

package examples

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/zoetrope/markdown-view/internal/schematest"
)

// inline stands for a page whose text is in the view, not in a file.
const inline = ""

// handbook is the book of the example folder: path in the viewer's container →
// file of the example.
var handbook = map[string]string{
	"/book/src/SUMMARY.md":            "base/pages/SUMMARY.md",
	"/book/src/welcome.md":            "base/pages/welcome.md",
	"/book/src/glossary.md":           "base/pages/glossary.md",
	"/book/src/images/escalation.png": "base/pages/images/escalation.png",
	"/book/src/on-call/rules.md":      "base/pages/on-call/rules.md",
	"/book/src/on-call/escalation.md": "base/pages/on-call/escalation.md",
	"/book/src/on-call/障害対応.md":       "base/pages/on-call/障害対応.md",
}

var builds = map[string]struct {
	// kustomization is a folder of examples; the part of it before the first slash
	// is what a reader copies.
	kustomization string
	// names of the objects that are printed.
	names []string
	// book is what the viewer finds, and nothing else.
	book map[string]string
	// image and replicas of the Deployment.
	image    string
	replicas int32
}{
	"pages in the view": {
		kustomization: "inline",
		names:         []string{"ConfigMap /markdowns-hello", "Service /viewer-hello", "Deployment /viewer-hello"},
		book:          map[string]string{"/book/src/SUMMARY.md": inline, "/book/src/hello.md": inline, "/book/src/next.md": inline},
		image:         "peaceiris/mdbook:v0.5.4", replicas: 1,
	},
	"a folder of pages, the base alone": {
		kustomization: "folder/base",
		names:         []string{"ConfigMap /markdowns-handbook", "Service /viewer-handbook", "Deployment /viewer-handbook"},
		book:          handbook,
		image:         "peaceiris/mdbook:v0.5.4", replicas: 1,
	},
	"a folder of pages, with a prefix, a namespace, labels and another image tag": {
		kustomization: "folder/overlays/staging",
		names: []string{"ConfigMap docs-staging/staging-markdowns-handbook", "Service docs-staging/staging-viewer-handbook",
			"Deployment docs-staging/staging-viewer-handbook"},
		book:  handbook,
		image: "peaceiris/mdbook:v0.5.3", replicas: 1,
	},
	"a folder of pages, with a patch of the replicas and the image's mirror": {
		kustomization: "folder/overlays/production",
		names:         []string{"ConfigMap docs/markdowns-handbook", "Service docs/viewer-handbook", "Deployment docs/viewer-handbook"},
		book:          handbook,
		image:         "registry.example.com/mirror/mdbook:v0.5.4", replicas: 3,
	},
	"a generated ConfigMap and the transformer": {
		kustomization: "configmap",
		names:         []string{"ConfigMap support/markdowns-faq", "Service support/viewer-faq", "Deployment support/viewer-faq"},
		book: map[string]string{
			"/book/book.toml":       inline,
			"/book/src/SUMMARY.md":  "pages/SUMMARY.md",
			"/book/src/accounts.md": "pages/accounts.md",
			"/book/src/billing.md":  "pages/billing.md",
			"/book/src/about.md":    inline,
		},
		image: "peaceiris/mdbook:v0.5.4", replicas: 2,
	},
	"a whole mdBook project": {
		kustomization: "project",
		names:         []string{"ConfigMap docs/markdowns-manual", "Service docs/viewer-manual", "Deployment docs/viewer-manual"},
		book: map[string]string{
			"/book/book.toml":            "book/book.toml",
			"/book/samples/limits.yaml":  "book/samples/limits.yaml",
			"/book/src/SUMMARY.md":       "book/src/SUMMARY.md",
			"/book/src/configuration.md": "book/src/configuration.md",
			"/book/src/overview.md":      "book/src/overview.md",
			"/book/theme/head.hbs":       "book/theme/head.hbs",
			"/book/theme/manual.css":     "book/theme/manual.css",
		},
		image: "peaceiris/mdbook:v0.5.4", replicas: 1,
	},
	"a view for the controller, with kustomize's own transformers": {
		kustomization: "controller",
		names:         []string{"ConfigMap operations/db-runbook-pages-fhg47gh27k", "MarkdownView operations/db-runbook"},
	},
	"a view that is checked and passed on": {
		kustomization: "validate",
		names:         []string{"MarkdownView docs/guide"},
	},
}

func TestKustomizeBuild(t *testing.T) {
	for name, test := range builds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			example, below, _ := strings.Cut(test.kustomization, "/")
			dir := copyOf(t, example)
			output := buildAlike(t, filepath.Join(dir, below))

			golden(t, strings.ReplaceAll(test.kustomization, "/", "-")+".yaml", output)
			if err := schematest.Validate([]byte(output)); err != nil {
				t.Errorf("the output isn't valid: %v", err)
			}
			objects := parse(t, output)
			if diff := cmp.Diff(test.names, objects.names); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if test.book == nil {
				return
			}
			deployment, service := objects.deployments[0], objects.services[0]
			if diff := cmp.Diff(read(t, dir, test.book, objects.book(t, deployment)), objects.book(t, deployment)); diff != "" {
				t.Errorf("the book in the viewer's container (-want +got):\n%s", diff)
			}
			if got := deployment.Spec.Template.Spec.Containers[0].Image; got != test.image {
				t.Errorf("image %s, want %s", got, test.image)
			}
			if got := *deployment.Spec.Replicas; got != test.replicas {
				t.Errorf("%d replicas, want %d", got, test.replicas)
			}
			pod := deployment.Spec.Template.Labels
			if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod)) {
				t.Errorf("the Service's selector %v doesn't match the pods' labels %v", service.Spec.Selector, pod)
			}
		})
	}
}

// buildAlike builds a folder from inside, again, and from elsewhere by an absolute
// path, and returns what is printed each time.
func buildAlike(t *testing.T, dir string) string {
	t.Helper()
	first := build(t, dir, ".")
	if first.failed || first.stderr != "" {
		t.Fatalf("kustomize build failed: %t, and says:\n%s", first.failed, first.stderr)
	}
	for how, next := range map[string]result{
		"a second time":                  build(t, dir, "."),
		"from another working directory": build(t, t.TempDir(), dir),
	} {
		if diff := cmp.Diff(first, next, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("built %s (-first +then):\n%s", how, diff)
		}
	}
	return first.stdout
}

// read replaces the files' names in book by their content. The text of inline
// pages is taken from got: the golden file has it.
func read(t *testing.T, dir string, book, got map[string]string) map[string]string {
	t.Helper()
	contents := map[string]string{}
	for at, name := range book {
		if name == inline {
			contents[at] = got[at]
			continue
		}
		contents[at] = textOf(t, dir, name)
	}
	return contents
}

func TestBadViewsFailTheBuildAllAtOnce(t *testing.T) {
	got := build(t, copyOf(t, "validate"), "bad")
	if !got.failed || got.stdout != "" {
		t.Errorf("failed: %t, want true; printed %q, want nothing", got.failed, got.stdout)
	}
	for _, view := range []string{"docs/guide", "docs/faq"} {
		if !strings.Contains(got.stderr, "error: MarkdownView "+view) {
			t.Errorf("no error names %s in:\n%s", view, got.stderr)
		}
	}
}

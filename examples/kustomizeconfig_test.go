package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kustomizeconfig = "config/kustomizeconfig"

func TestTheExamplesKustomizeconfigIsTheProjects(t *testing.T) {
	got := textOf(t, ".", "controller/kustomizeconfig.yaml")
	if diff := cmp.Diff(textOf(t, repository, kustomizeconfig+"/markdownview.yaml"), got); diff != "" {
		t.Errorf("the copy differs (-%s +examples/controller):\n%s", kustomizeconfig, diff)
	}
}

// TestKustomizeconfigByKind builds a view by kustomize alone and looks for what each
// field of a kustomization has made of it.
func TestKustomizeconfigByKind(t *testing.T) {
	for name, test := range map[string]struct{ field, want string }{
		"an image's name":                      {"images: [{name: mdbook, newName: mirror/mdbook}]", "  viewerImage: mirror/mdbook:v1\n"},
		"an image's tag":                       {"images: [{name: mdbook, newTag: v2}]", "  viewerImage: mdbook:v2\n"},
		"an image's digest":                    {"images: [{name: mdbook, digest: 'sha256:12'}]", "  viewerImage: mdbook@sha256:12\n"},
		"the image of a static server":         {"images: [{name: nginx, newName: mirror/nginx}]", "    image: mirror/nginx:v1\n"},
		"another image is left alone":          {"images: [{name: other, newTag: v2}]", "  viewerImage: mdbook:v1\n"},
		"replicas, which the view doesn't say": {"replicas: [{name: runbook, count: 3}]", "  replicas: 3\n"},
		"a prefix of the ConfigMap's name":     {"namePrefix: db-", "      name: db-pages\n"},
		"a suffix of the ConfigMap's name":     {"nameSuffix: -db", "      name: pages-db\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "view.yaml", "{apiVersion: view.zoetrope.github.io/v1, kind: MarkdownView, metadata: {name: runbook}, spec: {viewerImage: 'mdbook:v1', staticServer: {image: 'nginx:v1'}, contentFrom: [{configMapRef: {name: pages}}]}}\n")
			write(t, dir, "pages.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: pages}}\n")
			if err := os.CopyFS(filepath.Join(dir, "shared"), os.DirFS(filepath.Join(repository, kustomizeconfig))); err != nil {
				t.Fatal(err)
			}
			write(t, dir, "kustomization.yaml", "resources: [view.yaml, pages.yaml]\n"+test.field+"\n")
			if plain := build(t, dir, ".", "--load-restrictor=LoadRestrictionsRootOnly"); strings.Contains(plain.stdout, test.want) && !strings.Contains(test.field, "other") {
				t.Errorf("kustomize does it without the configuration:\n%s", plain.stdout)
			}
			write(t, dir, "kustomization.yaml", "resources: [view.yaml, pages.yaml]\ncomponents: [shared]\n"+test.field+"\n")
			got := build(t, dir, ".", "--load-restrictor=LoadRestrictionsRootOnly")
			if got.failed || !strings.Contains(got.stdout, test.want) {
				t.Errorf("%q isn't in:\n%s%s", test.want, got.stdout, got.stderr)
			}
		})
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

package generator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestLayout(t *testing.T) {
	type mounted struct {
		mount, dir string            // where the volume is, and where mdBook runs
		build      string            // if not /build
		paths      map[string]string // path in the volume → key
	}
	tests := map[string]struct {
		pages, files map[string]string
		folders      []string
		toml, root   string
		want         mounted
	}{
		"flat Markdown is the source folder, as in the tutorial": {
			pages: map[string]string{"a.md": "", "日本.md": ""},
			want: mounted{mount: "/book/src", paths: map[string]string{
				"SUMMARY.md": "SUMMARY.md", "a.md": "a.md", "日本.md": "_xE6_x97_xA5_xE6_x9C_xAC.md", ".revision.md": ".revision",
			}},
		},
		"a folder makes the volume the root": {
			pages: map[string]string{"a/b.md": ""},
			want: mounted{mount: "/book", paths: map[string]string{
				"src/SUMMARY.md": "SUMMARY.md", "src/a/b.md": "a__b.md", ".revision": ".revision",
			}},
		},
		"so does a file that isn't Markdown": {
			pages: map[string]string{"a.md": "", "a.png": "\x00", ".md": ""},
			want: mounted{mount: "/book", paths: map[string]string{
				"src/SUMMARY.md": "SUMMARY.md", "src/a.md": "a.md", "src/a.png": "a.png", "src/.md": "_x2Emd", ".revision": ".revision",
			}},
		},
		"so does a page that would take the revision key's place": {
			pages: map[string]string{".revision.md": ""},
			want: mounted{mount: "/book", paths: map[string]string{
				"src/SUMMARY.md": "SUMMARY.md", "src/.revision.md": "_x2Erevision.md", ".revision": ".revision",
			}},
		},
		"book.toml says where the pages are": {
			pages: map[string]string{"a.md": ""},
			files: map[string]string{"theme/a.css": ""},
			toml:  "[book]\nsrc = 'docs/en'\n",
			want: mounted{mount: "/book", paths: map[string]string{
				"docs/en/SUMMARY.md": "SUMMARY.md", "docs/en/a.md": "a.md", "theme/a.css": "_root.theme__a.css",
				"book.toml": "_root.book.toml", ".revision": ".revision",
			}},
		},
		"pages that are in the root itself keep away from the mount": {
			pages: map[string]string{"a.md": ""},
			files: map[string]string{"theme/a.css": ""},
			toml:  "[book]\nsrc = '.'\n",
			want: mounted{mount: "/book", dir: "/book/book", paths: map[string]string{
				"book/SUMMARY.md": "SUMMARY.md", "book/a.md": "a.md", "book/theme/a.css": "_root.theme__a.css", "book/book.toml": "_root.book.toml", ".revision": ".revision",
			}},
		},
		"files beside the root": {
			pages: map[string]string{"a.md": ""},
			files: map[string]string{"../../CHANGELOG.md": "", "../x/y.rs": "", "z.rs": ""},
			toml:  "[book]\n", root: "a/b/c",
			want: mounted{mount: "/book", dir: "/book/b/c", paths: map[string]string{
				"b/c/src/SUMMARY.md": "SUMMARY.md", "b/c/src/a.md": "a.md", "b/c/book.toml": "_root.book.toml", "b/c/z.rs": "_root.z.rs",
				"CHANGELOG.md": "_root._x2E.__..__CHANGELOG.md", "b/x/y.rs": "_root._x2E.__x__y.rs", ".revision": ".revision",
			}},
		},
		"a root whose name isn't known": {
			pages: map[string]string{"a.md": ""},
			files: map[string]string{"../../book/x": "", "../../book2": ""},
			toml:  "[book]\n", root: "c",
			want: mounted{mount: "/book", dir: "/book/book3/c", paths: map[string]string{
				"book3/c/src/SUMMARY.md": "SUMMARY.md", "book3/c/src/a.md": "a.md", "book3/c/book.toml": "_root.book.toml",
				"book/x": "_root._x2E.__..__book__x", "book2": "_root._x2E.__..__book2", ".revision": ".revision",
			}},
		},
		"a root whose name no volume can begin with": {
			pages: map[string]string{"a.md": ""},
			files: map[string]string{"../x": ""},
			toml:  "[book]\n", root: "..c",
			want: mounted{mount: "/book", dir: "/book/book/..c", paths: map[string]string{
				"book/..c/src/SUMMARY.md": "SUMMARY.md", "book/..c/src/a.md": "a.md", "book/..c/book.toml": "_root.book.toml",
				"book/x": "_root._x2E.__x", ".revision": ".revision",
			}},
		},
		"a root in a folder whose name no volume can have": {
			pages: map[string]string{"a.md": ""},
			files: map[string]string{"../../x": ""},
			toml:  "[book]\n", root: "a\xff/c",
			want: mounted{mount: "/book", dir: "/book/book/c", paths: map[string]string{
				"book/c/src/SUMMARY.md": "SUMMARY.md", "book/c/src/a.md": "a.md", "book/c/book.toml": "_root.book.toml",
				"x": "_root._x2E.__..__x", ".revision": ".revision",
			}},
		},
		"a source folder beside the root": {
			pages: map[string]string{"a.md": ""},
			toml:  "[book]\nsrc = '../text'\n", root: "guide",
			want: mounted{mount: "/book", dir: "/book/guide", paths: map[string]string{
				"text/SUMMARY.md": "SUMMARY.md", "text/a.md": "a.md", "guide/book.toml": "_root.book.toml", ".revision": ".revision",
			}},
		},
		"a source folder that holds the root": {
			pages: map[string]string{"a.md": ""},
			toml:  "[book]\nsrc = '..'\n", root: "repo/guide",
			want: mounted{mount: "/book", dir: "/book/repo/guide", paths: map[string]string{
				"repo/SUMMARY.md": "SUMMARY.md", "repo/a.md": "a.md", "repo/guide/book.toml": "_root.book.toml", ".revision": ".revision",
			}},
		},
		"flat Markdown that looks for files above it": {
			pages: map[string]string{"a.md": ""}, folders: []string{"../.."},
			want: mounted{mount: "/book/src", paths: map[string]string{"SUMMARY.md": "SUMMARY.md", "a.md": "a.md", ".revision.md": ".revision"}},
		},
		"a style sheet and a page that are written beside the site": {
			pages: map[string]string{"a.md": ""},
			files: map[string]string{"../../a.css": "", "../404.md": ""},
			toml:  "[output.html]\nadditional-css = ['../../a.css']\ninput-404 = '../../404.md'\n", root: "a/b",
			want: mounted{mount: "/book", dir: "/book/a/b", build: "/build/site/site", paths: map[string]string{
				"a/b/src/SUMMARY.md": "SUMMARY.md", "a/b/src/a.md": "a.md", "a/b/book.toml": "_root.book.toml",
				"a.css": "_root._x2E.__..__a.css", "a/404.md": "_root._x2E.__404.md", ".revision": ".revision",
			}},
		},
		"folders that paths lead through": {
			pages: map[string]string{"a.md": ""},
			files: map[string]string{"css/x.css": ""}, folders: []string{"src", "css", "assets", "assets", "src/img", ".."},
			toml: "[book]\n",
			want: mounted{mount: "/book", dir: "/book/book", paths: map[string]string{
				"book/src/SUMMARY.md": "SUMMARY.md", "book/src/a.md": "a.md", "book/css/x.css": "_root.css__x.css", "book/book.toml": "_root.book.toml",
				"book/assets/.revision.md": ".revision", "book/src/img/.revision.md": ".revision", ".revision": ".revision",
			}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := newView("a", nil)
			view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
			content := fromFolder(withPages(test.pages), test.files, test.toml)
			content.Book.Root, content.Book.Folders = test.root, test.folders
			output := mustGenerate(t, view, content)
			pod := as[appsv1.Deployment](t, output.Deployment).Spec.Template.Spec
			got := mounted{mount: pod.Containers[0].VolumeMounts[0].MountPath, dir: pod.Containers[0].WorkingDir, paths: map[string]string{}}
			for _, item := range pod.Volumes[0].ConfigMap.Items {
				key, _, _ := strings.Cut(item.Key, "-")
				got.paths[item.Path] = key
			}
			if build := pod.Containers[0].Env[0].Value; build != "/build" {
				got.build = build
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(mounted{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

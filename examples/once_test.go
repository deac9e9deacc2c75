package examples

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// customized is an overlay that changes what a base's book expanded to.
const customized = `resources: [base, own.yaml]
images: [{name: peaceiris/mdbook, newTag: v9}]
replicas: [{name: viewer-base, count: 7}]
labels: [{pairs: {team: docs}}]
patches: [{target: {kind: Service, name: viewer-base}, patch: '[{"op": "replace", "path": "/spec/ports/0/port", "value": 8080}]'}]
`

var overlaid = files{
	"base/kustomization.yaml": "resources: [view.yaml]\n" + expanding,
	"base/view.yaml":          inlineView("base", "page of base"),
	"own.yaml":                inlineView("own", "own page"),
	"kustomization.yaml":      customized + expanding,
}

// folders has two books with a folder of the same name each.
var folders = files{
	"base/kustomization.yaml": "resources: [view.yaml]\n" + expanding,
	"base/view.yaml":          directoryView("base", "./pages"),
	"base/pages/SUMMARY.md":   "- [A](a.md)\n",
	"base/pages/a.md":         "page of base",
	"own.yaml":                directoryView("own", "./pages"),
	"pages/SUMMARY.md":        "- [A](a.md)\n",
	"pages/a.md":              "own page",
	"kustomization.yaml":      "resources: [base, own.yaml]\n" + expanding,
}

// onlyBase returns the files of the base, and a kustomization for the top.
func (f files) onlyBase(top string) files {
	kept := kustomization(top)
	for name, text := range f {
		if strings.HasPrefix(name, "base/") {
			kept[name] = text
		}
	}
	return kept
}

var generating = files{"view.yaml": inlineGenerator("generated")}

func TestAViewIsExpandedOnceInABuild(t *testing.T) {
	for name, test := range map[string]struct {
		files files
		// want are the texts of a.md, by Deployment.
		want map[string]string
	}{
		"an overlay with a book and a transformer of its own": {
			files: overlaid,
			want:  map[string]string{"/viewer-base": "page of base", "/viewer-own": "own page"},
		},
		"the same with folders": {
			files: folders,
			want:  map[string]string{"/viewer-base": "page of base", "/viewer-own": "own page"},
		},
		"the overlay lacks the folder": {
			files: folders.onlyBase("resources: [base]\n" + expanding),
			want:  map[string]string{"/viewer-base": "page of base"},
		},
		"the overlay only validates": {
			files: folders.onlyBase("resources: [base]\nnamePrefix: x-\n" + validating),
			want:  map[string]string{"/x-viewer-base": "page of base"},
		},
		"the overlay has a prefix": {
			files: folders.onlyBase("resources: [base]\nnamePrefix: x-\n" + expanding),
			want:  map[string]string{"/x-viewer-base": "page of base"},
		},
		"the overlay has a namespace": {
			files: folders.onlyBase("resources: [base]\nnamespace: docs\n" + expanding),
			want:  map[string]string{"docs/viewer-base": "page of base"},
		},
		"a generator and a transformer": {
			files: generating.with(kustomization("generators: [view.yaml]\n" + expanding)),
			want:  map[string]string{"/viewer-hb": "generated"},
		},
		"a generator, a transformer and a prefix": {
			files: generating.with(kustomization("generators: [view.yaml]\nnamePrefix: x-\n" + expanding)),
			want:  map[string]string{"/x-viewer-hb": "generated"},
		},
		"a generator in the base": {
			files: generating.with(kustomization("generators: [view.yaml]\n")).below("base").
				with(files{"own.yaml": inlineView("own", "own page")}).
				with(kustomization("resources: [base, own.yaml]\nnameSuffix: -x\n" + expanding)),
			want: map[string]string{"/viewer-hb-x": "generated", "/viewer-own-x": "own page"},
		},
		"two transformers in one kustomization": {
			files: files{"view.yaml": inlineView("hb", "page")}.with(kustomization("resources: [view.yaml]\n" +
				strings.TrimSuffix(expanding, "]\n") + strings.Replace(strings.Replace(expanding, "transformers: [", ", ", 1), "name: fn,", "name: again,", 1))),
			want: map[string]string{"/viewer-hb": "page"},
		},
		"a transformer in a component and another below it": {
			files: folders.onlyBase("resources: [base]\ncomponents: [part]\n").
				with(kustomization("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: c-\n" + expanding).below("part")),
			want: map[string]string{"/c-viewer-base": "page of base"},
		},
		"a base under two prefixes, both expanded": {
			files: twoPrefixed("namePrefix: a-\nnamespace: aa\n", "namePrefix: b-\nnamespace: bb\n", nil).
				with(folders.onlyBase("resources: [one, two]\n" + expanding)),
			want: map[string]string{"aa/a-viewer-base": "page of base", "bb/b-viewer-base": "page of base"},
		},
		"a base under two prefixes, expanded above": {
			files: twoPrefixed("namePrefix: a-\n", "namePrefix: b-\n", files{"view.yaml": inlineView("hb", "page"), "kustomization.yaml": "resources: [view.yaml]\n"}).
				with(kustomization("resources: [one, two]\n" + expanding)),
			want: map[string]string{"/viewer-a-hb": "page", "/viewer-b-hb": "page"},
		},
		"with annotations of where things come from": {
			files: folders.with(kustomization("resources: [base, own.yaml]\nbuildMetadata: [originAnnotations, transformerAnnotations, managedByLabel]\n" + expanding)),
			want:  map[string]string{"/viewer-base": "page of base", "/viewer-own": "own page"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output := buildQuietly(t, test.files.write(t))
			if diff := cmp.Diff(test.want, pagesOfBooks(t, output, "a.md")); diff != "" {
				t.Errorf("books (-want +got):\n%s", diff)
			}
			withoutMark(t, output)
		})
	}
}

// withoutMark fails if what tells that a view was expanded has left the build.
func withoutMark(t *testing.T, output string) {
	t.Helper()
	for line := range strings.Lines(output) {
		if strings.Contains(line, "internal.config.kubernetes.io") || strings.Contains(line, "refBy") || strings.Contains(line, "expanded-") {
			t.Errorf("the output holds %q", line)
		}
	}
}

func TestAnOverlaysChangesOfABasesBookStay(t *testing.T) {
	objects := parse(t, buildQuietly(t, overlaid.write(t)))
	for _, deployment := range objects.deployments {
		if deployment.Name != "viewer-base" {
			continue
		}
		if got := deployment.Spec.Template.Spec.Containers[0].Image; got != "peaceiris/mdbook:v9" {
			t.Errorf("image %s", got)
		}
		if got := *deployment.Spec.Replicas; got != 7 {
			t.Errorf("%d replicas", got)
		}
		if deployment.Labels["team"] != "docs" {
			t.Errorf("labels %v", deployment.Labels)
		}
	}
	for _, service := range objects.services {
		if service.Name == "viewer-base" && service.Spec.Ports[0].Port != 8080 {
			t.Errorf("port %d", service.Spec.Ports[0].Port)
		}
	}
}

// A view that an overlay wants printed is printed as it was written.
func TestTheMarkOfAnExpandedViewNeverLeavesTheBuild(t *testing.T) {
	const remove = `patches: [{target: {kind: MarkdownView}, patch: '[{"op": "remove", "path": "/metadata/annotations/config.kubernetes.io~1local-config"}]'}]` + "\n"
	const disable = `patches: [{target: {kind: MarkdownView}, patch: '{apiVersion: x, kind: x, metadata: {name: x, annotations: {config.kubernetes.io/local-config: "false"}}}'}]` + "\n"
	for name, test := range map[string]struct {
		base, top string
		view      string
		printed   bool
	}{
		"a transformer":                               {base: "resources: [view.yaml]\n" + expanding, view: inlineView("hb", "page")},
		"a generator":                                 {base: "generators: [view.yaml]\n", view: inlineGenerator("page")},
		"an overlay removes local-config":             {base: "resources: [view.yaml]\n" + expanding, view: inlineView("hb", "page"), top: remove, printed: true},
		"an overlay sets local-config to false":       {base: "resources: [view.yaml]\n" + expanding, view: inlineView("hb", "page"), top: disable, printed: true},
		"an overlay removes the generator's":          {base: "generators: [view.yaml]\n", view: inlineGenerator("page"), top: remove, printed: true},
		"an overlay removes it and has a transformer": {base: "resources: [view.yaml]\n" + expanding, view: inlineView("hb", "page"), top: remove + expanding, printed: true},
		"an overlay removes it and validates":         {base: "resources: [view.yaml]\n" + expanding, view: inlineView("hb", "page"), top: remove + validating, printed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := files{"base/kustomization.yaml": test.base, "base/view.yaml": test.view, "kustomization.yaml": "resources: [base]\n" + test.top}.write(t)
			output := buildQuietly(t, dir)
			withoutMark(t, output)
			if got := len(parse(t, output).sorted("MarkdownView")) == 1; got != test.printed {
				t.Errorf("the view is printed: %t, want %t", got, test.printed)
			}
			if got := len(parse(t, output).deployments); got != 1 {
				t.Errorf("%d Deployments, want 1", got)
			}
		})
	}
}

func TestAChangeThatComesTooLateIsSaid(t *testing.T) {
	referring := inlineView("base", "page") + "  contentFrom: [{configMapRef: {name: pages}}, {configMapRef: {name: more, optional: true}}]\n"
	base := files{
		"base/view.yaml":          referring,
		"base/kustomization.yaml": "resources: [view.yaml]\n" + generatedPages("before") + expanding,
		"config.yaml":             textOf(t, repository, kustomizeconfig+"/markdownview.yaml"),
	}
	const tooLate = "warning: MarkdownView base: spec: was changed after the view was expanded"
	const pagesTooLate = "warning: MarkdownView base: spec.contentFrom: the pages of a ConfigMap were changed after the view was expanded"
	patch := func(text string) string {
		return `patches: [{target: {kind: MarkdownView}, patch: '{apiVersion: x, kind: x, metadata: {name: x}, spec: {` + text + `}}'}]` + "\n"
	}
	for name, test := range map[string]struct{ overlay, want string }{
		"a page of the view":                   {patch("markdowns: {a.md: late}") + expanding, tooLate},
		"a page of the view, only checked":     {patch("markdowns: {a.md: late}") + validating, tooLate},
		"the view's replicas":                  {patch("replicas: 3") + expanding, tooLate},
		"what makes the view invalid":          {patch("replica: 3") + expanding, tooLate},
		"pages that are merged":                {"configMapGenerator: [{name: pages, behavior: merge, literals: [b.md=late]}]\n" + expanding, pagesTooLate},
		"pages that are replaced, and more":    {"namePrefix: x-\nconfigMapGenerator: [{name: pages, behavior: replace, literals: [b.md=late]}]\n" + validating, strings.Replace(pagesTooLate, "View base", "View x-base", 1)},
		"pages that the view could do without": {"configMapGenerator: [{name: more, literals: [b.md=late]}]\n" + validating, pagesTooLate},
		"the image, also by kustomize":         {"configurations: [config.yaml]\nimages: [{name: peaceiris/mdbook, newTag: v9}]\n" + expanding, ""},
		"what concerns the controller only":    {patch("suspend: true, interval: 1h, serviceAccountName: docs-deployer, driftDetection: {mode: Warn}") + expanding, ""},
		"names, namespaces and labels":         {"namePrefix: x-\nnameSuffix: -y\nnamespace: docs\nlabels: [{pairs: {a: b}, includeSelectors: true}]\n" + expanding, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := build(t, base.with(kustomization("resources: [base]\n"+test.overlay)).write(t), ".")
			if got.failed || len(parse(t, got.stdout).deployments) != 1 {
				t.Fatalf("failed: %t, and prints:\n%s%s", got.failed, got.stderr, got.stdout)
			}
			if (test.want == "") != (got.stderr == "") || !strings.HasPrefix(got.stderr, test.want) || strings.Count(got.stderr, "\n") > 1 {
				t.Errorf("says %q, want %q", got.stderr, test.want)
			}
		})
	}
}

// kustomize resolves names among those that were renamed, and so gave a Deployment
// without a prefix the ConfigMap of its namesake with one.
func TestABookBesideANamesakeWithAPrefixKeepsItsPages(t *testing.T) {
	label := func(value string) string {
		return "labels: [{pairs: {book: " + value + "}, includeSelectors: true}]\n"
	}
	for name, test := range map[string]struct {
		files files
		want  map[string]string
	}{
		"two generators": {
			files: files{"one/view.yaml": inlineGenerator("one"), "two/view.yaml": inlineGenerator("two")}.
				with(kustomization("generators: [view.yaml]\nnamePrefix: a-\n" + label("a")).below("one")).
				with(kustomization("generators: [view.yaml]\n" + label("b")).below("two")).
				with(kustomization(both)),
			want: map[string]string{"/a-viewer-hb": "one", "/viewer-hb": "two"},
		},
		"two views with transformers": {
			files: files{"one/view.yaml": inlineView("hb", "one"), "two/view.yaml": inlineView("hb", "two")}.
				with(kustomization("resources: [view.yaml]\n" + expanding).below("one")).
				with(kustomization("resources: [view.yaml]\n" + expanding + label("b")).below("two")).
				with(kustomization("resources: [../one]\nnameSuffix: -x\n" + label("a")).below("three")).
				with(kustomization("resources: [two, three]\n")),
			want: map[string]string{"/viewer-hb-x": "one", "/viewer-hb": "two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, pagesOfBooks(t, buildQuietly(t, test.files.write(t)), "a.md")); diff != "" {
				t.Errorf("books (-want +got):\n%s", diff)
			}
		})
	}
}

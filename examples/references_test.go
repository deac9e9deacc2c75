package examples

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// viewBesidePod is a view with a Pod: both name a ConfigMap in the same way.
func viewBesidePod(mark, configMap, metadata string) string {
	return fmt.Sprintf(`apiVersion: view.zoetrope.github.io/v1
kind: MarkdownView
metadata: {name: hb%[3]s}
spec:
  contentFrom: [{configMapRef: {name: %[2]s}}]
  markdowns: {SUMMARY.md: "- [A](a.md)", mark.txt: %[1]s}
---
apiVersion: v1
kind: Pod
metadata: {name: hb%[3]s, annotations: {example.com/mark: %[1]s}}
spec: {volumes: [{name: pages, configMap: {name: %[2]s}}]}
`, mark, configMap, metadata)
}

// configMap has one page; its text tells which ConfigMap it is.
func configMap(name, text, metadata string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s%s}, data: {a.md: %s}}\n", name, metadata, text)
}

func generatedPages(text string) string {
	return fmt.Sprintf("configMapGenerator: [{name: pages, literals: [a.md=%s]}]\n", text)
}

const (
	viewAndGenerator = "resources: [view.yaml]\nconfigMapGenerator: [{name: pages, files: [a.md]}]\n"
	unhashed         = "generatorOptions: {disableNameSuffixHash: true}\n"
	docsNamespace    = ", namespace: docs"
)

// pagesBase is a folder with a view, its Pod and a generated ConfigMap.
func pagesBase(mark, rest string) files {
	return files{
		"view.yaml":          viewBesidePod(mark, "pages", ""),
		"a.md":               "page of " + mark,
		"kustomization.yaml": viewAndGenerator + rest,
	}
}

func kustomization(text string) files { return files{"kustomization.yaml": text} }

// twoPrefixed is the same book twice, under two prefixes or the like.
func twoPrefixed(first, second string, base files) files {
	return base.below("base").
		with(kustomization("resources: [../base]\n" + first).below("one")).
		with(kustomization("resources: [../base]\n" + second).below("two"))
}

var ownPages = files{}.
	with(pagesBase("one", "").below("one")).
	with(pagesBase("two", "").below("two"))

func prefixed(first, second string) files {
	return files{}.with(pagesBase("one", first).below("one")).with(pagesBase("two", second).below("two"))
}

const both = "resources: [one, two]\n"

var references = map[string]files{
	"two prefixes": prefixed("namePrefix: a-\n", "namePrefix: b-\n").with(kustomization(both + expanding)),
	"two prefixes, without a hash": prefixed("namePrefix: a-\n"+unhashed, "namePrefix: b-\n"+unhashed).
		with(kustomization(both + expanding)),
	"two suffixes":                   prefixed("nameSuffix: -a\n", "nameSuffix: -b\n").with(kustomization(both + expanding)),
	"a prefix and a suffix":          prefixed("namePrefix: a-\nnameSuffix: -x\n", "namePrefix: a-\nnameSuffix: -y\n").with(kustomization(both + expanding)),
	"a prefix, and none":             prefixed("namePrefix: a-\n", "").with(kustomization(both + expanding)),
	"none, and a prefix":             prefixed("", "namePrefix: b-\n").with(kustomization(both + expanding)),
	"none, and a prefix, unhashed":   prefixed(unhashed, unhashed+"namePrefix: b-\n").with(kustomization(both + "namespace: docs\n" + expanding)),
	"one namespace in the end":       prefixed("namePrefix: a-\n", "namePrefix: b-\n").with(kustomization(both + "namespace: docs\n" + expanding)),
	"two namespaces":                 prefixed("namespace: a\n", "namespace: b\n").with(kustomization(both + expanding)),
	"two namespaces and a prefix":    prefixed("namespace: a\n", "namespace: b\n").with(kustomization(both + "namePrefix: x-\n" + expanding)),
	"one in no namespace":            prefixed("namespace: a\n", "").with(kustomization(both + expanding)),
	"one in the namespace default":   prefixed("namespace: default\n", "namePrefix: b-\n").with(kustomization(both + expanding)),
	"the transformer in each base":   prefixed("namePrefix: a-\n"+expanding, "namePrefix: b-\n"+expanding).with(kustomization(both)),
	"a prefix above the transformer": prefixed("namePrefix: a-\n", "namePrefix: b-\n").with(kustomization(both + expanding)).below("mid").with(kustomization("resources: [mid]\nnamePrefix: top-\nnamespace: docs\n")),
	"a prefix of the same text":      prefixed("namePrefix: a-\n", "namePrefix: a-\nnamespace: docs\n").with(kustomization(both + expanding)),

	"a base under two prefixes": twoPrefixed("namePrefix: a-\nconfigMapGenerator: [{name: pages, behavior: replace, literals: [a.md=first]}]\n", "namePrefix: b-\n", pagesBase("base", "")).
		with(kustomization(both + expanding)),
	"a base under two prefixes, merged": twoPrefixed("namePrefix: a-\nconfigMapGenerator: [{name: pages, behavior: merge, literals: [a.md=first]}]\n", "nameSuffix: -b\n", pagesBase("base", "namePrefix: in-\n")).
		with(kustomization(both + expanding)),
	"three levels": files{}.
		with(prefixed("namePrefix: a-\n", "namePrefix: b-\n").with(kustomization(both + "namePrefix: m-\n")).below("left")).
		with(prefixed("namePrefix: a-\n", "namePrefix: b-\n").with(kustomization(both + "namePrefix: n-\n")).below("right")).
		with(kustomization("resources: [left, right]\nnameSuffix: -top\n" + expanding)),
	"three levels, the transformer in the middle": files{}.
		with(prefixed("namePrefix: a-\n", "namePrefix: b-\n").with(kustomization(both + "namePrefix: m-\n" + expanding)).below("left")).
		with(prefixed("namePrefix: a-\n", "namePrefix: b-\n").with(kustomization(both + "namePrefix: n-\n" + expanding)).below("right")).
		with(kustomization("resources: [left, right]\nnameSuffix: -top\n")),
	"three levels, one namespace each": files{}.
		with(prefixed("namePrefix: a-\n", "namePrefix: b-\n").with(kustomization(both + "namespace: mm\n")).below("left")).
		with(prefixed("namePrefix: a-\n", "namePrefix: b-\n").with(kustomization(both + "namespace: nn\n")).below("right")).
		with(kustomization("resources: [left, right]\nnameSuffix: -top\n" + expanding)),

	"a prefix on the view's base only": pagesBase("one", "namePrefix: a-\n").below("one").
		with(files{"view.yaml": viewBesidePod("top", "pages", "")}).
		with(kustomization("resources: [one, view.yaml]\n" + expanding)),
	"the ConfigMap is above the prefixed view": files{"one/view.yaml": viewBesidePod("one", "pages", ""), "one/kustomization.yaml": "resources: [view.yaml]\nnamePrefix: a-\n"}.
		with(kustomization("resources: [one]\n" + generatedPages("top") + expanding)),
	"the ConfigMap is above the prefixed view, unhashed": files{"one/view.yaml": viewBesidePod("one", "pages", ""), "one/kustomization.yaml": "resources: [view.yaml]\nnamePrefix: a-\n"}.
		with(kustomization("resources: [one]\n" + unhashed + generatedPages("top") + expanding)),
	"the ConfigMap is in a prefixed base beside the view's": pagesBase("one", "namePrefix: a-\n").below("one").
		with(files{"two/view.yaml": viewBesidePod("two", "pages", ""), "two/kustomization.yaml": "resources: [view.yaml]\nnamePrefix: b-\n"}).
		with(kustomization(both + expanding)),

	"a shared ConfigMap beside one of its own": pagesBase("one", "namePrefix: a-\n").below("one").
		with(files{"two/view.yaml": viewBesidePod("two", "pages", ""), "two/kustomization.yaml": "resources: [view.yaml]\nnamePrefix: b-\n"}).
		with(kustomization(generatedPages("shared")).below("shared")).
		with(kustomization("resources: [shared, one, two]\n" + expanding)),

	"an unrelated ConfigMap whose current name is the wanted one": pagesBase("one", "namePrefix: a-\n"+unhashed).below("one").
		with(files{"unrelated.yaml": configMap("pages", "unrelated", "")}).
		with(kustomization("resources: [one, unrelated.yaml]\n" + expanding)),
	"an unrelated ConfigMap of the wanted name, with a hash": pagesBase("one", "namePrefix: a-\n").below("one").
		with(kustomization(generatedPages("unrelated")).below("two")).
		with(kustomization(both + expanding)),
	"an unrelated ConfigMap of the wanted name, in a namespace in the end": pagesBase("one", "namePrefix: a-\n"+unhashed).below("one").
		with(files{"unrelated.yaml": configMap("pages", "unrelated", "")}).
		with(kustomization("resources: [one, unrelated.yaml]\nnamespace: docs\n" + expanding)),
	"an unrelated ConfigMap that a prefix gives the wanted name": files{"two/kustomization.yaml": "namePrefix: a-\n" + unhashed + generatedPages("unrelated")}.
		with(files{"view.yaml": viewBesidePod("one", "a-pages", ""), "own.yaml": configMap("a-pages", "own", "")}.with(kustomization("resources: [view.yaml, own.yaml]\nnamePrefix: b-\n")).below("one")).
		with(kustomization(both + expanding)),

	"the view names what the ConfigMap is called now": files{"two/kustomization.yaml": "namePrefix: a-\n" + unhashed + generatedPages("own")}.
		with(files{"view.yaml": viewBesidePod("one", "a-pages", "")}).
		with(kustomization("resources: [two, view.yaml]\n" + expanding)),
	"the view names what the ConfigMap was called in between": files{"two/in/kustomization.yaml": "namePrefix: a-\n" + generatedPages("own"), "two/kustomization.yaml": "resources: [in]\nnamePrefix: b-\n"}.
		with(files{"view.yaml": viewBesidePod("one", "a-pages", "")}).
		with(kustomization("resources: [two, view.yaml]\n" + expanding)),

	"a plain ConfigMap":                         files{"view.yaml": viewBesidePod("one", "pages", ""), "pages.yaml": configMap("pages", "own", "")}.with(kustomization("resources: [view.yaml, pages.yaml]\n" + expanding)),
	"a view in default, a ConfigMap in none":    files{"view.yaml": viewBesidePod("one", "pages", ", namespace: default"), "pages.yaml": configMap("pages", "own", "")}.with(kustomization("resources: [view.yaml, pages.yaml]\n" + expanding)),
	"a ConfigMap in default, a view in none":    files{"view.yaml": viewBesidePod("one", "pages", ""), "pages.yaml": configMap("pages", "own", ", namespace: default")}.with(kustomization("resources: [view.yaml, pages.yaml]\nnamePrefix: x-\n" + expanding)),
	"namesakes in two namespaces":               files{"view.yaml": viewBesidePod("one", "pages", docsNamespace), "pages.yaml": configMap("pages", "other", "") + "---\n" + configMap("pages", "own", docsNamespace)}.with(kustomization("resources: [view.yaml, pages.yaml]\nnamePrefix: x-\n" + expanding)),
	"a patch renames the ConfigMap":             files{"view.yaml": viewBesidePod("one", "pages", ""), "pages.yaml": configMap("pages", "own", "")}.with(kustomization("resources: [view.yaml, pages.yaml]\npatches: [{target: {kind: ConfigMap}, options: {allowNameChange: true}, patch: '[{\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"renamed\"}]'}]\n" + expanding)),
	"a component adds prefix and transformer":   pagesBase("one", "components: [part]\n").with(kustomization("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: c-\n" + expanding).below("part")),
	"a component with the ConfigMap":            files{"view.yaml": viewBesidePod("one", "pages", "")}.with(kustomization("resources: [view.yaml]\ncomponents: [part]\nnamePrefix: x-\n" + expanding)).with(kustomization("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + generatedPages("component")).below("part")),
	"the user configured nameReference as well": ownPages.with(prefixed("namePrefix: a-\nconfigurations: [../config.yaml]\n", "namePrefix: b-\nconfigurations: [../config.yaml]\n")).with(kustomization(both + expanding)),
}

// TestAViewsPagesAreThoseOfAPod holds the function against kustomize itself: beside
// each view is a Pod with a volume of the same ConfigMap, and kustomize says which
// one that is.
func TestAViewsPagesAreThoseOfAPod(t *testing.T) {
	config := textOf(t, repository, kustomizeconfig+"/markdownview.yaml")
	for name, arrangement := range references {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := arrangement.with(files{"config.yaml": config}).write(t)
			output := build(t, dir, ".", "--enable-alpha-plugins", "--enable-exec", "--load-restrictor=LoadRestrictionsNone")
			if output.failed || output.stderr != "" {
				t.Fatalf("kustomize build failed: %t, and says:\n%s", output.failed, output.stderr)
			}
			compareWithPods(t, output.stdout)
		})
	}
}

func compareWithPods(t *testing.T, manifests string) {
	t.Helper()
	objects := parse(t, manifests)
	pods := 0
	for _, document := range documents(t, manifests) {
		var meta metav1.PartialObjectMetadata
		if unmarshal(t, document, &meta); meta.Kind != "Pod" {
			continue
		}
		pods++
		var pod corev1.Pod
		unmarshal(t, document, &pod)
		reference := pod.Spec.Volumes[0].ConfigMap.Name
		wanted, ok := objects.configMaps[pod.Namespace+"/"+reference]
		if !ok && pod.Namespace == "" {
			wanted, ok = objects.configMaps["default/"+reference]
		} else if !ok && pod.Namespace == "default" {
			wanted, ok = objects.configMaps["/"+reference]
		}
		if !ok {
			t.Errorf("kustomize has the Pod %s/%s name the ConfigMap %s, which it doesn't print", pod.Namespace, pod.Name, reference)
		}
		mark, found := pod.Annotations["example.com/mark"], false
		for _, deployment := range objects.deployments {
			pages := objects.book(t, deployment)
			// Prefixes of the view stand after "viewer-", later ones before it.
			if deployment.Namespace != pod.Namespace || strings.Replace(deployment.Name, "viewer-", "", 1) != pod.Name || pages["/book/src/mark.txt"] != mark {
				continue
			}
			found = true
			if got := pages["/book/src/a.md"]; got != wanted.Data["a.md"] {
				t.Errorf("%s/%s serves %q, but the Pod's volume has %q", deployment.Namespace, deployment.Name, got, wanted.Data["a.md"])
			}
		}
		if !found {
			t.Errorf("no book for the Pod %s/%s", pod.Namespace, pod.Name)
		}
	}
	if pods == 0 {
		t.Error("no Pod is in the output")
	}
}

// TestWhichPagesAreMeantIsNeverGuessed has arrangements in which kustomize itself
// gives up, leaves the name as it is, or decides by what comes later.
func TestWhichPagesAreMeantIsNeverGuessed(t *testing.T) {
	view := inlineView("hb", "inline")
	required := view + "  contentFrom: [{configMapRef: {name: pages}}]\n"
	for name, test := range map[string]struct {
		files files
		want  string
	}{
		"two prefixes, and a view without any, all below another prefix": {
			files: pagesOnly("one", "namePrefix: a-\n").with(pagesOnly("two", "namePrefix: b-\n")).
				with(files{"view.yaml": required}).with(kustomization("resources: [one, two, view.yaml]\nnamePrefix: top-\n" + expanding)),
			want: "the ConfigMaps top-a-pages, top-b-pages are or were called pages, and which one is meant can't be told",
		},
		"two prefixes, and a view without any": {
			files: pagesOnly("one", "namePrefix: a-\n").with(pagesOnly("two", "namePrefix: b-\n")).
				with(files{"view.yaml": required}).with(kustomization("resources: [one, two, view.yaml]\n" + expanding)),
			want: "the ConfigMaps a-pages, b-pages are or were called pages, but none has the view's prefixes and suffixes",
		},
		"one that had the name and one that has it, and a view of neither": {
			files: pagesOnly("one", "namePrefix: a-\n"+unhashed).with(files{"pages.yaml": configMap("pages", "own", ""), "view.yaml": required}).
				with(kustomization("resources: [one, pages.yaml, view.yaml]\n" + expanding)),
			want: "the ConfigMaps a-pages, pages are or were called pages, and which one is meant can't be told",
		},
		"two prefixes, and a view that is a transformer's configuration": {
			files: pagesOnly("one", "namePrefix: a-\n").with(pagesOnly("two", "namePrefix: b-\n")).
				with(files{"view.yaml": inlineGenerator("inline") + "  contentFrom: [{configMapRef: {name: pages}}]\n"}).with(kustomization("resources: [one, two]\ntransformers: [view.yaml]\n")),
			want: "the ConfigMaps a-pages, b-pages are or were called pages, but none has the view's prefixes and suffixes",
		},
		"one in another namespace": {
			files: files{"pages.yaml": configMap("pages", "other", docsNamespace), "view.yaml": required}.with(kustomization("resources: [pages.yaml, view.yaml]\n" + expanding)),
			want:  `ConfigMap pages is not among the resources in no namespace, but in "docs": give both the same namespace`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := build(t, test.files.write(t), ".")
			if !got.failed || got.stdout != "" || !strings.Contains(got.stderr, test.want) {
				t.Errorf("failed: %t; %q isn't in:\n%s%s", got.failed, test.want, got.stderr, got.stdout)
			}
		})
	}
}

func pagesOnly(folder, rest string) files {
	return kustomization(generatedPages("page of "+folder) + rest).below(folder)
}

func TestAnOptionalConfigMapMayBeElsewhere(t *testing.T) {
	optional := "resources: [view.yaml, pages.yaml]\n" + expanding
	view := inlineView("hb", "inline") + "  contentFrom: [{configMapRef: {name: pages, optional: true}}]\n"
	for name, test := range map[string]struct {
		files files
		found bool
	}{
		"in another namespace": {
			files: files{"view.yaml": view, "pages.yaml": configMap("pages", "other", docsNamespace)}.with(kustomization(optional)),
		},
		"in another namespace, which kustomize gave it": {
			files: files{"view.yaml": view, "one/pages.yaml": configMap("pages", "other", "")}.
				with(kustomization("resources: [pages.yaml]\nnamespace: docs\n").below("one")).
				with(kustomization("resources: [view.yaml, one]\n" + expanding)),
		},
		"under two other prefixes": {
			files: files{"view.yaml": view}.with(pagesOnly("one", "namePrefix: a-\n")).with(pagesOnly("two", "namePrefix: b-\n")).
				with(kustomization("resources: [view.yaml, one, two]\n" + expanding)),
		},
		"in the namespace default, which is the view's": {
			files: files{"view.yaml": view, "pages.yaml": configMap("pages", "own", ", namespace: default")}.with(kustomization(optional)),
			found: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, text := range test.files {
				test.files[name] = strings.NewReplacer("data: {a.md: ", "data: {b.md: ", "literals: [a.md=", "literals: [b.md=").Replace(text)
			}
			books := pagesOfBooks(t, buildQuietly(t, test.files.write(t)), "b.md")
			if got := books["/viewer-hb"]; (got != "") != test.found {
				t.Errorf("serves %q, want a page: %t", got, test.found)
			}
		})
	}
}

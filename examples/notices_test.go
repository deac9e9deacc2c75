package examples

import (
	"strings"
	"testing"
)

func TestNothingToDoIsSaid(t *testing.T) {
	const nothing = "no MarkdownView is among the resources, so nothing is generated"
	misspelt := func(apiVersion string) files {
		return files{
			"view.yaml":          strings.Replace(inlineView("hb", "page"), "view.zoetrope.github.io/v1", apiVersion, 1),
			"kustomization.yaml": "resources: [view.yaml]\n" + expanding,
		}
	}
	transformerFile := strings.TrimSuffix(strings.TrimPrefix(expanding, "transformers: ['"), "']\n")
	for name, test := range map[string]struct {
		files files
		want  string
	}{
		"a transformer without a view": {
			files: kustomization("resources: [pages.yaml]\n" + expanding).with(files{"pages.yaml": configMap("pages", "text", "")}),
			want:  "warning: MarkdownViewTransformer fn: " + nothing,
		},
		"Validate without a view": {
			files: kustomization("resources: [pages.yaml]\n" + validating).with(files{"pages.yaml": configMap("pages", "text", "")}),
			want:  "warning: MarkdownViewTransformer fn: " + nothing,
		},
		"a transformer below the view": {
			files: kustomization("resources: [base, view.yaml]\n").with(files{"view.yaml": inlineView("hb", "page"), "base/pages.yaml": configMap("pages", "text", "")}).
				with(kustomization("resources: [pages.yaml]\n" + expanding).below("base")),
			want: "warning: MarkdownViewTransformer fn: " + nothing,
		},
		"a transformer under generators": {
			files: kustomization("resources: [view.yaml]\ngenerators: [transformer.yaml]\n").with(files{"view.yaml": inlineView("hb", "page"), "transformer.yaml": transformerFile}),
			want:  "warning: MarkdownViewTransformer fn: is listed under generators, and a generator sees no resources",
		},
		"a misspelt group":    {misspelt("views.zoetrope.github.io/v1"), `warning: MarkdownView hb: apiVersion: "views.zoetrope.github.io/v1" is not of the group view.zoetrope.github.io`},
		"a letter too few":    {misspelt("view.zoetrop.github.io/v1"), `is not of the group view.zoetrope.github.io`},
		"another domain":      {misspelt("view.zoetrope.github.com/v1"), `is not of the group view.zoetrope.github.io`},
		"no group at all":     {misspelt("v1"), `is not of the group view.zoetrope.github.io`},
		"a part of the group": {misspelt("zoetrope.github.io/v1"), `is not of the group view.zoetrope.github.io`},
		"another's MarkdownView": {
			files: misspelt("docs.example.com/v1").with(files{"own.yaml": inlineView("own", "page"), "kustomization.yaml": "resources: [view.yaml, own.yaml]\n" + expanding}),
		},
		"a base that has expanded all views": {
			files: files{"base/view.yaml": inlineView("hb", "page"), "base/kustomization.yaml": "resources: [view.yaml]\n" + expanding}.with(kustomization("resources: [base]\n" + expanding)),
		},
		"a generator that has expanded all views": {
			files: generating.with(kustomization("generators: [view.yaml]\n" + validating)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := build(t, test.files.write(t), ".")
			if got.failed {
				t.Fatal(got.stderr)
			}
			if (test.want == "") != (got.stderr == "") || !strings.Contains(got.stderr, test.want) || strings.Count(got.stderr, "\n") > 1 {
				t.Errorf("says %q, want %q", got.stderr, test.want)
			}
		})
	}
}

func TestBooksThatServeEachOthersPagesAreSaid(t *testing.T) {
	base := files{"view.yaml": inlineView("hb", "page"), "kustomization.yaml": "resources: [view.yaml]\n" + expanding}
	const prefixes = "Service a-viewer-hb: spec.selector: selects the pods of a-viewer-hb and b-viewer-hb,"
	own := files{"own.yaml": inlineView("hb", "own")}
	for name, test := range map[string]struct {
		files files
		want  []string
	}{
		"two prefixes": {
			files: twoPrefixed("namePrefix: a-\n", "namePrefix: b-\n", base).with(kustomization(both + validating)),
			want:  []string{prefixes, strings.Replace(prefixes, "Service a-", "Service b-", 1)},
		},
		"two prefixes, one with a label": {
			files: twoPrefixed("namePrefix: a-\n", "namePrefix: b-\nlabels: [{pairs: {book: b}, includeSelectors: true}]\n", base).with(kustomization(both + expanding)),
			want:  []string{prefixes},
		},
		"two prefixes, a label each": {
			files: twoPrefixed("namePrefix: a-\nlabels: [{pairs: {book: a}, includeSelectors: true}]\n", "namePrefix: b-\nlabels: [{pairs: {book: b}, includeSelectors: true}]\n", base).with(kustomization(both + validating)),
		},
		"two namespaces": {
			files: twoPrefixed("namespace: aa\n", "namespace: bb\n", base).with(kustomization(both + validating)),
		},
		"a view of the name that one had before its prefix": {
			files: base.below("base").with(kustomization("resources: [../base]\nnamePrefix: a-\n").below("mid")).with(own).with(kustomization("resources: [mid, own.yaml]\n" + expanding)),
			want:  []string{"selects the pods of a-viewer-hb and viewer-hb,", "selects the pods of a-viewer-hb and viewer-hb,"},
		},
		"two prefixes, with a label of what is generated set anew": {
			files: twoPrefixed("namePrefix: a-\n", "namePrefix: b-\n", base).
				with(kustomization(both + "labels: [{pairs: {app.kubernetes.io/created-by: me}, includeSelectors: true}]\n" + validating)),
			want: []string{prefixes, strings.Replace(prefixes, "Service a-", "Service b-", 1)},
		},
		"a label in place of the view's name": {
			files: base.below("base").with(files{"base/other.yaml": inlineView("other", "page"), "base/kustomization.yaml": "resources: [view.yaml, other.yaml]\n" + expanding}).
				with(kustomization("resources: [base]\nlabels: [{pairs: {app.kubernetes.io/instance: docs}, includeSelectors: true}]\n" + validating)),
			want: []string{"selects the pods of viewer-hb and viewer-other,", "selects the pods of viewer-hb and viewer-other,"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := build(t, test.files.write(t), ".")
			if got.failed || strings.Count(got.stderr, "\n") != len(test.want) {
				t.Fatalf("failed: %t, want %d lines in:\n%s", got.failed, len(test.want), got.stderr)
			}
			for i, line := range strings.SplitN(got.stderr, "\n", len(test.want)) {
				if i < len(test.want) && !strings.Contains(line, test.want[i]) {
					t.Errorf("%q isn't in %q", test.want[i], line)
				}
			}
		})
	}
}

package function

import (
	"strings"
	"testing"
)

// Who serves books of their own, in two colours say, has a Service select both on purpose.
func TestOnlyGeneratedBooksOverlap(t *testing.T) {
	const (
		labels     = "{app.kubernetes.io/name: mdbook, app.kubernetes.io/instance: docs, app.kubernetes.io/created-by: me}"
		generated  = "{app.kubernetes.io/name: mdbook, app.kubernetes.io/instance: docs, app.kubernetes.io/created-by: markdown-view-controller}"
		noCreator  = "{app.kubernetes.io/name: mdbook, app.kubernetes.io/instance: docs}"
		revision   = "view.zoetrope.github.io/revision: 'sha256:0'"
		otherNotes = "example.com/a: b"
	)
	resources := func(labels, selector, annotation string) string {
		deployment := func(name string) string {
			return "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: " + name + ", labels: " + labels + "}, spec: {template: {metadata: {labels: " + labels + ", annotations: {" + annotation + "}}}}}\n"
		}
		return deployment("blue") + deployment("green") + "- {apiVersion: v1, kind: Service, metadata: {name: docs, labels: " + labels + "}, spec: {selector: " + selector + "}}\n"
	}
	for name, test := range map[string]struct {
		items  string
		warned bool
	}{
		"generated":                        {resources(generated, generated, revision), true},
		"with a label set anew":            {resources(labels, labels, revision), true},
		"somebody's own":                   {resources(noCreator, noCreator, otherNotes), false},
		"somebody's own, of three labels":  {resources(labels, labels, otherNotes), false},
		"a Service of somebody's for both": {resources(generated, "{app.kubernetes.io/name: mdbook}", revision), false},
	} {
		t.Run(name, func(t *testing.T) {
			view := "- " + strings.ReplaceAll(strings.TrimSpace(smallView("x", "docs")), "\n", "\n  ") + "\n"
			got := runIn(t, t.TempDir(), "kind: ResourceList\nfunctionConfig: {apiVersion: view.zoetrope.github.io/v1, kind: MarkdownViewTransformer, metadata: {name: a}}\nitems:\n"+view+test.items)
			const said = "warning: Service docs: spec.selector: selects the pods of blue and green,"
			if got.err != nil || strings.Contains(got.errOut, said) != test.warned || (got.errOut != "") != test.warned {
				t.Errorf("%v\n%s", got.err, got.errOut)
			}
		})
	}
}

package function

import (
	"strings"
	"testing"
)

// A mark that found its way into a file must not keep kpt from rendering the view.
func TestAMarkCountsOnlyInKustomize(t *testing.T) {
	const input = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: function-input}}
items:
- apiVersion: view.zoetrope.github.io/v1
  kind: MarkdownView
  metadata:
    name: hb
    annotations:
      internal.config.kubernetes.io/refBy: MarkdownViewTransformer.v1.view.zoetrope.github.io/expanded-cd02b90c9b57.[noNs]
      internal.config.kubernetes.io/path: view.yaml
  spec:
    markdowns: {SUMMARY.md: "- [A](a.md)", a.md: page}
`
	for name, test := range map[string]struct {
		input    string
		expanded bool
	}{
		"kpt":       {input, true},
		"kustomize": {strings.Replace(input, "annotations:\n", "annotations:\n      kustomize.config.k8s.io/id: here\n", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			got := runIn(t, t.TempDir(), test.input)
			if got.err != nil || strings.Contains(got.out, "kind: Deployment") != test.expanded {
				t.Errorf("%v\n%s%s", got.err, got.errOut, got.out)
			}
			if strings.Count(got.out, "refBy") != 1 || strings.Contains(got.out, "previousNames") {
				t.Errorf("there are more of kustomize's notes than before:\n%s", got.out)
			}
		})
	}
}

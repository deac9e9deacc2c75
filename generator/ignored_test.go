package generator

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestIgnoredPathsAreHeldAgainstWhatIsGenerated(t *testing.T) {
	const at = "spec.driftDetection.ignore[0]."
	tests := map[string]struct {
		target        v1.PatchTarget // Deployments if empty
		paths         []string
		errs, warning []string
	}{
		"fields that are generated": {paths: []string{
			"/spec/replicas", "/spec/template/spec/containers/0/resources/limits", "/spec/template/spec/containers/0/env/1", "/spec/template/spec/containers/0/args",
		}},
		"a field that isn't": {paths: []string{"/spec/replica", "/spec/template/spec/containers/1/resources", "/spec/template/spec/containers/0/env/x", "/spec/replicas/0"}, warning: []string{
			at + "paths[0]: /spec/replica isn't generated, and is left to others anyway: drop it, unless somebody sets it with kubectl edit, patch or replace",
			at + "paths[1]: /spec/template/spec/containers/1/resources isn't generated, and is left to others anyway: drop it, unless somebody sets it with kubectl edit, patch or replace",
			at + "paths[2]: /spec/template/spec/containers/0/env/x isn't generated, and is left to others anyway: drop it, unless somebody sets it with kubectl edit, patch or replace",
			at + "paths[3]: /spec/replicas/0 isn't generated, and is left to others anyway: drop it, unless somebody sets it with kubectl edit, patch or replace",
		}},
		"an entry of a list without keys": {paths: []string{"/spec/template/spec/containers/0/args/1"}, errs: []string{
			at + "paths[0]: /spec/template/spec/containers/0/args/1 is within what the API server knows only as a whole, so that no part of it can be left to others: name the whole of it",
		}},
		"an object that isn't generated": {target: v1.PatchTarget{Kind: "ConfigMap", Name: "markdowns"}, paths: []string{"/metadata/annotations/a"}, warning: []string{
			at + `target: no ConfigMap of the name "markdowns" is generated: the rule means nothing`,
		}},
		"one of several names": {target: v1.PatchTarget{Kind: "Service", Name: "viewer-.*"}, paths: []string{"/spec/type"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := &v1.MarkdownView{
				ObjectMeta: metav1.ObjectMeta{Name: "a"},
				Spec:       v1.MarkdownViewSpec{Markdowns: map[string]string{"SUMMARY.md": "- [A](a.md)\n", "a.md": "# A\n"}},
			}
			plain, err := Generate(view, nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.target.Kind == "" {
				test.target.Kind = "Deployment"
			}
			view.Spec.DriftDetection = &v1.DriftDetection{Ignore: []v1.IgnoreRule{{Target: test.target, Paths: test.paths}}}
			output, err := Generate(view, nil)
			var errs, warnings []string
			if invalid, ok := errors.AsType[*InvalidError](err); ok {
				for _, problem := range invalid.Problems {
					errs = append(errs, problem.String())
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				for _, warning := range output.Warnings {
					warnings = append(warnings, warning.String())
				}
				if diff := cmp.Diff(plain.Objects(), output.Objects()); diff != "" {
					t.Errorf("the rule changes what is generated: %s", diff)
				}
			}
			if diff := cmp.Diff(test.errs, errs); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.warning, warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The selector's labels are what a Deployment can't be without.
func TestLabelsCannotBeIgnored(t *testing.T) {
	for label := range Labels("a") {
		view := &v1.MarkdownView{Spec: v1.MarkdownViewSpec{DriftDetection: &v1.DriftDetection{Ignore: []v1.IgnoreRule{{
			Target: v1.PatchTarget{Kind: "Deployment"}, Paths: []string{"/metadata/labels/app.kubernetes.io~1" + label[len("app.kubernetes.io/"):]},
		}}}}}
		if paths := view.IgnoredPaths("Deployment", "viewer-a"); len(paths) > 0 {
			t.Errorf("%s can be ignored", label)
		}
	}
}

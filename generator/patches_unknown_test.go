package generator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestMisspeltFieldsOfPatchesAreWarnedOf(t *testing.T) {
	const advice = " of the Deployment: unless the API server is newer, it refuses the object: look whether it is misspelt, or stands elsewhere"
	for name, test := range map[string]struct {
		kind, patch string
		want        []string
	}{
		"fields that are known":   {"Deployment", "spec: {template: {spec: {nodeSelector: {a: b}}}}", nil},
		"a misspelt field":        {"Deployment", "spec: {template: {spec: {nodeSelectors: {a: b}}}}", []string{`unknown field "spec.template.spec.nodeSelectors"` + advice}},
		"without spec":            {"Deployment", "replicas: 2", []string{`unknown field "replicas"` + advice}},
		"replace of what isn't":   {"Deployment", "- {op: replace, path: /spec/replicaz, value: 2}", []string{`unknown field "spec.replicaz"` + advice}},
		"in an entry of a list":   {"Deployment", "spec: {template: {spec: {containers: [{name: mdbook, imagePullPolice: Always}]}}}", []string{`unknown field "spec.template.spec.containers[0].imagePullPolice"` + advice}},
		"a field of the Service":  {"Service", "spec: {sessionAffinities: None}", []string{`unknown field "spec.sessionAffinities"` + strings.Replace(advice, "Deployment", "Service", 1)}},
		"two fields of one patch": {"Deployment", "spec: {a: 1, b: 2}", []string{`unknown field "spec.a"` + advice, `unknown field "spec.b"` + advice}},
	} {
		t.Run(name, func(t *testing.T) {
			view := newView("docs", withPages(map[string]string{"a.md": ""}))
			view.Spec.Patches = []v1.Patch{{Target: &v1.PatchTarget{Kind: test.kind}, Patch: test.patch}}
			var got []string
			for _, warning := range mustGenerate(t, view).Warnings {
				if warning.Field != "spec.patches" {
					t.Errorf("the field is %s", warning.Field)
				}
				got = append(got, warning.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPatchesCannotBreakHowLargeFilesAreAssembled(t *testing.T) {
	const (
		assembler = "spec:\n  template:\n    spec:\n      initContainers:\n      - name: " + AssemblerName + "\n        "
		which     = " the init container " + AssemblerName + ", which assembles the pages"
		other     = "a patch can't add or remove" + which
	)
	for name, test := range map[string]struct{ patch, want string }{
		"its resources":      {assembler + "resources: {limits: {cpu: 1}}", ""},
		"its image":          {assembler + "image: a", ""},
		"it goes":            {assembler + "$patch: delete", other},
		"another of it":      {"- {op: add, path: /spec/template/spec/initContainers/-, value: {name: " + AssemblerName + ", image: a}}", other},
		"its command":        {assembler + "command: [a]", "a patch can't change command of" + which},
		"its arguments":      {assembler + "args: [a]", "a patch can't change args of" + which},
		"where it works":     {assembler + "workingDir: /a", "a patch can't change workingDir of" + which},
		"what it mounts":     {assembler + "volumeMounts: [{name: build, mountPath: /a}]", "a patch can't change volumeMounts of" + which},
		"where it assembles": {"spec: {template: {spec: {volumes: [{name: " + assemblyVolume + ", emptyDir: {sizeLimit: 1Mi}}]}}}", "a patch can't change the pods' volume " + assemblyVolume + ", which holds the pages"},
	} {
		t.Run(name, func(t *testing.T) {
			view := newView("docs", withLarge())
			view.Spec.Patches = []v1.Patch{of("Deployment", test.patch)}
			var want []string
			if test.want != "" {
				want = []string{"spec.patches[0]: Deployment viewer-docs: " + test.want}
			}
			if diff := cmp.Diff(want, faults(t, view)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package schematest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: viewer-handbook
spec:
  selector:
    matchLabels: {a: b}
  template:
    metadata:
      labels: {a: b}
    spec:
      containers:
      - name: mdbook
        image: mdbook
        ports:
        - containerPort: 3000
          protocol: TCP
`

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		manifests string
		want      string
	}{
		"a Deployment": {manifests: deployment},
		"several documents, empty ones between them": {
			manifests: "---\n" + deployment + "---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n",
		},
		"a MarkdownView": {
			manifests: "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: a}\nspec: {replicas: 2}\n",
		},
		"a field that doesn't exist": {
			manifests: strings.Replace(deployment, "selector:", "selektor:", 1),
			want:      `Deployment viewer-handbook: strict decoding error: unknown field "spec.selektor"`,
		},
		"a misspelt field of a MarkdownView": {
			manifests: "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: a}\nspec: {replica: 2}\n",
			want:      `MarkdownView a: strict decoding error: unknown field "spec.replica"`,
		},
		"a key twice": {
			manifests: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: b\n  a: c\n",
			want:      `ConfigMap a: strict decoding error: yaml: unmarshal errors:` + "\n" + `  line 6: key "a" already set in map`,
		},
		"a number where a text belongs": {
			manifests: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}\n",
			want:      `ConfigMap a: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
		},
		"the same port twice": {
			manifests: deployment + "        - containerPort: 3000\n          protocol: TCP\n",
			want: `Deployment viewer-handbook: .spec.template.spec.containers[name="mdbook"].ports: ` +
				`duplicate entries for key [containerPort=3000,protocol="TCP"]`,
		},
		"a kind that doesn't exist": {
			manifests: "apiVersion: apps/v1\nkind: Deploiment\nmetadata: {name: a}\n",
			want:      `Deploiment a: kind Deploiment isn't known in apps/v1`,
		},
		"no object at all": {
			manifests: "---\n# nothing\n",
			want:      "no object in the manifests",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := Validate([]byte(test.manifests)); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Validate() error (-want +got):\n%s", diff)
			}
		})
	}
}

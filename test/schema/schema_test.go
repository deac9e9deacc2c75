package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repository is the root of the source tree.
const repository = "../.."

// newValidator returns a Validator that knows this project's CRDs.
func newValidator(t *testing.T) *Validator {
	t.Helper()
	v, err := New(readAll(t, "config/crd/bases/*.yaml"))
	if err != nil {
		t.Fatalf("the API server would refuse the CRD: %v", err)
	}
	return v
}

// readAll returns the files that match a pattern, as one stream of documents.
func readAll(t *testing.T, pattern string) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no file matches %s", pattern)
	}
	var all strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n" + string(content) + "\n")
	}
	return []byte(all.String())
}

// check compares an error's text with what is wanted, "" meaning none.
func check(t *testing.T, want string, err error) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

const hardened = `apiVersion: apps/v1
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
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: mdbook
        image: mdbook
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
        ports:
        - containerPort: 3000
          protocol: TCP
`

func TestValidate(t *testing.T) {
	v := newValidator(t)
	for name, test := range map[string]struct {
		manifests string
		want      string
	}{
		"a Deployment":                   {manifests: hardened},
		"documents with empty ones":      {manifests: "---\n" + hardened + "---\n---\n# end\n"},
		"a Service":                      {manifests: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {a: b}, ports: [{port: 80, targetPort: http}]}\n"},
		"a ConfigMap":                    {manifests: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\nbinaryData: {c: AA==}\n"},
		"a ClusterRole has no namespace": {manifests: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n"},
		"an unknown field": {
			manifests: strings.Replace(hardened, "image:", "imaje:", 1),
			want:      `Deployment viewer-handbook: strict decoding error: unknown field "spec.template.spec.containers[0].imaje"`,
		},
		"a missing image": {
			manifests: strings.Replace(hardened, "image: mdbook", "imagePullPolicy: Always", 1),
			want: `Deployment viewer-handbook: Deployment.apps "viewer-handbook" is invalid: ` +
				`spec.template.spec.containers[0].image: Required value`,
		},
		"a selector that misses the pods": {
			manifests: strings.Replace(hardened, "matchLabels: {a: b}", "matchLabels: {a: c}", 1),
			want: `Deployment viewer-handbook: Deployment.apps "viewer-handbook" is invalid: ` +
				"spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
		},
		"the same port twice is only warned of": {
			manifests: hardened + "        - containerPort: 3000\n          protocol: TCP\n",
			want: `Deployment viewer-handbook: the API server warns: spec.template.spec.containers[0].ports[1]: ` +
				`duplicate port definition with spec.template.spec.containers[0].ports[0]`,
		},
		"a ConfigMap key that can't be a file name": {
			manifests: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a/b: c}\n",
			want: `ConfigMap a: ConfigMap "a" is invalid: data[a/b]: Invalid value: "a/b": a valid config key must consist of ` +
				`alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
		},
		"a Service whose name is no DNS label": {
			manifests: "apiVersion: v1\nkind: Service\nmetadata: {name: 1.a}\nspec: {ports: [{port: 80}]}\n",
			want:      `Service 1.a: Service "1.a" is invalid: metadata.name: Invalid value: "1.a": must not contain dots`,
		},
		"a kind without rules": {
			manifests: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
			want:      "Pod a: no rules for kind Pod of v1: add its strategy to the package schema",
		},
		"no object at all": {
			manifests: "---\n# nothing\n",
			want:      "no object in the manifests",
		},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, test.want, v.Validate([]byte(test.manifests)))
		})
	}
}

func TestRestricted(t *testing.T) {
	for name, test := range map[string]struct {
		manifests string
		want      string
	}{
		"a hardened pod": {manifests: hardened},
		"a pod that may run as root": {
			manifests: strings.Replace(hardened, "runAsNonRoot: true", "runAsNonRoot: false", 1),
			want: `Deployment viewer-handbook: violates the restricted Pod Security Standard: runAsNonRoot != true ` +
				`(pod must not set securityContext.runAsNonRoot=false)`,
		},
		"no Deployment at all": {
			manifests: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
			want:      "no Deployment in the manifests",
		},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, test.want, Restricted([]byte(test.manifests)))
		})
	}
}

// What the examples build is what users get: an API server has to accept it, in a
// namespace that enforces the restricted Pod Security Standard.
func TestExamples(t *testing.T) {
	v := newValidator(t)
	files, err := filepath.Glob(filepath.Join(repository, "examples/testdata/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no golden file of an example found")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			manifests, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Validate(manifests); err != nil {
				t.Error(err)
			}
			if strings.Contains(string(manifests), "kind: Deployment\n") {
				if err := Restricted(manifests); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

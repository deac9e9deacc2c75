package integration

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/product"
)

// judge asks the API server what it makes of manifests: strictly decoded, defaulted,
// validated, admitted, and not stored. A warning is an error here.
type judge struct {
	*fixture
	client   client.Client
	warnings *warningLog
}

func newJudge(t *testing.T) *judge {
	t.Helper()
	f := newFixture(t)
	namespace := &corev1.Namespace{}
	namespace.Name = f.namespace
	f.must(f.Client.Patch(t.Context(), namespace, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/warn": "restricted"}}}`))))
	j := &judge{fixture: f, warnings: &warningLog{}}
	config := rest.CopyConfig(f.Cluster.Config)
	config.WarningHandlerWithContext, config.WarningHandler = nil, j.warnings
	var err error
	if j.client, err = product.NewClient(config); err != nil {
		t.Fatal(err)
	}
	return j
}

// create has the API server judge one object, in the test's own namespace.
func (j *judge) create(object *unstructured.Unstructured) error {
	j.warnings.lines = nil
	object.SetNamespace(j.namespace)
	err := j.client.Create(j.Context(), object, client.DryRunAll, client.FieldValidation("Strict"))
	if err == nil && len(j.warnings.lines) > 0 {
		err = errors.New("the API server warns: " + strings.Join(j.warnings.lines, "; "))
	}
	return err
}

// manifests returns the objects of a stream of YAML documents.
func manifests(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var objects []*unstructured.Unstructured
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		object := &unstructured.Unstructured{}
		if err == nil {
			err = yaml.UnmarshalStrict(document, &object.Object)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// TestAPIServerTakesTheExamples holds what the examples build, which is what users get,
// against the API server, in a namespace of the restricted Pod Security Standard.
func TestAPIServerTakesTheExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden file of an example: %v", err)
	}
	j := newJudge(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects := manifests(t, text)
			if len(objects) == 0 {
				t.Error("the file holds no object")
			}
			for _, object := range objects {
				if err := j.create(object); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
		})
	}
}

// TestAPIServerSeesFaultsOfManifests shows that a judge finds what is wrong.
func TestAPIServerSeesFaultsOfManifests(t *testing.T) {
	j := newJudge(t)
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: {a: b}}\n" +
		"  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: a, image: a}]}\n"
	for name, test := range map[string]struct{ manifest, want string }{
		"a pod that may run as root": {deployment, `would violate PodSecurity "restricted:latest"`},
		"a misspelt field":           {strings.Replace(deployment, "image:", "imaje:", 1), `unknown field "spec.template.spec.containers[0].imaje"`},
		"the same port twice": {
			strings.Replace(deployment, "image: a", "image: a, ports: [{containerPort: 1}, {containerPort: 1}]", 1), "duplicate port definition",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := j.create(manifests(t, []byte(test.manifest))[0]); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("it says %v, not %q", err, test.want)
			}
		})
	}
}

// viewManifest returns a view with a spec in YAML's flow style.
func viewManifest(name, spec string) string {
	return fmt.Sprintf("apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: %s}\nspec: %s\n", name, spec)
}

// TestAPIServerRefusesFaultyViews holds the CRD's schema and its CEL rules against
// faulty views.
func TestAPIServerRefusesFaultyViews(t *testing.T) {
	const (
		paths = `each path must be relative and clean, such as guide/intro.md: no leading or trailing slash, ` +
			`no empty, . or .. element, no backslash, at most 1024 characters`
		label   = `metadata.name must be a DNS label of at most 56 characters, because viewer-<name> names a Service`
		noPages = `a book needs a SUMMARY.md: add it to markdowns, or name a source in contentFrom that holds one`
		one     = `exactly one of configMapRef, directory and sourceRef must be set`
		pages   = `"SUMMARY.md": "- [A](a.md)"`
	)
	inline := "{markdowns: {" + pages + "}}"
	with := func(field string) string { return "{" + field + ", markdowns: {" + pages + "}}" }
	page := func(path string) string { return fmt.Sprintf(`{markdowns: {%s, ? %q : text}}`, pages, path) }
	j := newJudge(t)
	for title, test := range map[string]struct{ name, spec, want string }{
		"inline pages":                 {spec: inline},
		"pages in folders":             {spec: page("guide/入門.md")},
		"a page that begins with dots": {spec: page(".hidden.md")},
		"two dots in front":            {spec: page("..x.md")},
		"a name of 56 characters":      {name: strings.Repeat("a", 56), spec: inline},
		"pages of a ConfigMap":         {spec: `{contentFrom: [{configMapRef: {name: b, optional: true}}]}`},
		"pages of a folder":            {spec: `{contentFrom: [{directory: {path: ./docs, ignore: "*.tmp"}}]}`},
		"no replicas":                  {spec: with("replicas: 0")},

		"a service account": {spec: with("serviceAccountName: docs.deployer-1")},

		"no spec":                   {spec: "null", want: "spec: Required value"},
		"an empty spec":             {spec: "{}", want: "spec: Invalid value: " + noPages},
		"no SUMMARY.md":             {spec: `{markdowns: {"a.md": text}}`, want: "spec: Invalid value: " + noPages},
		"no source":                 {spec: "{contentFrom: []}", want: "spec: Invalid value: " + noPages},
		"a misspelt field":          {spec: with("replica: 2"), want: `strict decoding error: unknown field "spec.replica"`},
		"a number as a page":        {spec: `{markdowns: {` + pages + `, "a.md": 1}}`, want: `spec.markdowns.a.md in body must be of type string`},
		"a text as replicas":        {spec: with(`replicas: "2"`), want: `spec.replicas in body must be of type integer`},
		"replicas above 1000":       {spec: with("replicas: 1001"), want: "spec.replicas in body should be less than or equal to 1000"},
		"a timeout above a day":     {spec: with("timeout: 24h1s"), want: "must be at least 1s and at most 24h"},
		"an interval of 999ms":      {spec: with("interval: 999ms"), want: "must be at least 1s and at most 24h"},
		"replicas below 0":          {spec: with("replicas: -1"), want: "spec.replicas in body should be greater than or equal to 0"},
		"white space in the image":  {spec: with(`viewerImage: "a b"`), want: `spec.viewerImage in body should match '^\S*$'`},
		"an account elsewhere":      {spec: with("serviceAccountName: docs/deployer"), want: "spec.serviceAccountName in body should match"},
		"an upper-case account":     {spec: with("serviceAccountName: Deployer"), want: "spec.serviceAccountName in body should match"},
		"a long account":            {spec: with("serviceAccountName: " + strings.Repeat("a", 254)), want: "spec.serviceAccountName: Too long"},
		"a name of 57 characters":   {name: strings.Repeat("a", 57), spec: inline, want: label},
		"a dotted name":             {name: "a.b", spec: inline, want: label},
		"an upper-case name":        {name: "A", spec: inline, want: label},
		"a path upwards":            {spec: page("../x.md"), want: "spec.markdowns: Invalid value: " + paths},
		"a path upwards, inside":    {spec: page("x/../../y.md"), want: "spec.markdowns: Invalid value: " + paths},
		"an absolute path":          {spec: page("/x.md"), want: "spec.markdowns: Invalid value: " + paths},
		"a folder as a path":        {spec: page("x/"), want: "spec.markdowns: Invalid value: " + paths},
		"an empty element":          {spec: page("x//y.md"), want: "spec.markdowns: Invalid value: " + paths},
		"a dot as a path":           {spec: page("."), want: "spec.markdowns: Invalid value: " + paths},
		"a dot as an element":       {spec: page("./x.md"), want: "spec.markdowns: Invalid value: " + paths},
		"a backslash":               {spec: page(`x\y.md`), want: "spec.markdowns: Invalid value: " + paths},
		"an empty path":             {spec: page(""), want: "spec.markdowns: Invalid value: " + paths},
		"a path of 1025":            {spec: page(strings.Repeat("x", 1025)), want: "spec.markdowns: Invalid value: " + paths},
		"a source without a member": {spec: `{contentFrom: [{}]}`, want: "spec.contentFrom[0]: Invalid value: " + one},
		"a source with two members": {
			spec: `{contentFrom: [{configMapRef: {name: b}, directory: {path: c}}]}`, want: "spec.contentFrom[0]: Invalid value: " + one,
		},
		"a ConfigMap without a name": {spec: `{contentFrom: [{configMapRef: {}}]}`, want: "spec.contentFrom[0].configMapRef.name: Required value"},
	} {
		t.Run(title, func(t *testing.T) {
			name := test.name
			if name == "" {
				name = "a"
			}
			err := j.create(manifests(t, []byte(viewManifest(name, test.spec)))[0])
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("it says %v, not %q", err, test.want)
			}
		})
	}
}

// TestAPIServerAffordsManyPages creates a book of the most and longest names of inline
// pages, which must not run into the limit of what CEL rules may cost.
func TestAPIServerAffordsManyPages(t *testing.T) {
	pages := map[string]any{"SUMMARY.md": "- [A](a.md)"}
	for i := range 999 {
		pages[fmt.Sprintf("%s%06d.md", strings.Repeat("folder/", 144), i)] = "text"
	}
	view := manifests(t, []byte(viewManifest("a", "{}")))[0]
	view.Object["spec"] = map[string]any{"markdowns": pages}
	if err := newJudge(t).create(view); err != nil {
		t.Error(err)
	}
}

// TestDefaultsOfAView creates a view that no controller looks at: until one has seen a
// view, kstatus has to call it in progress: that takes an observedGeneration that no
// generation equals.
func TestDefaultsOfAView(t *testing.T) {
	f := newFixture(t)
	view := manifests(t, []byte(viewManifest("a", `{suspend: true, markdowns: {"SUMMARY.md": "- [A](a.md)"}}`)))[0]
	view.SetNamespace(f.namespace)
	f.create(view)
	stored := &v1.MarkdownView{}
	if !f.get(stored, "a") {
		t.Fatal("the view doesn't exist")
	}
	// Without an API server, as in the function, they are the same.
	want := &v1.MarkdownView{Spec: v1.MarkdownViewSpec{Suspend: true, Markdowns: map[string]string{"SUMMARY.md": "- [A](a.md)"}}}
	want.Default()
	if diff := cmp.Diff(want.Spec, stored.Spec); diff != "" {
		t.Errorf("the spec's defaults (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(v1.MarkdownViewStatus{ObservedGeneration: -1}, stored.Status); diff != "" {
		t.Errorf("the status' defaults (-want +got):\n%s", diff)
	}
}

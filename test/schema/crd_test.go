package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// view returns a MarkdownView called name with a spec in YAML's flow style.
func view(name, spec string) string {
	return fmt.Sprintf("apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: %s}\nspec: %s\n", name, spec)
}

const summary = `"SUMMARY.md": "- [A](a.md)"`

func TestMarkdownView(t *testing.T) {
	const (
		paths = `each path must be relative and clean, such as guide/intro.md: no leading or trailing slash, ` +
			`no empty, . or .. element, no backslash, at most 1024 characters`
		name    = `metadata.name must be a DNS label of at most 56 characters, because viewer-<name> names a Service`
		noPages = `a book needs a SUMMARY.md: add it to markdowns, or name a source in contentFrom that holds one`
		one     = `exactly one of configMapRef, directory and sourceRef must be set`
		// What follows a fault of the schema: the rules come after it.
		unchecked = `, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; ` +
			`correct the existing errors to complete validation]`
	)
	page := func(path string) string { return fmt.Sprintf(`{markdowns: {%s, ? %q : text}}`, summary, path) }
	v := newValidator(t)
	for title, test := range map[string]struct {
		view string
		want string
	}{
		"inline pages":                 {view: view("a", `{markdowns: {`+summary+`}}`)},
		"pages in folders":             {view: view("a", page("guide/入門.md"))},
		"a page that begins with dots": {view: view("a", page(".hidden.md"))},
		"a name of 56 characters":      {view: view(strings.Repeat("a", 56), `{markdowns: {`+summary+`}}`)},
		"pages of a ConfigMap":         {view: view("a", `{contentFrom: [{configMapRef: {name: b, optional: true}}]}`)},
		"pages of a folder":            {view: view("a", `{contentFrom: [{directory: {path: ./docs, ignore: "*.tmp"}}]}`)},
		"no replicas":                  {view: view("a", `{replicas: 0, markdowns: {`+summary+`}}`)},

		"no spec":          {view: "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: a}\n", want: `[spec: Required value` + unchecked},
		"an empty spec":    {view: view("a", `{}`), want: `spec: Invalid value: ` + noPages},
		"no SUMMARY.md":    {view: view("a", `{markdowns: {"a.md": text}}`), want: `spec: Invalid value: ` + noPages},
		"no source":        {view: view("a", `{contentFrom: []}`), want: `spec: Invalid value: ` + noPages},
		"a misspelt field": {view: view("a", `{replica: 2, markdowns: {`+summary+`}}`), want: `strict decoding error: unknown fields spec.replica`},
		"a number as a page": {
			view: view("a", `{markdowns: {`+summary+`, "a.md": 1}}`),
			want: `[spec.markdowns.a.md: Invalid value: "integer": spec.markdowns.a.md in body must be of type string: "integer"` + unchecked,
		},
		"a text as replicas": {
			view: view("a", `{replicas: "2", markdowns: {`+summary+`}}`),
			want: `[spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"` + unchecked,
		},
		"replicas below 0": {
			view: view("a", `{replicas: -1, markdowns: {`+summary+`}}`),
			want: `spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0`,
		},
		"white space in the image": {
			view: view("a", `{viewerImage: "a b", markdowns: {`+summary+`}}`),
			want: `spec.viewerImage: Invalid value: "a b": spec.viewerImage in body should match '^\S*$'`,
		},

		"a name of 57 characters": {view: view(strings.Repeat("a", 57), `{markdowns: {`+summary+`}}`), want: `<nil>: Invalid value: ` + name},
		"a dotted name":           {view: view("a.b", `{markdowns: {`+summary+`}}`), want: `<nil>: Invalid value: ` + name},
		"an upper-case name": {
			view: view("A", `{markdowns: {`+summary+`}}`),
			want: `[metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), <nil>: Invalid value: ` + name + `]`,
		},

		"a path upwards":         {view: view("a", page("../x.md")), want: `spec.markdowns: Invalid value: ` + paths},
		"a path upwards, inside": {view: view("a", page("x/../../y.md")), want: `spec.markdowns: Invalid value: ` + paths},
		"an absolute path":       {view: view("a", page("/x.md")), want: `spec.markdowns: Invalid value: ` + paths},
		"a folder as a path":     {view: view("a", page("x/")), want: `spec.markdowns: Invalid value: ` + paths},
		"an empty element":       {view: view("a", page("x//y.md")), want: `spec.markdowns: Invalid value: ` + paths},
		"a dot as a path":        {view: view("a", page(".")), want: `spec.markdowns: Invalid value: ` + paths},
		"a dot as an element":    {view: view("a", page("./x.md")), want: `spec.markdowns: Invalid value: ` + paths},
		"two dots in front":      {view: view("a", page("..x.md")), want: `spec.markdowns: Invalid value: ` + paths},
		"a backslash":            {view: view("a", page(`x\y.md`)), want: `spec.markdowns: Invalid value: ` + paths},
		"an empty path":          {view: view("a", page("")), want: `spec.markdowns: Invalid value: ` + paths},
		"a path of 1025":         {view: view("a", page(strings.Repeat("x", 1025))), want: `spec.markdowns: Invalid value: ` + paths},

		"a source without a member": {view: view("a", `{contentFrom: [{}]}`), want: `spec.contentFrom[0]: Invalid value: ` + one},
		"a source with two members": {
			view: view("a", `{contentFrom: [{configMapRef: {name: b}, directory: {path: c}}]}`),
			want: `spec.contentFrom[0]: Invalid value: ` + one,
		},
		"a ConfigMap without a name": {
			view: view("a", `{contentFrom: [{configMapRef: {}}]}`),
			want: `[spec.contentFrom[0].configMapRef.name: Required value` + unchecked,
		},
	} {
		t.Run(title, func(t *testing.T) {
			err := v.Validate([]byte(test.view))
			if err != nil {
				// What comes before names the object, twice.
				_, text, _ := strings.Cut(err.Error(), ": ")
				_, invalid, ok := strings.Cut(text, " is invalid: ")
				if ok {
					text = invalid
				}
				err = errors.New(text)
			}
			check(t, test.want, err)
		})
	}
}

// A book of the most and largest inline pages that fit into a request must not
// run into the limit of what CEL rules may cost at run time.
func TestMarkdownViewOfManyPages(t *testing.T) {
	pages := map[string]any{"SUMMARY.md": "- [A](a.md)"}
	for i := range 999 {
		pages[fmt.Sprintf("%s%06d.md", strings.Repeat("folder/", 144), i)] = "text"
	}
	manifest, err := yaml.Marshal(map[string]any{
		"apiVersion": "view.zoetrope.github.io/v1",
		"kind":       "MarkdownView",
		"metadata":   map[string]any{"name": "a"},
		"spec":       map[string]any{"markdowns": pages},
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "", newValidator(t).Validate(manifest))
}

// Until a controller has seen a view, kstatus has to call it in progress: that
// takes an observedGeneration that no generation equals.
func TestMarkdownViewDefaults(t *testing.T) {
	kind := newValidator(t).custom[schema.GroupVersionKind{Group: "view.zoetrope.github.io", Version: "v1", Kind: "MarkdownView"}]
	var created *unstructured.Unstructured
	err := each([]byte(view("a", `{markdowns: {`+summary+`}}`)), func(document []byte, manifest *unstructured.Unstructured) (err error) {
		created, err = kind.create(document, manifest)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"spec": map[string]any{
			"markdowns": map[string]any{"SUMMARY.md": "- [A](a.md)"},
			"replicas":  int64(1),
			"interval":  "10m",
			"timeout":   "5m",
		},
		"status": map[string]any{"observedGeneration": int64(-1)},
	}
	got := map[string]any{"spec": created.Object["spec"], "status": created.Object["status"]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

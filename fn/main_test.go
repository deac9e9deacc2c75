package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/zoetrope/markdown-view/internal/schematest"
)

// runMain has the test's own program run as the command, for its exit status.
const runMain = "MARKDOWN_VIEW_TEST_RUNS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const view = `apiVersion: view.zoetrope.github.io/v1
kind: MarkdownView
metadata:
  name: handbook
spec:
  contentFrom:
  - configMapRef: {name: pages}
  markdowns:
    SUMMARY.md: "- [A](a.md)"
`

const pages = `apiVersion: v1
kind: ConfigMap
metadata:
  name: pages
data:
  a.md: "# A"
`

const badView = `apiVersion: view.zoetrope.github.io/v1
kind: MarkdownView
metadata: {name: bad, namespace: docs}
spec:
  markdown: {}
`

const listHead = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"

// files are the working directory of every test.
var files = map[string]string{
	"view.yaml":      view,
	"pages.yaml":     pages,
	"both.yaml":      "# two documents\n" + view + "---\n" + pages + "---\n",
	"list.yaml":      "apiVersion: v1\nkind: List\nitems:\n- " + indent(view) + "- " + indent(pages),
	"view.json":      `{"apiVersion": "view.zoetrope.github.io/v1", "kind": "MarkdownView", "metadata": {"name": "handbook"}, "spec": {"markdowns": {"SUMMARY.md": "- [A](a.md)", "a.md": ""}}}`,
	"bad.yaml":       badView,
	"deploy.yaml":    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
	"typo.yaml":      "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownVeiw\nmetadata: {name: a}\n",
	"empty.yaml":     "# nothing\n",
	"scalar.yaml":    "hello\n",
	"malformed.yaml": "a: [\n",
	"directory.yaml": strings.Replace(view, "configMapRef: {name: pages}", "directory: {path: docs}", 1),
	"loop.yaml":      "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: &a {name: b, labels: *a}\n",
	"docs/a.md":      "# A\n",
	"missing.yaml":   strings.ReplaceAll(view, "a.md", "missing.md"),
}

func indent(text string) string {
	return strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n  "), "  ")
}

func inFiles(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.Mkdir("docs", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type ran struct {
	out, errOut string
	failed      bool
}

func runCommand(args []string, in string) ran {
	var out, errOut bytes.Buffer
	cmd := command()
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	err := cmd.Execute()
	return ran{out.String(), errOut.String(), err != nil}
}

// kinds lists kind and name of each document.
func kinds(t *testing.T, manifests string) []string {
	t.Helper()
	if err := schematest.Validate([]byte(manifests)); err != nil {
		t.Error(err)
	}
	var found []string
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		var object struct {
			Kind     string                `json:"kind"`
			Metadata struct{ Name string } `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		found = append(found, object.Kind+" "+object.Metadata.Name)
	}
	return found
}

func TestByHand(t *testing.T) {
	inFiles(t)
	expanded := []string{"ConfigMap markdowns-handbook", "Deployment viewer-handbook", "Service viewer-handbook"}
	tests := map[string]struct {
		args []string
		in   string
	}{
		"a view and its pages":             {args: []string{"view.yaml", "pages.yaml"}},
		"the pages first":                  {args: []string{"pages.yaml", "view.yaml"}},
		"several documents in a file":      {args: []string{"both.yaml"}},
		"a List":                           {args: []string{"list.yaml"}},
		"JSON":                             {args: []string{"view.json"}},
		"standard input":                   {args: []string{"-"}, in: files["both.yaml"]},
		"standard input beside a file":     {args: []string{"view.yaml", "-"}, in: pages},
		"a directory in the working one":   {args: []string{"directory.yaml"}},
		"CRLF line ends":                   {args: []string{"-"}, in: strings.ReplaceAll(files["both.yaml"], "\n", "\r\n")},
		"a byte order mark":                {args: []string{"-", "pages.yaml"}, in: "\ufeff" + view},
		"a document mark at the beginning": {args: []string{"-", "pages.yaml"}, in: "---\n" + view},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := runCommand(test.args, test.in)
			if got.failed || got.errOut != "" {
				t.Fatalf("failed: %t, standard error: %s", got.failed, got.errOut)
			}
			if diff := cmp.Diff(expanded, kinds(t, got.out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestByHandErrors(t *testing.T) {
	inFiles(t)
	tests := map[string]struct {
		args []string
		in   string
		want string
	}{
		"a missing file": {
			args: []string{"view.yaml", "gone.yaml"},
			want: "error: open gone.yaml: no such file or directory\n",
		},
		"a directory in place of a file": {
			args: []string{"docs"},
			want: "error: docs is a directory: name the files in it, or name it under contentFrom in a MarkdownView\n",
		},
		"a file that is not YAML": {
			args: []string{"malformed.yaml"},
			want: "error: malformed.yaml: is not YAML: line 1: did not find expected node content\n",
		},
		"a file that holds no resource": {
			args: []string{"scalar.yaml"},
			want: "error: scalar.yaml: document 1 can't be read: must be a map\n",
		},
		"an empty file": {
			args: []string{"empty.yaml"},
			want: "error: empty.yaml: holds no resource: name a file with a MarkdownView\n",
		},
		"a file with other resources": {
			args: []string{"view.yaml", "deploy.yaml"},
			want: "error: deploy.yaml: document 1 is a resource of kind \"Deployment\": by hand, name only files with MarkdownViews and the ConfigMaps that hold their pages\n",
		},
		"a misspelt kind": {
			args: []string{"typo.yaml"},
			want: "error: typo.yaml: document 1 is a resource of kind \"MarkdownVeiw\": did you mean \"MarkdownView\"?\n",
		},
		"no view": {
			args: []string{"pages.yaml"},
			want: "error: no MarkdownView to expand: name a file that holds one\n",
		},
		"the same file twice": {
			args: []string{"view.yaml", "view.yaml", "pages.yaml"},
			want: "error: view.yaml is named twice: name each file once\n",
		},
		"the same file by two names": {
			args: []string{"view.yaml", "pages.yaml", "./docs/../view.yaml"},
			want: "error: view.yaml and ./docs/../view.yaml are the same file: name it once\n",
		},
		"an empty name": {
			args: []string{""},
			want: "error: the name of a file is empty; \"-\" is standard input\n",
		},
		"standard input twice": {
			args: []string{"-", "-"},
			in:   view,
			want: "error: \"-\" is named twice: standard input can be read only once\n",
		},
		"two views of one name": {
			args: []string{"view.yaml", "missing.yaml", "pages.yaml"},
			want: "error: MarkdownView handbook (missing.yaml): metadata.name: the MarkdownView in view.yaml has the same name and namespace: rename one of them\n",
		},
		"two views of one name in a file": {
			args: []string{"-", "pages.yaml"},
			in:   view + "---\n" + view,
			want: "error: MarkdownView handbook (standard input): metadata.name: another MarkdownView in standard input has the same name and namespace: rename one of them\n",
		},
		"a view without its pages": {
			args: []string{"view.yaml"},
			want: "error: MarkdownView handbook (view.yaml): spec.contentFrom[0].configMapRef: ConfigMap pages is not among the resources: add it, or set optional: true\n",
		},
		"a misspelt field": {
			args: []string{"bad.yaml", "view.yaml", "pages.yaml"},
			want: "error: MarkdownView docs/bad (bad.yaml): spec.markdown: unknown field: did you mean \"markdowns\"?\n",
		},
		"a missing chapter": {
			args: []string{"missing.yaml", "pages.yaml"},
			want: "error: MarkdownView handbook (missing.yaml): spec.markdowns: SUMMARY.md:1: chapter \"A\" links to missing.md, which is not among the pages: add the page or remove the line\n",
		},
		"an anchor that holds itself": {
			args: []string{"loop.yaml"},
			want: "error: loop.yaml: document 1 can't be read: a YAML anchor holds an alias of itself: write the value out\n",
		},
		"nothing on standard input": {
			args: []string{"-"},
			want: "error: standard input: holds no resource: name a file with a MarkdownView\n",
		},
		"an unknown flag": {
			args: []string{"--nope"},
			want: "error: unknown flag: --nope; see fn --help\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(ran{errOut: test.want, failed: true}, runCommand(test.args, test.in), cmp.AllowUnexported(ran{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResourceListErrors(t *testing.T) {
	inFiles(t)
	const wanted = "error: standard input must hold a ResourceList of apiVersion config.kubernetes.io/v1, as kustomize and kpt write it"
	item := func(i int, why string) string {
		return fmt.Sprintf("error: standard input: items[%d] of the ResourceList can't be read: %s\n", i, why)
	}
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	tests := map[string]struct {
		in   string
		want string
	}{
		"nothing":                  {"", wanted + ", but is empty\n"},
		"only comments":            {"# a\n---\n# b\n", wanted + ", but is empty\n"},
		"what is not YAML":         {"a: [\n", "error: standard input is not YAML: line 1: did not find expected node content\n"},
		"a word":                   {"hello\n", wanted + ", not something else: it must be a map\n"},
		"a view":                   {view, wanted + ", not a bare MarkdownView: to expand it by hand, run fn with its file name, or with - for standard input\n"},
		"another resource":         {pages, wanted + ", not resources of kind \"ConfigMap\"\n"},
		"several documents":        {files["both.yaml"], wanted + ", not a bare MarkdownView: to expand it by hand, run fn with its file name, or with - for standard input\n"},
		"a List":                   {files["list.yaml"], wanted + ", not a List\n"},
		"a list of nothing":        {listHead, "error: standard input: the ResourceList has neither items nor functionConfig\n"},
		"two lists":                {listHead + "items: []\n---\n" + listHead + "items: []\n", wanted + ", in a single document: there are 2\n"},
		"a word as an item":        {listHead + "items: [{kind: A}, a]\n", item(1, "must be a map")},
		"a list as an item":        {listHead + "items: [[a, b, c]]\n", item(0, "must be a map")},
		"null as an item":          {listHead + "items: [null]\n", item(0, "must be a map")},
		"a map as items":           {listHead + "items: {a: b}\n", "error: standard input: items of the ResourceList must be a list, not a map\n"},
		"a list as version":        {listHead + "items: [{apiVersion: [v1]}]\n", item(0, "apiVersion must be a string")},
		"a list as metadata":       {listHead + "items: [{metadata: [a]}]\n", item(0, "metadata must be a map, not a list")},
		"a map as a name":          {listHead + "items: [{metadata: {name: {a: b}}}]\n", item(0, "metadata.name must be a string")},
		"a list of labels":         {listHead + "items: [{metadata: {labels: [a]}}]\n", item(0, "metadata.labels must be a map, not a list")},
		"a map as a label":         {listHead + "items: [{metadata: {labels: {a.b/c: {}}}}]\n", item(0, "metadata.labels[a.b/c] must be a string")},
		"metadata twice":           {listHead + "items: [{metadata: {}, metadata: {}}]\n", item(0, "metadata is there twice")},
		"a name twice":             {listHead + "items: [{metadata: {name: a, name: b}}]\n", item(0, "metadata.name is there twice")},
		"an endless anchor":        {listHead + "items: [{spec: &a [*a]}]\n", item(0, "a YAML anchor holds an alias of itself: write the value out")},
		"a merged list":            {listHead + "items: [{spec: &a [b], c: {<<: *a}}]\n", item(0, "the YAML merge key in line 3 needs a map")},
		"too many aliases":         {listHead + "items:\n- " + indent(bomb), item(0, "the YAML aliases stand for too much: write the values out")},
		"another version":          {"apiVersion: v1\nkind: ResourceList\nitems: []\n", wanted + ", not one of apiVersion \"v1\"\n"},
		"a text as items":          {listHead + "items: text\n", "error: standard input: items of the ResourceList must be a list, not a text\n"},
		"items twice":              {listHead + "items: []\nitems: [{kind: A}]\n", "error: standard input: items is there twice\n"},
		"a misspelt field":         {listHead + "items: []\nfunctionconfig: {}\n", "error: standard input: the ResourceList has a field that isn't known: \"functionconfig\"\n"},
		"a view beside a list":     {listHead + "items: []\n---\n" + view, wanted + ", in a single document: there are 2\n"},
		"a list beside a view":     {view + "---\n" + listHead + "items: []\n", wanted + ", not a bare MarkdownView: to expand it by hand, run fn with its file name, or with - for standard input\n"},
		"a view after the end":     {listHead + "items: []\n... # end\n" + view, "error: standard input is not YAML: line 5: something follows the end of a document: begin the next one with \"---\"\n"},
		"two JSON values":          {`{"kind": "ResourceList", "items": []} {"kind": "ResourceList", "items": []}`, wanted + ", in a single document: there are 2\n"},
		"a word as functionConfig": {listHead + "functionConfig: a\nitems: []\n", "error: standard input: the functionConfig can't be read: must be a map\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(ran{errOut: test.want, failed: true}, runCommand(nil, test.in), cmp.AllowUnexported(ran{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is no document of its own doesn't count, and nor does how the list is written.
func TestResourceListsAsTheyMayCome(t *testing.T) {
	config := `{"apiVersion": "view.zoetrope.github.io/v1", "kind": "MarkdownView", "metadata": {"name": "handbook"}, "spec": {"markdowns": {"SUMMARY.md": "- [A](a.md)", "a.md": "\ud83d\ude00"}}}`
	yaml := listHead + "functionConfig: " + strings.ReplaceAll(config, `\ud83d\ude00`, "😀") + "\n"
	for name, in := range map[string]string{
		"with empty documents beside it": "---\n---\n# nothing\n---\n" + yaml + "---\n",
		"in JSON":                        `{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [], "functionConfig": ` + config + `}`,
		"with a byte order mark":         "\ufeff" + yaml,
		"with Windows' line ends":        strings.ReplaceAll(yaml, "\n", "\r\n"),
		"with a Mac's line ends":         strings.ReplaceAll(yaml, "\n", "\r"),
		"with its items by an alias":     strings.Replace(yaml, "kind: ResourceList\n", "kind: ResourceList\nmetadata: {annotations: &none {}}\nresults: &i []\nitems: *i\n", 1),
		"with its own fields by a merge": "<<: {" + strings.ReplaceAll(strings.TrimSpace(listHead), "\n", ", ") + ", functionConfig: " + config[:len(config)-len(`"\ud83d\ude00"}}}`)] + `"😀"}}}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommand(nil, in)
			if got.failed || got.errOut != "" || strings.Count(got.out, "\n  kind: Service\n") != 1 || !strings.Contains(got.out, `a.md: "\U0001F600"`) {
				t.Errorf("failed: %t\n%s\n%s", got.failed, got.errOut, got.out)
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, word := range []string{"help", "version"} {
		if diff := cmp.Diff(runCommand([]string{"--" + word}, ""), runCommand([]string{word}, ""), cmp.AllowUnexported(ran{})); diff != "" {
			t.Errorf("fn %s is not fn --%s: %s", word, word, diff)
		}
	}
	help := runCommand([]string{"--help"}, "")
	if help.failed || help.errOut != "" {
		t.Errorf("failed: %t, standard error: %s", help.failed, help.errOut)
	}
	for _, part := range []string{"fn [file...]", "fn view.yaml pages-configmap.yaml", "MarkdownViewTransformer", "mode: Validate", "ConfigMap", "--version"} {
		if !strings.Contains(help.out, part) {
			t.Errorf("the help doesn't say %q:\n%s", part, help.out)
		}
	}
	if diff := cmp.Diff(ran{out: "fn version dev\n"}, runCommand([]string{"--version"}, ""), cmp.AllowUnexported(ran{})); diff != "" {
		t.Error(diff)
	}
}

func TestExitStatus(t *testing.T) {
	inFiles(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config := func(view string) string { return listHead + "functionConfig:\n  " + indent(view) }
	tests := map[string]struct {
		args    []string
		in      string
		want    int
		wantOut bool // something is on standard output
		wantErr bool // something is on standard error
	}{
		"a good view by hand":           {args: []string{"both.yaml"}, wantOut: true},
		"a bad view by hand":            {args: []string{"bad.yaml"}, want: 1, wantErr: true},
		"a good view in a ResourceList": {in: config(strings.Replace(view, "configMapRef: {name: pages}", "directory: {path: docs}", 1)), wantOut: true},
		"a bad view in a ResourceList":  {in: config(badView), want: 1, wantOut: true, wantErr: true},
		"no ResourceList":               {in: view, want: 1, wantErr: true},
		"an unknown flag":               {args: []string{"--nope"}, want: 1, wantErr: true},
		"help":                          {args: []string{"--help"}, wantOut: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, test.args...)
			cmd.Env = append(os.Environ(), runMain+"=1")
			cmd.Stdin = strings.NewReader(test.in)
			var out, errOut bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errOut
			err := cmd.Run()
			status := 0
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				status = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if status != test.want {
				t.Errorf("exit status %d, want %d", status, test.want)
			}
			if got := out.Len() > 0; got != test.wantOut {
				t.Errorf("standard output: %s", out.String())
			}
			if got := errOut.Len() > 0; got != test.wantErr {
				t.Errorf("standard error: %s", errOut.String())
			}
		})
	}
}

package main

import (
	"bytes"
	"errors"
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

// TestNamesakesInNoNamespaceAndInDefault has two views that are one where they are applied as usual.
func TestNamesakesInNoNamespaceAndInDefault(t *testing.T) {
	inFiles(t)
	const said = "another MarkdownView in standard input has the same name, and one of them has no namespace"
	for namespace, warned := range map[string]bool{"default": true, "docs": false} {
		other := strings.ReplaceAll(view+"---\n"+pages, "metadata:\n", "metadata:\n  namespace: "+namespace+"\n")
		got := runCommand([]string{"-"}, files["both.yaml"]+other)
		if got.failed || strings.Contains(got.errOut, said) != warned {
			t.Errorf("%s: failed: %t, standard error: %s", namespace, got.failed, got.errOut)
		}
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

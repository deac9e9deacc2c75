package function

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// FuzzFunction feeds the function anything.
func FuzzFunction(f *testing.F) {
	inputs, err := filepath.Glob("testdata/*/input.yaml")
	if err != nil || len(inputs) == 0 {
		f.Fatalf("no inputs: %v", err)
	}
	for _, file := range inputs {
		input, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(input))
	}
	for _, input := range []string{
		"", "a", "- a", "a: [", "{}", "---\n---\n", "kind: ResourceList\nitems: []", "kind: ResourceList\nitems: [null, 1]\nfunctionConfig: 1",
		"kind: ResourceList\nitems: &a [*a]", "kind: List\nitems: []", "kind: ResourceList\nfunctionConfig: &a {kind: *a}",
		generatorInput("{markdowns: {SUMMARY.md: '- [A](a.md)', a.md: ''}}"),
		generatorInput("{contentFrom: [{directory: {path: docs}}]}"),
		generatorInput("!!binary aaaa"), generatorInput("{replicas: .nan}"),
	} {
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input string) {
		first, ok := fuzzRun(t, input)
		if !ok {
			return
		}
		second, ok := fuzzRun(t, first)
		if !ok {
			t.Fatalf("the function refuses its own output:\n%s", first)
		}
		if want, _ := asRead(t, first); want != second {
			t.Errorf("a second run changes the output: %s", cmp.Diff(want, second))
		}
	})
}

// fuzzRun returns the output, and whether the function succeeded.
func fuzzRun(t *testing.T, input string) (string, bool) {
	t.Helper()
	folder := fstest.MapFS{"docs/SUMMARY.md": {Data: []byte("- [A](a.md)\n")}, "docs/a.md": {Data: []byte("# A\n")}}
	var out, errOut bytes.Buffer
	err := RunOnResourceList(&Function{WorkingDirectory: folder}, strings.NewReader(input), &out, &errOut)
	var results framework.Results
	switch {
	case errors.As(err, &results):
		checkUntouched(t, input, out.String())
		if errOut.Len() == 0 {
			t.Error("nothing on standard error tells of the fault")
		}
	case err != nil:
		if out.Len() > 0 {
			t.Errorf("there is output in spite of %v:\n%s", err, out.String())
		}
	default:
		if _, err := (&kio.ByteReader{Reader: bytes.NewReader(out.Bytes())}).Read(); err != nil {
			t.Errorf("the output can't be read: %v\n%s", err, out.String())
		}
	}
	return out.String(), err == nil
}

// checkUntouched compares the items of a failed run with those that came in.
func checkUntouched(t *testing.T, input, output string) {
	t.Helper()
	want, items := asRead(t, input)
	for _, item := range items {
		if any, _ := usesAliases(item.YNode()); any {
			return // aliases of another item are written out
		}
	}
	if !strings.HasPrefix(output, want[:strings.LastIndex(want, "functionConfig:")+1]) {
		t.Errorf("the items changed: %s", cmp.Diff(want, output))
	}
}

// asRead returns what the function reads, written as it is, and the items of it.
func asRead(t *testing.T, input string) (string, []*yaml.RNode) {
	t.Helper()
	list, writer, err := readResourceList(strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	writer.Writer, writer.FunctionConfig = &out, list.FunctionConfig
	if err := writer.Write(list.Items); err != nil {
		t.Fatal(err)
	}
	return out.String(), list.Items
}

package function

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// ran is what a run of the function leaves behind.
type ran struct {
	out, errOut string
	err         error
}

// runIn runs the function on a ResourceList in a working directory.
func runIn(t testing.TB, dir, input string) ran {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var out, errOut bytes.Buffer
	err = RunOnResourceList(&Function{WorkingDirectory: root.FS()}, strings.NewReader(input), &out, &errOut)
	return ran{out.String(), errOut.String(), err}
}

// passedThrough is what kyaml makes of a ResourceList without a function.
func passedThrough(t testing.TB, input string) string {
	t.Helper()
	var out bytes.Buffer
	list := &kio.ByteReadWriter{Reader: strings.NewReader(input), Writer: &out, KeepReaderAnnotations: true, OmitReaderAnnotations: true}
	items, err := list.Read()
	if err != nil {
		t.Fatal(err)
	}
	if err := list.Write(items); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Each folder of testdata holds input.yaml, a ResourceList as it comes from
// standard input; expected.yaml, what goes to standard output; errors.txt, what
// goes to standard error, if anything does.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*/input.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range inputs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			input := readFileOrNothing(t, file)
			got := runIn(t, dir, input)
			compareFile(t, filepath.Join(dir, "expected.yaml"), got.out)
			compareFile(t, filepath.Join(dir, "errors.txt"), got.errOut)

			if got.err != nil {
				var results framework.Results
				if !errors.As(got.err, &results) || results.ExitCode() != 1 {
					t.Errorf("the error is %T, not results: %v", got.err, got.err)
				}
				if untouched := passedThrough(t, input); !strings.HasPrefix(got.out, untouched) {
					t.Errorf("the items didn't stay as they came (-want +got):\n%s", cmp.Diff(untouched, got.out))
				}
				return
			}
			again := runIn(t, dir, got.out)
			if diff := cmp.Diff(got, again, cmp.AllowUnexported(ran{})); diff != "" {
				t.Errorf("a second run changes its own output (-first +second):\n%s", diff)
			}
		})
	}
}

func readFileOrNothing(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// compareFile compares with a golden file; a missing one is an empty one.
func compareFile(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		err := os.Remove(file)
		if got != "" {
			err = os.WriteFile(file, []byte(got), 0o644)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(readFileOrNothing(t, file), got); diff != "" {
		t.Errorf("differs from %s, go test -update writes it anew (-want +got):\n%s", file, diff)
	}
}

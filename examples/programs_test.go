// Package examples tests the folders beside it and the commands and manifests in
// the project's documentation: what a reader copies has to work when copied.
//
// Two programs do the work, as they do for the reader: fn, built from this tree,
// and the pinned kustomize.
package examples

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// repository is the root of the source tree.
const repository = ".."

// programs is a folder with fn and kustomize, and the first one on PATH.
var programs string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "examples")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left lies in the system's folder for that
	if err := install(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	programs = dir
	return m.Run()
}

// install puts both programs into dir and dir onto PATH. kustomize is the one that
// the environment variable KUSTOMIZE names, or else that of `make bin/kustomize`.
func install(dir string) error {
	if err := command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "fn"), "./fn"); err != nil {
		return err
	}
	kustomize := os.Getenv("KUSTOMIZE")
	if kustomize == "" {
		kustomize = filepath.Join(repository, "bin", "kustomize")
		if _, err := os.Stat(kustomize); errors.Is(err, fs.ErrNotExist) {
			if err := command("make", "bin/kustomize"); err != nil {
				return err
			}
		}
	}
	kustomize, err := filepath.Abs(kustomize)
	if err != nil {
		return err
	}
	if err := os.Symlink(kustomize, filepath.Join(dir, "kustomize")); err != nil {
		return err
	}
	return os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// command runs a program in the root of the source tree.
func command(name string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// copyOf returns a copy of an example, alone in a folder of its own.
func copyOf(t *testing.T, example string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(example))
	if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// result is what a program printed and how it ended.
type result struct {
	stdout, stderr string
	failed         bool
}

// build runs kustomize in the folder from.
func build(t *testing.T, from, kustomization string, flags ...string) result {
	t.Helper()
	if flags == nil {
		flags = []string{"--enable-alpha-plugins", "--enable-exec"}
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "kustomize"), append([]string{"build", kustomization}, flags...)...)
	cmd.Dir = from
	return resultOf(t, cmd)
}

func resultOf(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", cmd, err)
	}
	return result{stdout: stdout.String(), stderr: stderr.String(), failed: err != nil}
}

// golden compares with testdata/<name>, or writes it when -update is set.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; `go test ./examples -update` writes it anew):\n%s", file, diff)
	}
}

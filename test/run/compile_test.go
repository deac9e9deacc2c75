package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zoetrope/markdown-view/test/cluster/build"
)

// TestLittleIsCompiledFirst looks at what has to be compiled before the first page is served:
// the function and the demo. What only the controller needs is as much again.
func TestLittleIsCompiledFirst(t *testing.T) {
	heavy := []string{
		"k8s.io/client-go/dynamic", "k8s.io/client-go/informers", "k8s.io/client-go/listers", "k8s.io/client-go/tools/cache",
		"sigs.k8s.io/cli-utils", "sigs.k8s.io/controller-runtime", "github.com/fluxcd", "github.com/prometheus",
		"testing",
	}
	for program, folder := range map[string]string{"the demo": ".", "the function": "../../fn"} {
		t.Run(program, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "go", "-C", folder, "list", "-deps", ".").Output()
			if err != nil {
				t.Fatal(err)
			}
			for path := range strings.FieldsSeq(string(out)) {
				for _, prefix := range heavy {
					if path == prefix || strings.HasPrefix(path, prefix+"/") {
						t.Errorf("it depends on %s, as `go list -deps -f '{{.ImportPath}} {{.Imports}}' | grep %[1]s` shows; make run would have to compile it before it shows anything", path)
					}
				}
				// Its packages for some groups are small.
				if path == "k8s.io/client-go/kubernetes" {
					t.Errorf("it depends on %s: take clients of the groups that are needed, from its folder typed", path)
				}
			}
		})
	}
}

// TestAllIsCompiledAlike: with other flags, the standard library would be compiled once more.
func TestAllIsCompiledAlike(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(makefile), "go -C test build '"+build.Quickly+"'") {
		t.Errorf("the Makefile doesn't build anything with %s", build.Quickly)
	}
	for _, command := range []string{buildFunction, buildPreview} {
		if !strings.Contains(command, " build '"+build.Quickly+"'") {
			t.Errorf("%s lacks %s", command, build.Quickly)
		}
	}
}

// goThat returns PATH with a Go that runs a command instead of compiling the controller.
func goThat(t *testing.T, instead string) string {
	t.Helper()
	program, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	script := "#!/bin/sh\ncase \"$1 $*\" in 'build '*./controller) " + instead + ";; esac\nexec " + program + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(folder, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH")
}

// waiting is what the screen says when nothing is left to do but to compile the controller.
const waiting = "] waiting for the controller to be compiled\n"

func TestRunServesABookBeforeTheControllerIsCompiled(t *testing.T) {
	needControlPlane(t)
	r := start(t, programOf(t), "RUN=simulated", goThat(t, `tail -F "$GOTMPDIR/source.go" >"$GOTMPDIR/object.o" 2>&1; exit`))
	text := r.await(t, waiting)
	if repository, err := build.Repository(); err != nil {
		t.Error(err)
	} else if (&demo{repository: repository}).mdbook() != "" && !strings.Contains(text, "the book of hello is at ") {
		t.Errorf("the book isn't served:\n%s", text)
	}
	// Ctrl-C ends what compiles it, too, and what that has started.
	if err := r.process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-r.ended; err == nil || !strings.Contains(r.read(t), "run: interrupted\n") {
		t.Errorf("it ended with %v:\n%s", err, r.read(t))
	}
	r.wantNothingLeft(t)
}

// TestRunLeavesNothingWhenNobodyReads: tee ends by the same Ctrl-C.
func TestRunLeavesNothingWhenNobodyReads(t *testing.T) {
	needControlPlane(t)
	screen, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = write.Close() }()
	r := &running{temporary: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, programOf(t))
	cmd.Env = append(os.Environ(), "TMPDIR="+r.temporary, "GOTMPDIR=", "RUN=simulated", goThat(t, `tail -F "$GOTMPDIR/source.go" >"$GOTMPDIR/object.o" 2>&1; exit`))
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReader(screen); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(line, waiting) {
			break
		}
	}
	if err := errors.Join(screen.Close(), cmd.Process.Signal(os.Interrupt)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	r.wantNothingLeft(t)
}

func TestRunSaysWhyTheControllerCannotBeCompiled(t *testing.T) {
	needControlPlane(t)
	const why = "controller/main.go:1:1: syntax error"
	r := start(t, programOf(t), "RUN=simulated", goThat(t, "echo '"+why+"' >&2; exit 1"))
	err := <-r.ended
	if text := r.read(t); err == nil || !strings.Contains(text, "run: waiting for the controller to be compiled: go build ") || !strings.Contains(text, why) {
		t.Errorf("it ended with %v, and says:\n%s", err, text)
	}
	r.wantNothingLeft(t)
}

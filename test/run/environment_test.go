package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zoetrope/markdown-view/test/cluster/build"
)

// makes runs make in a copy of what it needs to look at the machine, in a folder whose name
// has a space. setUp is run there by bash before, and may change the environment.
func makes(t *testing.T, setUp string, arguments ...string) (output string, err error) {
	t.Helper()
	repository, err := build.Repository()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "a clone")
	for _, name := range []string{"Makefile", "tools/environment.sh"} {
		content, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	script := append([]string{"-c", setUp + "\nmake --no-print-directory \"$@\"", "make"}, arguments...)
	cmd := exec.CommandContext(ctx, "bash", script...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestMakeSaysWhatTheMachineLacks(t *testing.T) {
	for name, test := range map[string]struct {
		setUp string
		want  string // empty if nothing is lacking
	}{
		"nothing":                       {"", ""},
		"HOME isn't set":                {"unset HOME", ""},
		"SIGHUP is ignored":             {"trap '' HUP", ""},
		"few files may be open":         {"ulimit -n 256", ""},
		"too few files may be open":     {"ulimit -n 100", "a process may open 100 files only: ulimit -n 1024\n"},
		"neither Go nor git":            {"few=$(mktemp -d -p .); for p in env bash make dirname mkdir; do ln -s \"$(command -v $p)\" $few; done; export PATH=$PWD/$few", "go isn't on PATH: install it\ngit isn't on PATH: install it\n"},
		"a clone that can't be changed": {"touch bin", "this copy of the repository can't be written to (bin): work in one that can, as git clone makes it\n"},
		"a home that can't be changed":  {"export HOME=/dev/null; unset XDG_CACHE_HOME", "the folder for caches can't be written to (/dev/null/.cache): set HOME or XDG_CACHE_HOME to one that can\n"},
		"caches elsewhere than at home": {"export HOME=/dev/null XDG_CACHE_HOME=$PWD/cache", ""},
		"no place for temporary files":  {"export TMPDIR=/dev/null/tmp", "the folder for temporary files can't be written to (/dev/null/tmp): set TMPDIR to one that can\n"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := makes(t, test.setUp, "environment")
			if (err == nil) != (test.want == "") || !strings.HasPrefix(out, test.want) || err == nil && out != "" {
				t.Errorf("it says %q, not %q: %v", out, test.want, err)
			}
		})
	}
}

// TestMakeGivesGoWhatItNeeds looks at the environment of the programs that make runs.
func TestMakeGivesGoWhatItNeeds(t *testing.T) {
	for name, test := range map[string]struct{ setUp, command, want string }{
		"a home, if there is none":             {"unset HOME", "test -d $$HOME && echo yes", "yes"},
		"no question to git about the version": {"export GOENV=off GOFLAGS=", "go env GOFLAGS", "-buildvcs=false"},
		"the flags that are set":               {"export GOENV=off GOFLAGS=-modcacherw", "go env GOFLAGS", "-modcacherw -buildvcs=false"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := makes(t, test.setUp, "--eval", "shown:; @"+test.command, "shown")
			if got := strings.TrimSpace(out); err != nil || got != test.want {
				t.Errorf("it is %q, not %q: %v", got, test.want, err)
			}
		})
	}
}

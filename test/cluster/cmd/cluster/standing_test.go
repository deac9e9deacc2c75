package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// TestUpStartsOneClusterThatDownEnds is the life of a cluster that stays, in a folder
// of the test's.
func TestUpStartsOneClusterThatDownEnds(t *testing.T) {
	if build.NotNeeded() {
		t.Skip("there is a cluster, none is to be started")
	}
	ctx := t.Context()
	s := standing{folder: filepath.Join(t.TempDir(), "cluster")}
	t.Cleanup(func() {
		if err := supervise.End(context.Background(), s.folder); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	if err := s.down(ctx); err != nil {
		t.Errorf("down, before anything was up: %v", err)
	}
	if err := s.up(ctx, 1); err != nil {
		t.Fatal(err)
	}
	first := s.supervisor(t)
	if err := s.up(ctx, 1); err != nil {
		t.Errorf("up, when it is up: %v", err)
	}
	if again := s.supervisor(t); again != first {
		t.Error("up has started another one")
	}
	for _, name := range []string{"kubeconfig", "bin/kubectl"} { // as the text for people says
		if _, err := os.Stat(filepath.Join(s.folder, name)); err != nil {
			t.Error(err)
		}
	}

	// What a restart of the machine does, as far as the folder is concerned.
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for alive := true; alive; { // until the kernel has freed its lock
		var err error
		if alive, err = supervise.Alive(s.folder); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.up(ctx, 1); err != nil {
		t.Fatalf("up, after it was killed: %v", err)
	}
	if err := s.answers(ctx); err != nil {
		t.Error(err)
	}
	if err := s.down(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("down has left the folder: %v", err)
	}
}

// supervisor returns the process id of the cluster's.
func (s standing) supervisor(t *testing.T) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.folder, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(content))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

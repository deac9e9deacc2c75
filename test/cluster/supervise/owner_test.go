package supervise_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// ownerVariable makes this test program an owner that starts a run, tells what
// it is, and then waits for its end.
const ownerVariable = "SUPERVISE_TEST_OWNER"

type run struct {
	Folder     string
	Supervisor int
	Child      int
}

func owner() {
	s, err := supervise.Launch(program, os.Getenv(ownerVariable))
	if err != nil {
		panic(err)
	}
	child, err := s.Start(context.Background(), shell("child", `echo $PPID > parent; exec sleep 1000`))
	if err != nil {
		panic(err)
	}
	hangUp := make(chan os.Signal, 1)
	if signal.Ignored(syscall.SIGHUP) { // as nohup leaves it to its children
		signal.Notify(hangUp, syscall.SIGHUP)
	}
	_ = json.NewEncoder(os.Stdout).Encode(run{Folder: s.Folder, Child: child.PID})
	<-hangUp
	os.Exit(1)
}

// startOwner starts an owner in a process of its own.
func startOwner(t *testing.T) (*exec.Cmd, run) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s", ownerVariable, filepath.Join(t.TempDir(), "run")))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var r run
	if err := json.NewDecoder(bufio.NewReader(stdout)).Decode(&r); err != nil {
		t.Fatal(err)
	}
	r.Supervisor = pidIn(t, filepath.Join(r.Folder, "parent"))
	return cmd, r
}

func TestNothingOutlivesItsOwner(t *testing.T) {
	for how, sent := range map[string]syscall.Signal{
		"killed":       syscall.SIGKILL,
		"Ctrl-C":       syscall.SIGINT,
		"Go's panic":   syscall.SIGABRT,
		"lost its tty": syscall.SIGHUP,
	} {
		t.Run(how, func(t *testing.T) {
			owner, r := startOwner(t)
			if err := owner.Process.Signal(sent); err != nil {
				t.Fatal(err)
			}
			// If the signal doesn't end it, the test is to fail, not to hang.
			watchdog := time.AfterFunc(time.Minute, func() {
				t.Error("the owner outlived its signal")
				_ = owner.Process.Kill()
			})
			_ = owner.Wait() // it ended by a signal, as it should
			watchdog.Stop()
			eventually(t, "the supervisor to end", func() bool { return ended(r.Supervisor) })
			wantNothingLeft(t, r.Folder, r.Child)
		})
	}
}

func TestKilledSupervisorLeavesNothing(t *testing.T) {
	owner, r := startOwner(t)
	if err := syscall.Kill(r.Supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Children don't survive their supervisor.
	eventually(t, "the child to end", func() bool { return ended(r.Child) })
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()

	// Its folder is removed by whoever looks next, once the kernel is done with the
	// process that held it.
	eventually(t, "the folder to be removed", func() bool {
		if err := supervise.ReapFolder(r.Folder); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(r.Folder)
		return errors.Is(err, fs.ErrNotExist)
	})
	wantNothingLeft(t, r.Folder)
}

func TestReapLeavesTheLivingAlone(t *testing.T) {
	s := launch(t)
	child := start(t, s, sleeper("child"))
	if err := supervise.Reap(os.TempDir()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, 0); err != nil {
		t.Errorf("the child of a living supervisor: %v", err)
	}
	if _, err := os.Stat(s.LogFile("child")); err != nil {
		t.Error(err)
	}
}

func TestReapTakesWhatTheDeadLeft(t *testing.T) {
	base := t.TempDir()
	folder, err := supervise.NewFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(base, filepath.Base(folder.Path)+"-half-removed")
	if err := os.MkdirAll(filepath.Join(half, "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := supervise.Reap(base); err != nil {
		t.Fatal(err)
	}
	wantNothingLeft(t, half)
	if alive, err := supervise.Alive(folder.Path); err != nil || !alive {
		t.Errorf("a folder that is held: alive %v, %v", alive, err)
	}
	if err := folder.Remove(); err != nil {
		t.Fatal(err)
	}
	wantNothingLeft(t, folder.Path)
}

func TestDetach(t *testing.T) {
	s := launch(t)
	child := start(t, s, sleeper("child"))
	if err := s.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, 0); err != nil {
		t.Errorf("the child of a detached supervisor: %v", err)
	}
	if err := supervise.End(t.Context(), s.Folder); err != nil {
		t.Fatal(err)
	}
	wantNothingLeft(t, s.Folder, child)
	if err := supervise.End(t.Context(), s.Folder); err != nil {
		t.Errorf("ending what has ended: %v", err)
	}
}

// ended reports whether a process that isn't a child of this one has ended.
func ended(pid int) bool {
	return syscall.Kill(pid, 0) != nil || zombie(pid)
}

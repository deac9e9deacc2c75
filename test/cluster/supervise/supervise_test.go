package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// program is the supervisor's path.
var program string

func TestMain(m *testing.M) {
	path, err := build.Supervisor(context.Background(), build.Stderr())
	if err != nil {
		panic(err)
	}
	program = path
	if os.Getenv(ownerVariable) != "" {
		owner()
	}
	os.Exit(m.Run())
}

func TestClose(t *testing.T) {
	s := launch(t)
	child := start(t, s, sleeper("child"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantNothingLeft(t, s.Folder, child)
}

func TestCloseKillsWhatChildrenLeftBehind(t *testing.T) {
	s := launch(t)
	// The shell ends; what it started has another session and parent by then.
	start(t, s, shell("shell", `setsid sleep 1000 & echo $! > orphan`))
	orphan := pidIn(t, filepath.Join(s.Folder, "orphan"))
	eventually(t, "the shell to end", func() bool { return !state(t, s, "shell").Running })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantNothingLeft(t, s.Folder, orphan)
}

func TestCloseDoesNotWaitForAStopThatDoes(t *testing.T) {
	s := launch(t)
	child := start(t, s, shell("stubborn", `trap "" TERM; echo ready; while :; do sleep 0.05; done`))
	eventually(t, "the child to ignore SIGTERM", func() bool { return logged(t, s, "stubborn") == "ready\n" })
	stopped := make(chan string, 1)
	go func() {
		state, err := s.Stop(context.Background(), "stubborn", time.Hour)
		if err != nil {
			state.Ended = "unknown"
		}
		stopped <- state.Ended
	}()
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("Close took %s", took)
	}
	// The supervisor kills it when it ends, and its answer may be quicker than the end of the pipe.
	if ended := <-stopped; ended != "unknown" && ended != "signal: killed" {
		t.Errorf("Stop answers %q without the supervisor", ended)
	}
	wantNothingLeft(t, s.Folder, child)
}

func TestProcesses(t *testing.T) {
	s := launch(t)
	ctx := t.Context()

	start(t, s, sleeper("a"))
	if _, err := s.Start(ctx, sleeper("a")); err == nil {
		t.Error("a second process of the same name was started beside the first")
	}
	got, err := s.Stop(ctx, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got.Running || got.Ended != "signal: terminated" {
		t.Errorf("after Stop: %+v", got)
	}
	start(t, s, sleeper("a")) // the name is free again

	if err := s.Signal(ctx, "a", syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if got, err = s.Stop(ctx, "a", time.Minute); err != nil || got.Ended != "signal: terminated" {
		t.Errorf("stopping a paused process: %+v, %v", got, err)
	}
	if err := s.Signal(ctx, "a", syscall.SIGCONT); err == nil {
		t.Error("a process that has ended took a signal")
	}
	start(t, s, sleeper("a"))
	if got, err = s.Stop(ctx, "a", 0); err != nil || got.Ended != "signal: killed" {
		t.Errorf("killing a process: %+v, %v", got, err)
	}
	if _, err := s.State(ctx, "b"); err == nil {
		t.Error("a process that was never started has a state")
	}
	if _, err := s.Start(ctx, supervise.Process{Name: "none", Path: "/nonexistent"}); err == nil {
		t.Error("a program that isn't there was started")
	}
}

func TestLogsAreAppended(t *testing.T) {
	s := launch(t)
	for _, word := range []string{"first", "second"} {
		start(t, s, shell("speaker", "echo "+word))
		eventually(t, "the process to end", func() bool { return !state(t, s, "speaker").Running })
	}
	if got, want := logged(t, s, "speaker"), "first\nsecond\n"; got != want {
		t.Errorf("log: %q, want %q", got, want)
	}
}

func TestReservedPort(t *testing.T) {
	s := launch(t)
	port, err := s.ReservePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("listening on a reserved port: %v, %v", listener, err)
	}
	dialer := new(net.Dialer)
	if connection, err := dialer.DialContext(t.Context(), "tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("calling a reserved port that nobody listens on: %v, %v", connection, err)
	}
	sharing := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return errors.Join(err, failed)
	}}
	listener, err := sharing.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("listening on a reserved port with SO_REUSEPORT: %v", err)
	}
	defer func() { _ = listener.Close() }()
	// Each connection must reach the listener, none the socket that reserves.
	for range 20 {
		connection, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(connection.Close(), accepted.Close()); err != nil {
			t.Error(err)
		}
	}
}

func launch(t *testing.T) *supervise.Supervisor {
	t.Helper()
	s, err := supervise.Launch(program, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return s
}

func start(t *testing.T, s *supervise.Supervisor, p supervise.Process) (pid int) {
	t.Helper()
	started, err := s.Start(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return started.PID
}

func state(t *testing.T, s *supervise.Supervisor, name string) supervise.State {
	t.Helper()
	got, err := s.State(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func sleeper(name string) supervise.Process {
	path, err := exec.LookPath("sleep")
	if err != nil {
		panic(err)
	}
	return supervise.Process{Name: name, Path: path, Args: []string{"1000"}}
}

func shell(name, script string) supervise.Process {
	return supervise.Process{Name: name, Path: "/bin/sh", Args: []string{"-c", script}}
}

func logged(t *testing.T, s *supervise.Supervisor, name string) string {
	t.Helper()
	content, err := os.ReadFile(s.LogFile(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func pidIn(t *testing.T, path string) (pid int) {
	t.Helper()
	eventually(t, path, func() bool {
		content, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(content)))
		return err == nil
	})
	return pid
}

func wantNothingLeft(t *testing.T, folder string, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) && !zombie(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder %s is left", folder)
	}
}

// zombie reports whether a process has ended and only its parent, which isn't
// the supervisor any more, has yet to notice.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(30 * time.Second)
	for !done() {
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("waited 30s for %s", what)
		}
	}
}

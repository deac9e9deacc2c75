package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// endTimeout is how long a supervisor has to kill its processes and remove its
// folder. It needs a fraction of a second; this is for machines out of breath.
const endTimeout = 30 * time.Second

// Supervisor is the owner's end: while it exists, so do the processes.
type Supervisor struct {
	// Folder is the run's folder. Whatever is put there goes with it.
	Folder string

	program *exec.Cmd
	client  *rpc.Client
	stderr  *bytes.Buffer
	closing sync.Once
	closed  error
}

// Launch starts a supervisor. The run's folder gets a new name among the
// temporary files; if folder isn't empty, it is exactly that path, where
// nothing may be.
func Launch(program, folder string) (*Supervisor, error) {
	// A session of its own: Ctrl-C goes to all processes of the terminal's
	// foreground group, and the supervisor has to survive it to clean up.
	return launch(program, folder, &syscall.SysProcAttr{Setsid: true}, "")
}

// LaunchIsolated starts a supervisor, as root on Linux, in process, mount and
// network namespaces of its own: what its processes start, mount and set up in
// the network ends with it, however it ends.
func LaunchIsolated(program, folder string) (*Supervisor, error) {
	// Inside, the processes that dead runs left can't be seen.
	if err := Reap(os.TempDir()); err != nil {
		return nil, fmt.Errorf("removing what dead runs left: %w", err)
	}
	attributes, err := isolatedAttributes()
	if err != nil {
		return nil, err
	}
	return launch(program, folder, attributes, isolatedVariable+"=true")
}

// isolatedVariable tells a supervisor that it is isolated.
const isolatedVariable = "MARKDOWN_VIEW_CLUSTER_ISOLATED"

func launch(program, folder string, attributes *syscall.SysProcAttr, variable string) (*Supervisor, error) {
	// No context: the supervisor ends when Close or the death of this program
	// hangs up, and at no other time.
	s := &Supervisor{program: exec.CommandContext(context.Background(), program), stderr: new(bytes.Buffer)}
	if folder != "" {
		s.program.Args = append(s.program.Args, folder)
	}
	s.program.Stderr = s.stderr
	s.program.SysProcAttr = attributes
	if variable != "" {
		s.program.Env = append(os.Environ(), variable)
	}
	stdin, err := s.program.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := s.program.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.program.Start(); err != nil {
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	s.client = rpc.NewClient(pipe{stdout, stdin})
	if err := s.client.Call(serviceName+".Folder", None{}, &s.Folder); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the supervisor: %w", err), s.Close())
	}
	return s, nil
}

// Start runs a process. Its name may have been used by one that has ended.
func (s *Supervisor) Start(ctx context.Context, p Process) (State, error) {
	var state State
	err := s.call(ctx, "Start", p, &state)
	return state, wrap(err, "starting %s", p.Name)
}

// Stop ends a process: SIGTERM, and after the grace period (at once, if it is
// zero) SIGKILL. It returns when the process is gone and its ports and files
// are free.
func (s *Supervisor) Stop(ctx context.Context, name string, grace time.Duration) (State, error) {
	var state State
	err := s.call(ctx, "Stop", StopArgs{Name: name, Grace: grace}, &state)
	return state, wrap(err, "stopping %s", name)
}

// Signal sends a signal to a process. That it has ended is an error.
func (s *Supervisor) Signal(ctx context.Context, name string, signal syscall.Signal) error {
	err := s.call(ctx, "Signal", SignalArgs{Name: name, Signal: signal}, &None{})
	return wrap(err, "sending %s to %s", signal, name)
}

// State tells how a process is.
func (s *Supervisor) State(ctx context.Context, name string) (State, error) {
	var state State
	err := s.call(ctx, "State", name, &state)
	return state, wrap(err, "looking at %s", name)
}

// ReservePort returns a TCP port of the loopback address that nobody gets
// until the supervisor ends, but listeners that set SO_REUSEPORT.
func (s *Supervisor) ReservePort(ctx context.Context) (int, error) {
	var port int
	err := s.call(ctx, "ReservePort", None{}, &port)
	return port, wrap(err, "reserving a port")
}

// Detach lets the run outlive its owner, who can do nothing more with it. End
// ends it.
func (s *Supervisor) Detach(ctx context.Context) error {
	if err := s.call(ctx, "Detach", None{}, &None{}); err != nil {
		return wrap(err, "detaching")
	}
	s.closing.Do(func() {}) // it isn't this owner's to close any more
	return errors.Join(s.client.Close(), s.program.Process.Release())
}

// PID is the supervisor's process id, by which its namespaces are found.
func (s *Supervisor) PID() int { return s.program.Process.Pid }

// LogFile is where a process' output goes.
func (s *Supervisor) LogFile(name string) string {
	return filepath.Join(s.Folder, "logs", name+".log")
}

// Close ends all processes and removes the folder, and returns when that is
// done. Closing again, or after Detach, does nothing.
func (s *Supervisor) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Supervisor) close() error {
	hangUp := s.client.Close()
	if errors.Is(hangUp, rpc.ErrShutdown) {
		hangUp = nil // it hung up first; how it ended says why
	}
	killer := time.AfterFunc(endTimeout, func() { _ = s.program.Process.Kill() })
	defer killer.Stop()
	if err := s.program.Wait(); err != nil {
		return fmt.Errorf("the supervisor ended with %w: %s", err, strings.TrimSpace(s.stderr.String()))
	}
	return hangUp
}

func (s *Supervisor) call(ctx context.Context, method string, args, reply any) error {
	call := s.client.Go(serviceName+"."+method, args, reply, make(chan *rpc.Call, 1))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-call.Done:
	}
	if errors.Is(call.Error, rpc.ErrShutdown) || errors.Is(call.Error, io.ErrUnexpectedEOF) {
		return errors.New("the supervisor has ended")
	}
	return call.Error
}

// pipe joins the supervisor's two ends. Closing both matters: the write end is
// what the supervisor watches.
type pipe struct {
	io.ReadCloser
	out io.WriteCloser
}

// Write writes to the supervisor.
func (p pipe) Write(b []byte) (int, error) { return p.out.Write(b) }

// Close closes both.
func (p pipe) Close() error { return errors.Join(p.out.Close(), p.ReadCloser.Close()) }

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

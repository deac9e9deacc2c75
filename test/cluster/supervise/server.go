package supervise

import (
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// marker is in the environment of every process of a run, naming its folder.
const marker = "MARKDOWN_VIEW_CLUSTER_FOLDER"

// server holds what the supervisor runs. Its exported methods, and those only,
// are called by the owner.
type server struct {
	folder   string
	forks    chan func()
	detached chan struct{}
	detach   sync.Once

	mu        sync.Mutex
	closed    bool
	processes []*process
	ports     []*os.File
}

type process struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process was waited for
}

// Serve takes orders from the owner until it hangs up (unless it has detached)
// or a signal arrives, then ends all processes. It must be called on the
// program's main thread, locked to it: on Linux a process is killed when the
// thread that started it ends.
func Serve(folder string, owner io.ReadWriteCloser, signals <-chan os.Signal) error {
	s := &server{folder: folder, forks: make(chan func()), detached: make(chan struct{})}
	methods := rpc.NewServer()
	if err := methods.RegisterName(serviceName, s); err != nil {
		return err
	}
	hungUp := make(chan struct{})
	go methods.ServeConn(&line{ReadWriteCloser: owner, hungUp: hungUp})
	for {
		select {
		case fork := <-s.forks:
			fork()
			continue
		case <-signals:
		case <-hungUp:
			select {
			case <-s.detached:
				hungUp = nil
				continue
			default:
			}
		}
		s.close()
		return nil
	}
}

// line notices at once when the owner hangs up. ServeConn returns only when
// the calls that it is busy with are done, which can be after a grace period.
type line struct {
	io.ReadWriteCloser
	hungUp chan struct{}
	once   sync.Once
}

func (l *line) Read(b []byte) (int, error) {
	n, err := l.ReadWriteCloser.Read(b)
	if err != nil {
		l.once.Do(func() { close(l.hungUp) })
	}
	return n, err
}

// Folder tells the run's folder.
func (s *server) Folder(_ None, folder *string) error {
	*folder = s.folder
	return nil
}

// Start runs a process. A name can be used again once its process has ended.
func (s *server) Start(p Process, state *State) error {
	result := make(chan error, 1)
	s.forks <- func() { result <- s.start(p, state) }
	return <-result
}

func (s *server) start(p Process, state *State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the cluster is being stopped")
	}
	at := slices.IndexFunc(s.processes, func(other *process) bool { return other.name == p.Name })
	if at >= 0 {
		select {
		case <-s.processes[at].ended:
			s.processes = slices.Delete(s.processes, at, at+1)
		default:
			return fmt.Errorf("%s is running already", p.Name)
		}
	}
	log, err := openLog(s.folder, p.Name)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := &exec.Cmd{
		Path:        p.Path,
		Args:        append([]string{filepath.Base(p.Path)}, p.Args...),
		Env:         append(append(os.Environ(), marker+"="+s.folder), p.Env...),
		Dir:         s.folder,
		Stdout:      log,
		Stderr:      log,
		SysProcAttr: childAttributes(),
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	child := &process{name: p.Name, cmd: cmd, ended: make(chan struct{})}
	s.processes = append(s.processes, child)
	go func() {
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
		close(child.ended)
	}()
	*state = child.state()
	return nil
}

// Stop ends a process and returns when it is gone. It is no error if it had
// ended by itself.
func (s *server) Stop(args StopArgs, state *State) error {
	p, err := s.find(args.Name)
	if err != nil {
		return err
	}
	p.stop(args.Grace)
	*state = p.state()
	return nil
}

// Signal sends a signal to a running process.
func (s *server) Signal(args SignalArgs, _ *None) error {
	p, err := s.find(args.Name)
	if err != nil {
		return err
	}
	return p.cmd.Process.Signal(args.Signal)
}

// State tells how a process is.
func (s *server) State(name string, state *State) error {
	p, err := s.find(name)
	if err != nil {
		return err
	}
	*state = p.state()
	return nil
}

// ReservePort finds a free TCP port on the loopback address and keeps it from
// everybody but a listener that sets SO_REUSEPORT too, as long as the
// supervisor lives.
func (s *server) ReservePort(_ None, port *int) error {
	socket, number, err := reservePort()
	if err != nil {
		return fmt.Errorf("reserving a port: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ports = append(s.ports, socket)
	*port = number
	return nil
}

// Detach lets the run live on when the owner hangs up.
func (s *server) Detach(None, *None) error {
	s.detach.Do(func() { close(s.detached) })
	return nil
}

func (s *server) find(name string) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.processes {
		if p.name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s was never started", name)
}

// close kills what runs, the youngest first. What the processes have on disk
// is thrown away anyway, so there is nothing to be gentle about.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	processes := slices.Clone(s.processes)
	s.mu.Unlock()
	for _, p := range slices.Backward(processes) {
		_ = p.cmd.Process.Kill() // fails only if it has ended
	}
	for _, p := range processes {
		<-p.ended
	}
}

func (p *process) state() State {
	select {
	case <-p.ended:
		return State{PID: p.cmd.Process.Pid, Ended: p.cmd.ProcessState.String()}
	default:
		return State{PID: p.cmd.Process.Pid, Running: true}
	}
}

func (p *process) stop(grace time.Duration) {
	if grace > 0 {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.cmd.Process.Signal(syscall.SIGCONT) // a paused process would never see the first one
		select {
		case <-p.ended:
			return
		case <-time.After(grace):
		}
	}
	_ = p.cmd.Process.Kill()
	<-p.ended
}

func openLog(folder, name string) (*os.File, error) {
	logs := filepath.Join(folder, "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

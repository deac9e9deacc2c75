package build

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// environment makes the go command's result independent of the caller's
// settings. What says where modules come from (GOPROXY and its like) is kept.
var environment = []string{"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH="}

// heartbeat is how often a long step says that it lives.
const heartbeat = 10 * time.Second

// Log takes lines of progress. Nil drops them.
type Log func(line string)

// Printf formats a line.
func (l Log) Printf(format string, args ...any) {
	if l != nil {
		l(fmt.Sprintf(format, args...))
	}
}

// Stderr returns a Log that writes to standard error, each line with the
// seconds since now.
func Stderr() Log {
	began := time.Now()
	return func(line string) {
		fmt.Fprintf(os.Stderr, "[%4.0fs] %s\n", time.Since(began).Seconds(), line)
	}
}

// Interruptible returns a context that ends with Ctrl-C, by SIGTERM, and with the terminal, if
// that isn't ignored, as by nohup. What is compiled in the background ends only with its
// context.
func Interruptible() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	// Nobody may read the output any more, as when tee ended by the same Ctrl-C. That is an error
	// of the next write then, where Go would end the program with all that it has left.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return signal.NotifyContext(context.Background(), signals...)
}

// run makes the programs, and reports whether any was downloaded.
func (r recipe) run(ctx context.Context, bin string, log Log) (downloaded bool, err error) {
	steps, err := r.download(ctx, bin, log)
	if err != nil {
		return false, err
	}
	for _, step := range steps {
		log.Printf("%s: %s", r.name, step.what)
		if err := r.runStep(ctx, bin, step, log); err != nil {
			return false, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	log.Printf("%s: done", r.name)
	return len(steps) < len(r.steps), nil
}

func (r recipe) runStep(ctx context.Context, bin string, step step, log Log) error {
	stdout := io.Discard
	if step.stdout != "" {
		file, err := os.Create(filepath.Join(bin, step.stdout))
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		stdout = file
	}
	args := make([]string, len(step.args))
	for i, arg := range step.args {
		args[i] = strings.ReplaceAll(arg, "${BIN}", bin)
	}
	work, err := r.estimate(ctx, step, log)
	if err != nil {
		return err
	}
	if err := r.goCommand(ctx, args, stdout, work); err != nil {
		return err
	}
	for _, name := range step.links {
		if err := os.Symlink(step.linkTo, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return nil
}

// goCommand runs go in the module. work, unless nil, is told of each line on standard
// error, which with `go build -v` names a package.
func (r recipe) goCommand(ctx context.Context, args []string, stdout io.Writer, work *work) (err error) {
	// Go doesn't remove its temporary files when it is interrupted.
	temporary, err := MkdirTemp("markdown-view-go-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, RemoveAll(temporary)) }()
	cmd := r.command(ctx, args)
	cmd.Env = append(append(os.Environ(), environment...), "GOTMPDIR="+temporary)
	cmd.Stdout = stdout
	stderr, write := io.Pipe()
	cmd.Stderr = write

	tail := make(chan []string)
	go func() { tail <- readLines(stderr, work) }()
	stop := every(heartbeat, work.report)
	err = cmd.Run()
	stop()
	_ = write.Close()
	last := <-tail
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("go %s: %w:\n%s", strings.Join(args, " "), err, strings.Join(last, "\n"))
	}
	return nil
}

// command is one of go, in the module.
func (r recipe) command(ctx context.Context, args []string) *exec.Cmd {
	program := "go"
	if nice, err := exec.LookPath("nice"); r.background && err == nil {
		program, args = nice, append([]string{program}, args...)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = r.module
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if r.background {
		// Go leaves its compilers running, and Ctrl-C isn't all that may cancel it.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	}
	return cmd
}

// goTemporary is where Go's settings have its temporary files; empty if they don't say.
var goTemporary = sync.OnceValue(func() string {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOTMPDIR").Output()
	if err != nil {
		return "" // the command that follows says why
	}
	return strings.TrimSpace(string(out))
})

// MkdirTemp makes a folder for Go's temporary files (GOTMPDIR), where Go would make one.
func MkdirTemp(pattern string) (string, error) {
	return os.MkdirTemp(goTemporary(), pattern)
}

// RemoveAll removes a folder, in which compilers that are about to end may still write.
func RemoveAll(folder string) error {
	const patience = 5 * time.Second
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if err := os.RemoveAll(folder); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// every calls f again and again until it is stopped, which waits for a call that runs.
func every(interval time.Duration, f func()) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				f()
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// readLines reads to the end and returns the last lines, for an error.
func readLines(from io.Reader, work *work) []string {
	const keep = 20
	var last []string
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		work.begin(scanner.Text())
		last = append(last, scanner.Text())
		last = last[max(0, len(last)-keep):]
	}
	_, _ = io.Copy(io.Discard, from) // a line too long to scan must not block the writer
	return last
}

package build

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
func (r recipe) goCommand(ctx context.Context, args []string, stdout io.Writer, work *work) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.module
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout = stdout
	// An interrupted go command removes its temporary files.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	stderr, write := io.Pipe()
	cmd.Stderr = write

	tail := make(chan []string)
	go func() { tail <- readLines(stderr, work) }()
	stop := every(heartbeat, work.report)
	err := cmd.Run()
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

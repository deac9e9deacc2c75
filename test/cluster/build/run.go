package build

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
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

func (r recipe) run(ctx context.Context, bin string, log Log) error {
	// Listing needs the sources, so it fetches exactly the modules that are
	// compiled; `go mod download` would fetch all that go.mod mentions.
	log.Printf("%s: fetching modules", r.name)
	var listed bytes.Buffer
	if err := r.goCommand(ctx, append([]string{"list", "-deps"}, r.packages...), &listed, nil); err != nil {
		return err
	}
	log.Printf("%s: %d packages to compile, less those in the cache of Go", r.name, bytes.Count(listed.Bytes(), []byte("\n")))
	for _, step := range r.steps {
		log.Printf("%s: %s", r.name, step.what)
		if err := r.runStep(ctx, bin, step, log); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	log.Printf("%s: done", r.name)
	return nil
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
	began := time.Now()
	err := r.goCommand(ctx, args, stdout, func(packages int64) {
		log.Printf("%s: still %s: %d packages in %.0fs", r.name, step.what, packages, time.Since(began).Seconds())
	})
	if err != nil {
		return err
	}
	for _, name := range step.links {
		if err := os.Symlink(step.linkTo, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return nil
}

// goCommand runs go in the module. The progress function, if there is one, is
// called every ten seconds with the number of lines on standard error, which
// with `go build -v` is the number of packages.
func (r recipe) goCommand(ctx context.Context, args []string, stdout io.Writer, progress func(lines int64)) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.module
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout = stdout
	// An interrupted go command removes its temporary files.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	stderr, write := io.Pipe()
	cmd.Stderr = write

	var lines atomic.Int64
	tail := make(chan []string)
	go func() { tail <- countLines(stderr, &lines) }()
	done := make(chan struct{})
	if progress != nil {
		go func() {
			ticker := time.NewTicker(heartbeat)
			defer ticker.Stop()
			for {
				select {
				case <-done:
					return
				case <-ticker.C:
					progress(lines.Load())
				}
			}
		}()
	}
	err := cmd.Run()
	close(done)
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

// countLines reads to the end and returns the last lines, for an error.
func countLines(from io.Reader, lines *atomic.Int64) []string {
	const keep = 20
	var last []string
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		lines.Add(1)
		last = append(last, scanner.Text())
		last = last[max(0, len(last)-keep):]
	}
	_, _ = io.Copy(io.Discard, from) // a line too long to scan must not block the writer
	return last
}

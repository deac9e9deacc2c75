// Command supervisor runs the processes of one test cluster and makes sure
// that they don't outlive it. Package supervise says how; people don't call it.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

func init() {
	runtime.LockOSThread() // supervise.Serve asks for the main thread
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "supervisor:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	// Writing to an owner that is dead must be an error, not the end.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)

	folder, err := newFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	if supervise.Isolated() {
		if err := supervise.Isolate(); err != nil {
			return err
		}
	}
	return supervise.Serve(folder.Path, stdio{}, signals)
}

// newFolder makes the folder that the only argument names, or a temporary one.
func newFolder() (*supervise.Folder, error) {
	if len(os.Args) > 1 {
		return supervise.NewFolderAt(os.Args[1])
	}
	if supervise.Isolated() {
		return supervise.NewFolder(os.TempDir()) // whoever started it has removed what dead runs left
	}
	if err := supervise.Reap(os.TempDir()); err != nil {
		return nil, fmt.Errorf("removing what dead runs left: %w", err)
	}
	return supervise.NewFolder(os.TempDir())
}

// stdio is the line to the owner.
type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }
func (stdio) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

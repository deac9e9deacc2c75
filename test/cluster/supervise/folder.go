package supervise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// folderPrefix begins the names of runs' folders among temporary files.
	folderPrefix = "markdown-view-cluster-"
	// claimPrefix begins their names until they are locked.
	claimPrefix = ".markdown-view-claim-"
	// lockName is the file in a run's folder that its supervisor holds locked.
	// The kernel frees the lock when the supervisor ends, however it ends. It
	// contains the supervisor's process id.
	lockName = "lock"
)

// Folder is a run's folder, locked by its supervisor.
type Folder struct {
	Path string
	lock *os.File
}

// NewFolder makes a folder with a new name in base.
func NewFolder(base string) (*Folder, error) {
	return claim(base, func(random string) string { return filepath.Join(base, folderPrefix+random) })
}

// NewFolderAt makes the folder of exactly this path, which must not exist.
func NewFolderAt(path string) (*Folder, error) {
	return claim(filepath.Dir(path), func(string) string { return path })
}

// claim locks the folder before it gets its name: nobody can take it for one
// that a dead supervisor left.
func claim(base string, name func(random string) string) (*Folder, error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, err
	}
	claimed, err := os.MkdirTemp(base, claimPrefix)
	if err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(claimed, lockName))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(claimed))
	}
	path := name(filepath.Base(claimed)[len(claimPrefix):])
	if err := os.Rename(claimed, path); err != nil {
		return nil, errors.Join(err, lock.Close(), os.RemoveAll(claimed))
	}
	return &Folder{Path: path, lock: lock}, nil
}

// ControlGroup is the name of the control group below which the containers of
// a run are. Those that its death leaves empty are removed with its folder.
func ControlGroup(folder string) string {
	return "markdown-view" + strings.ReplaceAll(folder, "/", "-")
}

// End ends the run whose folder this is, from outside, and returns when nothing
// is left of it. Nil also means that there was none.
func End(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	signaled := false
	for {
		alive, err := Alive(path)
		if err != nil {
			return err
		}
		if !alive {
			return ReapFolder(path) // a supervisor that was killed left it
		}
		if !signaled {
			if err := terminate(path); err != nil {
				return err
			}
			signaled = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the end of the run in %s: %w", path, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// terminate asks the supervisor that holds the folder to end. As long as it
// holds it, the process id in the lock file is its own.
func terminate(path string) error {
	content, err := os.ReadFile(filepath.Join(path, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is ending
	}
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(content))
	if err != nil {
		return fmt.Errorf("%s holds no process id: %w", lockName, err)
	}
	return syscall.Kill(pid, syscall.SIGTERM)
}

// Remove kills every process that still belongs to the folder and removes it.
func (f *Folder) Remove() error {
	return errors.Join(removeRun(f.Path), f.lock.Close())
}

// Reap removes the folders in base whose supervisors are dead, and what still
// runs in them. Those of other users are left alone.
func Reap(base string) error {
	var failed []error
	runs, err := filepath.Glob(filepath.Join(base, folderPrefix+"*"))
	if err != nil {
		return err
	}
	for _, run := range runs {
		failed = append(failed, ReapFolder(run))
	}
	claims, err := filepath.Glob(filepath.Join(base, claimPrefix+"*"))
	if err != nil {
		return err
	}
	for _, claimed := range claims {
		// A claim takes microseconds. One that is a minute old was cut off.
		if info, err := os.Stat(claimed); err == nil && time.Since(info.ModTime()) > time.Minute {
			failed = append(failed, ignorePermission(os.RemoveAll(claimed)))
		}
	}
	return errors.Join(failed...)
}

// ReapFolder does what Reap does, for one folder. Nil also means that there
// was nothing to remove.
func ReapFolder(path string) error {
	alive, err := Alive(path)
	if err != nil {
		return ignorePermission(err)
	}
	if alive {
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return ignorePermission(removeRun(path))
}

// Alive reports whether a supervisor holds the folder.
func Alive(path string) (bool, error) {
	lock, err := os.Open(filepath.Join(path, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // none there, or half removed
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = lock.Close() }()
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// removeRun kills first: a process that lives would write into what is removed.
func removeRun(path string) error {
	if err := killMarked(path); err != nil {
		return err
	}
	if err := errors.Join(unmountBelow(path), removeControlGroups(path)); err != nil {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("removing the run's folder: %w", err)
	}
	return nil
}

func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	if _, err := file.WriteString(strconv.Itoa(ownPID())); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func ignorePermission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

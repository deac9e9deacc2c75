package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// isolatedAttributes give a supervisor namespaces of its own. As the first
// process of the one for processes it takes all the others with it.
func isolatedAttributes() (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("namespaces of one's own need root")
	}
	return &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC,
	}, nil
}

// Isolated reports whether this program is a supervisor in namespaces of its own.
// Other programs are process 1 too, in a container for example.
func Isolated() bool { return os.Getpid() == 1 && os.Getenv(isolatedVariable) != "" }

// Isolate finishes what LaunchIsolated began: mounts stay inside, and /proc
// shows the processes inside.
func Isolate() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keeping mounts inside: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	return nil
}

// ownPID is the process id that others know this program by. Until Isolate is
// called, /proc is that of the namespace outside.
func ownPID() int {
	link, err := os.Readlink("/proc/self")
	if err != nil {
		return os.Getpid()
	}
	pid, err := strconv.Atoi(link)
	if err != nil {
		return os.Getpid()
	}
	return pid
}

// killAll kills all other processes of the namespace and waits for them: the
// children of those that end become this one's.
func killAll() {
	for {
		_ = syscall.Kill(-1, syscall.SIGKILL) // fails when there is none
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// unmountBelow unmounts what an isolated run has mounted in its folder, or from
// there elsewhere, the youngest first. Other runs mount nothing.
func unmountBelow(folder string) error {
	if !Isolated() {
		return nil
	}
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	var failed []error
	for _, line := range slices.Backward(bytes.Split(content, []byte("\n"))) {
		fields := bytes.Fields(line)
		if len(fields) < 5 {
			continue
		}
		// What of its file system is mounted, and where.
		root, point := string(fields[3]), string(fields[4])
		if !strings.HasPrefix(point, folder+"/") && !strings.Contains(root, filepath.Base(folder)+"/") {
			continue
		}
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			failed = append(failed, fmt.Errorf("unmounting %s: %w", point, err))
		}
	}
	return errors.Join(failed...)
}

// KillContainers kills the processes of a run's containers: those in control
// groups whose path holds a pod's uid, and whose program has this name. Empty
// ones are any pod and any program.
func KillContainers(folder, uid, program string) error {
	pids, err := ContainerProcesses(folder, uid)
	for _, pid := range pids {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil || program != "" && strings.TrimSpace(string(name)) != program {
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by now
	}
	return err
}

// ContainerProcesses returns the processes of a run's containers: those in control groups
// whose path holds a pod's uid. An empty one is any pod.
func ContainerProcesses(folder, uid string) ([]int, error) {
	var pids []int
	for _, root := range controlGroupRoots() {
		err := filepath.WalkDir(filepath.Join(root, ControlGroup(folder)), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() != "cgroup.procs" || !strings.Contains(path, uid) {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for field := range strings.FieldsSeq(string(content)) {
				pid, err := strconv.Atoi(field)
				if err != nil {
					return err
				}
				pids = append(pids, pid)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return pids, err
		}
	}
	return pids, nil
}

func removeControlGroups(folder string) error {
	var failed []error
	for _, root := range controlGroupRoots() {
		var groups []string
		err := filepath.WalkDir(filepath.Join(root, ControlGroup(folder)), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				groups = append(groups, path)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
		for _, group := range slices.Backward(groups) {
			if err := removeControlGroup(group); err != nil {
				failed = append(failed, fmt.Errorf("removing the control group %s: %w", group, err))
			}
		}
	}
	return errors.Join(failed...)
}

// removeControlGroup tries for a while: the kernel takes a moment to see that
// a group's last process is gone.
func removeControlGroup(group string) error {
	for range 100 {
		err := unix.Rmdir(group)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return unix.EBUSY
}

// controlGroupRoots are the hierarchies: one with version 2, more with version
// 1, where some can be links to others.
func controlGroupRoots() []string {
	const mounted = "/sys/fs/cgroup"
	roots := []string{mounted}
	entries, err := os.ReadDir(mounted)
	if err != nil {
		return nil // no control groups, none to remove
	}
	for _, entry := range entries {
		if entry.IsDir() {
			roots = append(roots, filepath.Join(mounted, entry.Name()))
		}
	}
	return roots
}

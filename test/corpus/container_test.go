//go:build linux

package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// container is a process as a container runtime starts it.
type container struct {
	// Image is the folder that the root's own files are in; nothing in it can be written.
	Image string
	// Mounts are the volumes.
	Mounts []mount
	// WorkingDir, Command and Env are those of the process.
	WorkingDir   string
	Command, Env []string
	// User is the process's user and group, where the test may choose.
	User int
	// Group is the folder of its control group; empty for none.
	Group string
}

type mount struct {
	From, To string
	ReadOnly bool
}

// enterVariable has the test binary become what the container says, instead of testing.
const enterVariable = "CORPUS_CONTAINER"

// start starts a container in mount, process and network namespaces of its own: every
// mdBook has port 3000 for itself.
func (c container) start(t *testing.T) *process {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{command: exec.Command("/proc/self/exe"), root: t.TempDir(), done: make(chan struct{})}
	p.command.Args = []string{"container", p.root}
	p.command.Env = []string{enterVariable + "=" + string(text)}
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	p.command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	go func() {
		p.err = p.command.Wait()
		close(p.done)
	}()
	return p
}

type process struct {
	command *exec.Cmd
	root    string
	output  bytes.Buffer // to be read when it is done
	done    chan struct{}
	err     error // of a process that is done
}

func (p *process) kill() {
	_ = p.command.Process.Kill() // it may be gone already
	<-p.done
}

// wait waits for the end of a process.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		p.kill()
		return fmt.Errorf("%w: %w", ctx.Err(), p.err)
	}
}

// serves waits until a process listens on mdBook's port, or ends.
func (p *process) serves(ctx context.Context) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return fmt.Errorf("it ended: %w", p.err)
		case <-ctx.Done():
			p.kill()
			return ctx.Err()
		case <-ticker.C:
			if p.listens() {
				return nil
			}
		}
	}
}

// listens looks for port 3000 in the state LISTEN among the sockets of its namespace.
func (p *process) listens() bool {
	sockets, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", p.command.Process.Pid))
	return err == nil && strings.Contains(string(sockets), ":0BB8 00000000:0000 0A")
}

// enter becomes the process that the container says. It returns only if that fails.
func enter(root, text string) error {
	var c container
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	if c.Group != "" {
		if err := os.WriteFile(filepath.Join(c.Group, "cgroup.procs"), []byte("0"), 0o644); err != nil {
			return err
		}
	}
	if err := c.mountRoot(root); err != nil {
		return err
	}
	if err := errors.Join(unix.Chroot(root), os.Chdir(c.WorkingDir)); err != nil {
		return err
	}
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(c.User), syscall.Setuid(c.User)); err != nil {
		return err
	}
	const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if err := os.Setenv("PATH", path); err != nil {
		return err
	}
	program, err := exec.LookPath(c.Command[0])
	if err != nil {
		return err
	}
	return syscall.Exec(program, c.Command, append([]string{"PATH=" + path}, c.Env...))
}

// mountRoot puts the root together: the image's folders and the volumes, in a file
// system that can't be written.
func (c container) mountRoot(root string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("root", root, "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}
	folders, err := os.ReadDir(c.Image)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := bind(root, mount{filepath.Join(c.Image, folder.Name()), folder.Name(), true}); err != nil {
			return err
		}
	}
	for _, m := range c.Mounts {
		if err := bind(root, m); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(root, c.WorkingDir), 0o755); err != nil {
		return err
	}
	return unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

func bind(root string, m mount) error {
	to := filepath.Join(root, m.To)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(m.From, to, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", m.To, err)
	}
	if !m.ReadOnly {
		return nil
	}
	return unix.Mount("", to, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

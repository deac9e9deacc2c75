package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// ownerVariable makes this test program the owner of a cluster with a pod, who
// tells what it is and then waits for its end.
const ownerVariable = "E2E_OWNER"

// TestNothingIsLeftBehind kills such an owner, and a supervisor, and looks for
// processes, mounts, links, control groups and files.
func TestNothingIsLeftBehind(t *testing.T) {
	if shared.Supports(cluster.Node) != nil {
		t.Skip("an existing cluster stays")
	}
	t.Parallel()
	before, err := podInterfaces() // those of podman, say
	if err != nil {
		t.Fatal(err)
	}
	for what, kill := range map[string]func(owner, supervisor int) error{
		"when the test is killed":       func(owner, _ int) error { return syscall.Kill(owner, syscall.SIGKILL) },
		"when the supervisor is killed": func(_, supervisor int) error { return syscall.Kill(supervisor, syscall.SIGKILL) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			owner, folder, supervisor := startOwner(t)
			if err := kill(owner.Process.Pid, supervisor); err != nil {
				t.Fatal(err)
			}
			// The owner is the only one who could see that its supervisor is gone.
			_ = owner.Process.Kill() // it may have been killed already
			_ = owner.Wait()
			clustertest.Eventually(t, patience, clustertest.Often, "the supervisor to end", func() string {
				if syscall.Kill(supervisor, 0) == nil {
					return "it runs"
				}
				return ""
			})
			// What the next start does.
			clustertest.Eventually(t, patience, clustertest.Often, "the rest to be removed", func() string {
				if err := supervise.Reap(os.TempDir()); err != nil {
					t.Fatal(err)
				}
				return left(folder, before)
			})
		})
	}
}

// startOwner returns an owner, and its cluster's folder and supervisor.
func startOwner(t *testing.T) (owner *exec.Cmd, folder string, supervisor int) {
	t.Helper()
	owner = exec.CommandContext(t.Context(), os.Args[0])
	owner.Env = append(os.Environ(), ownerVariable+"=true")
	owner.Stderr = os.Stderr
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the owner has ended: %v", err)
	}
	if _, err := fmt.Sscan(line, &folder, &supervisor); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	if err := syscall.Kill(supervisor, 0); err != nil {
		t.Fatalf("the supervisor: %v", err)
	}
	return owner, folder, supervisor
}

// own is what an owner does.
func own() error {
	ctx := context.Background()
	c, err := cluster.Start(ctx, cluster.Options{RealNode: true, Log: build.Stderr()})
	if err != nil {
		return err
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	if err := c.PushFiles(ctx, "test/sleeper:1", map[string]string{"bin/busybox": busybox}); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"run", "sleeper", "--image=test/sleeper:1", "--", "/bin/busybox", "sleep", "1000"},
		{"wait", "pod/sleeper", "--for=condition=Ready", "--timeout=2m"},
	} {
		if _, err := c.Kubectl(ctx, "", args...); err != nil {
			return errors.Join(err, c.Stop())
		}
	}
	lock, err := os.ReadFile(filepath.Join(c.Folder(), "lock"))
	if err != nil {
		return err
	}
	fmt.Println(c.Folder(), string(lock))
	time.Sleep(time.Hour) // whoever started this ends it sooner
	return c.Stop()
}

// podInterfaces are the network interfaces, outside of all nodes, that are named as pods' are.
func podInterfaces() ([]string, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, link := range interfaces {
		if strings.HasPrefix(link.Name, "cni") {
			names = append(names, link.Name)
		}
	}
	return names, nil
}

// left tells what there still is of a run, beside the interfaces of before; "" if nothing.
func left(folder string, before []string) string {
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return "the folder " + folder
	}
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		if groups, err := filepath.Glob(pattern + supervise.ControlGroup(folder)); err != nil || len(groups) > 0 {
			return fmt.Sprintf("control groups %v, %v", groups, err)
		}
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err.Error()
	}
	for _, process := range processes {
		for _, file := range []string{"cmdline", "environ", "mountinfo"} {
			if content, err := os.ReadFile(filepath.Join(process, file)); err == nil && strings.Contains(string(content), folder) {
				return process + "/" + file
			}
		}
	}
	now, err := podInterfaces()
	if err != nil {
		return err.Error()
	}
	for _, name := range now {
		if !slices.Contains(before, name) {
			return "the network interface " + name
		}
	}
	return ""
}

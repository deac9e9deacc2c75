package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// DialNode connects as a program on the real node does: to Services and pods,
// by their addresses.
func (c *Cluster) DialNode(ctx context.Context, kind, address string) (net.Conn, error) {
	if err := c.Supports(Node); err != nil {
		return nil, err
	}
	return dialFrom(ctx, c.supervisor.PID(), kind, address)
}

// DialPod connects as a program in a pod on the real node does.
func (c *Cluster) DialPod(ctx context.Context, pod *corev1.Pod, kind, address string) (net.Conn, error) {
	if err := c.Supports(Node); err != nil {
		return nil, err
	}
	pids, err := supervise.ContainerProcesses(c.Folder(), string(pod.UID))
	if err != nil {
		return nil, err
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("pod %s/%s has no process", pod.Namespace, pod.Name)
	}
	return dialFrom(ctx, pids[0], kind, address)
}

// dialFrom connects from the network of a process.
func dialFrom(ctx context.Context, pid int, kind, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		// The namespace is the thread's. Never unlocked, the thread ends with this
		// goroutine, and nobody else ever runs in that namespace.
		runtime.LockOSThread()
		if err := enterNetwork(pid); err != nil {
			done <- result{err: err}
			return
		}
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, kind, address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

func enterNetwork(pid int) (err error) {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, namespace.Close()) }()
	return unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
}

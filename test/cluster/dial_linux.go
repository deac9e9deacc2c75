package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// DialNode connects as a program on the real node does: to Services and pods,
// by their addresses.
func (c *Cluster) DialNode(ctx context.Context, kind, address string) (net.Conn, error) {
	if err := c.Supports(Node); err != nil {
		return nil, err
	}
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		// The namespace is the thread's. Never unlocked, the thread ends with this
		// goroutine, and nobody else ever runs in that namespace.
		runtime.LockOSThread()
		if err := enterNetwork(c.supervisor.PID()); err != nil {
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

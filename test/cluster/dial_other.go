//go:build !linux

package cluster

import (
	"context"
	"net"

	corev1 "k8s.io/api/core/v1"
)

// DialNode fails: only Linux has real nodes.
func (c *Cluster) DialNode(context.Context, string, string) (net.Conn, error) {
	return nil, c.Supports(Node)
}

// DialPod fails: only Linux has real nodes.
func (c *Cluster) DialPod(context.Context, *corev1.Pod, string, string) (net.Conn, error) {
	return nil, c.Supports(Node)
}

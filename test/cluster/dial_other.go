//go:build !linux

package cluster

import (
	"context"
	"net"
)

// DialNode fails: only Linux has real nodes.
func (c *Cluster) DialNode(context.Context, string, string) (net.Conn, error) {
	return nil, c.Supports(Node)
}

// Package controller runs the product's controller in a cluster, as a program with no more
// rights than its manifests give. It may import no client of Kubernetes but test/cluster:
// make run has to compile it before it shows anything.
package controller

import (
	"context"
	"path/filepath"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

const (
	// Namespace is where the controller belongs.
	Namespace = "markdown-view-system"
	// User is the service account that config/rbac gives its rights to.
	User = "system:serviceaccount:" + Namespace + ":markdown-view-controller"
)

// Program is a controller's.
type Program struct {
	Path string
	// Env is added to its environment.
	Env []string
}

// Run starts it with its service account's rights. The name is that of the component.
// Arguments win over those that it gets anyway: no metrics, no fixed port.
func (p Program) Run(ctx context.Context, c *cluster.Cluster, name string, args ...string) (*cluster.Component, error) {
	user, err := c.User(User, "system:serviceaccounts", "system:serviceaccounts:"+Namespace, "system:authenticated")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(c.Folder(), name+".kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, user); err != nil {
		return nil, err
	}
	return c.Run(ctx, supervise.Process{
		Name: name, Path: p.Path,
		Args: append([]string{"--metrics-addr=0", "--health-addr=127.0.0.1:0"}, args...),
		Env:  append([]string{"KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=" + Namespace, "TMPDIR=" + c.Folder()}, p.Env...),
	})
}

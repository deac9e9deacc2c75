// Package integration tests the controller, as a program with the rights of its
// own manifests, against a real control plane with simulated nodes.
package integration

import (
	"context"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/product"
)

// controllerUser is the service account that config/rbac gives its rights to.
const controllerUser = product.User

// What most tests share. Those that break more than their own namespace start a
// cluster for themselves.
var (
	installed *product.Product
	shared    *cluster.Cluster
	admin     client.Client
)

func TestMain(m *testing.M) {
	os.Exit(clustertest.Main(m, cluster.Options{Nodes: 2}, &shared, setUp))
}

func setUp(ctx context.Context) (err error) {
	if installed, err = product.Install(ctx, shared); err != nil {
		return err
	}
	admin = installed.Client
	_, err = installed.RunController(ctx, "controller")
	return err
}

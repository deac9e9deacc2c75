// Package integration tests the controller, as a program with the rights of its
// own manifests, against a real control plane with simulated nodes.
package integration

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
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
	os.Exit(run(m))
}

func run(m *testing.M) (status int) {
	ctx := context.Background()
	ctrllog.SetLogger(logr.Discard()) // the client's, which would ask for one
	var err error
	if shared, err = cluster.Start(ctx, cluster.Options{Nodes: 2, Log: build.Stderr()}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}()
	if err := setUp(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func setUp(ctx context.Context) (err error) {
	if installed, err = product.Install(ctx, shared); err != nil {
		return err
	}
	admin = installed.Client
	_, err = installed.RunController(ctx, "controller")
	return err
}

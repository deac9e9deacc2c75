// Package integration tests the controller, as a program with the rights of its
// own manifests, against a real control plane with simulated nodes.
package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// controllerUser is the service account that config/rbac gives its rights to.
const controllerUser = "system:serviceaccount:markdown-view-system:markdown-view-controller"

var (
	shared *cluster.Cluster
	admin  client.Client
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (status int) {
	ctx := context.Background()
	c, err := cluster.Start(ctx, cluster.Options{Nodes: 2, Log: build.Stderr()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := c.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}()
	shared = c
	if err := setUp(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// setUp installs the CRD and the roles, and starts the controller.
func setUp(ctx context.Context, c *cluster.Cluster) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := v1.AddToScheme(scheme); err != nil {
		return err
	}
	var err error
	if admin, err = client.New(c.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if err := install(ctx); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-C", "../..", "-o", c.Folder()+"/", "./controller", "./fn").CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	user, err := c.User(controllerUser, "system:serviceaccounts", "system:authenticated")
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(c.Folder(), "controller.kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, user); err != nil {
		return err
	}
	_, err = c.Run(ctx, supervise.Process{
		Name: "controller", Path: filepath.Join(c.Folder(), "controller"),
		Args: []string{"--metrics-addr=0", "--health-addr=127.0.0.1:0"},
		Env:  []string{"KUBECONFIG=" + kubeconfig},
	})
	return err
}

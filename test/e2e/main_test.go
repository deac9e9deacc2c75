package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/test/browser"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/cluster/programs"
	"github.com/zoetrope/markdown-view/test/product"
)

var (
	shared    *cluster.Cluster
	installed *product.Product
	admin     client.Client
	images    imageNames
)

// needed are the programs of the suite, beside those of the node.
var needed = []programs.Program{
	{Names: []string{"buildah"}, Package: "buildah"},
	{Names: []string{"podman"}, Package: "podman"},
	{Names: []string{"unshare"}, Package: "util-linux"},
	{Names: []string{"make"}, Package: "make"},
	browser.Program,
}

func TestMain(m *testing.M) {
	if os.Getenv("E2E") == "" {
		fmt.Println("skipped: E2E isn't set; run it with make e2e")
		return
	}
	if os.Getenv(ownerVariable) != "" {
		if err := own(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	options, err := clusterOptions()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(clustertest.Main(m, options, &shared, setUp))
}

// clusterOptions are those of a cluster with a node, or for the one that KUBECONFIG
// names.
func clusterOptions() (cluster.Options, error) {
	if os.Getenv("KUBECONFIG") != "" {
		return cluster.Options{}, os.Setenv("USE_EXISTING_CLUSTER", "true")
	}
	if err := programs.Need(append(needed, programs.Node...)...); err != nil {
		return cluster.Options{}, fmt.Errorf("the tests on real pods can't run here: %w\nOr set KUBECONFIG to use a cluster that is there", err)
	}
	return cluster.Options{RealNode: true}, nil
}

// setUp provides the images, and installs the controller as people do.
func setUp(ctx context.Context) error {
	var err error
	config := rest.CopyConfig(shared.Config)
	config.WarningHandler = rest.NoWarnings{}
	if admin, err = product.NewClient(config); err != nil {
		return err
	}
	installed = &product.Product{Cluster: shared, Client: admin}
	if images, err = provideImages(ctx); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "markdown-view-e2e-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	return install(ctx, folder, images.product)
}

// install applies config/default with an image in it, and waits until it runs.
func install(ctx context.Context, folder, image string) error {
	if err := os.CopyFS(filepath.Join(folder, "config"), os.DirFS("../../config")); err != nil {
		return err
	}
	base := filepath.Join(folder, "config", "default")
	edit := exec.CommandContext(ctx, tool("kustomize"), "edit", "set", "image", "markdown-view="+image)
	edit.Dir = base
	if out, err := edit.CombinedOutput(); err != nil {
		return fmt.Errorf("set the image in config/default: %w\n%s", err, out)
	}
	for _, args := range [][]string{
		{"apply", "--server-side", "--force-conflicts", "-k", base},
		{"wait", "crd/markdownviews.view.zoetrope.github.io", "--for=condition=Established", "--timeout=1m"},
		{"rollout", "status", "deployment/markdown-view-controller", "-n", "markdown-view-system", "--timeout=3m"},
	} {
		began := time.Now()
		if out, err := kubectl(ctx, args...); err != nil {
			description, _ := kubectl(ctx, "describe", "pods", "-n", "markdown-view-system")
			return fmt.Errorf("install the controller: %w\n%s\n%s", err, out, description)
		}
		fmt.Fprintf(os.Stderr, "kubectl %s took %.1fs\n", args[0], time.Since(began).Seconds())
	}
	return nil
}

// kubectl runs kubectl against the cluster.
func kubectl(ctx context.Context, args ...string) (string, error) {
	return shared.Kubectl(ctx, "", args...)
}

// output runs a program in a folder and returns what it prints.
func output(ctx context.Context, folder, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = folder
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), err
}

// tool is the path of a program that make has built.
func tool(name string) string {
	path, err := filepath.Abs(filepath.Join("../../bin", name))
	if err != nil {
		return name
	}
	return path
}

package fluxe2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/programs"
	"github.com/zoetrope/markdown-view/test/flux"
	"github.com/zoetrope/markdown-view/test/product"
	"github.com/zoetrope/markdown-view/test/viewer"
)

// world is a cluster with the product and, once it is started, Flux.
type world struct {
	*flux.Flux
	product *product.Product
}

// shared is the one with the real node. Tests that break more than their own
// namespace start one for themselves.
var shared *world

func TestMain(m *testing.M) {
	if os.Getenv("E2E") == "" {
		fmt.Println("skipped: E2E isn't set; run it with make e2e-flux")
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) (status int) {
	ctx := context.Background()
	log.SetLogger(logr.Discard()) // or it complains that nobody did
	if err := programs.Need(programs.Node...); err != nil {
		fmt.Fprintln(os.Stderr, "the tests with Flux can't run here:", err)
		return 1
	}
	c, err := cluster.Start(ctx, cluster.Options{
		RealNode: true, Nodes: 1, Log: build.Stderr(),
		// So that a test's namespace reports whether its pods are real.
		Args: map[string][]string{cluster.APIServer: {"--enable-admission-plugins=PodNodeSelector"}},
	})
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
	if shared, err = setUp(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Close()
	return m.Run()
}

func setUp(ctx context.Context, c *cluster.Cluster) (*world, error) {
	mdbook, err := filepath.Abs("../../bin/mdbook")
	if err != nil {
		return nil, err
	}
	if err := viewer.PushImage(ctx, c, mdbook, generator.DefaultViewerImage); err != nil {
		return nil, err
	}
	w, err := newWorld(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := w.Start(ctx); err != nil {
		return nil, err
	}
	_, err = w.product.RunController(ctx, "controller")
	return w, err
}

// newWorld installs the product in a cluster, and prepares Flux for it.
func newWorld(ctx context.Context, c *cluster.Cluster) (*world, error) {
	w := &world{}
	var err error
	if w.product, err = product.Install(ctx, c); err != nil {
		return nil, err
	}
	if w.Flux, err = flux.New(ctx, c, build.Stderr()); err != nil {
		return nil, err
	}
	temporary := filepath.Join(c.Folder(), "product-tmp")
	w.product.Env = []string{"SOURCE_CONTROLLER_LOCALHOST=" + w.Artifacts.Host(), "TMPDIR=" + temporary}
	return w, os.Mkdir(temporary, 0o700)
}

package fluxe2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/cluster/programs"
	"github.com/zoetrope/markdown-view/test/flux"
	"github.com/zoetrope/markdown-view/test/product"
	"github.com/zoetrope/markdown-view/test/viewer/viewerimage"
)

// world is a cluster with the product and, once it is started, Flux.
type world struct {
	product *product.Product
	flux    *flux.Flux
}

// shared is the one with the real node. Tests that break more than their own
// namespace start one for themselves.
var shared *world

func TestMain(m *testing.M) {
	if os.Getenv("E2E") == "" {
		fmt.Println("skipped: E2E isn't set; run it with make e2e-flux")
		return
	}
	if err := programs.Need(programs.Node...); err != nil {
		fmt.Fprintln(os.Stderr, "the tests with Flux can't run here:", err)
		os.Exit(1)
	}
	var c *cluster.Cluster
	os.Exit(clustertest.Main(m, cluster.Options{
		RealNode: true, Nodes: 1,
		// So that a test's namespace reports whether its pods are real.
		Args: map[string][]string{cluster.APIServer: {"--enable-admission-plugins=PodNodeSelector"}},
	}, &c, func(ctx context.Context) (err error) {
		shared, err = setUp(ctx, c)
		return err
	}))
}

func setUp(ctx context.Context, c *cluster.Cluster) (*world, error) {
	mdbook, err := filepath.Abs("../../bin/mdbook")
	if err != nil {
		return nil, err
	}
	if err := viewerimage.Push(ctx, c, mdbook, generator.DefaultViewerImage); err != nil {
		return nil, err
	}
	w, err := newWorld(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := w.flux.Start(ctx); err != nil {
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
	if w.flux, err = flux.New(ctx, c, build.Stderr()); err != nil {
		return nil, err
	}
	w.product.Client = w.flux.Client // which knows Flux's sources, too
	temporary := filepath.Join(c.Folder(), "product-tmp")
	w.product.Env = []string{"SOURCE_CONTROLLER_LOCALHOST=" + w.flux.Artifacts.Host(), "TMPDIR=" + temporary}
	return w, os.Mkdir(temporary, 0o700)
}

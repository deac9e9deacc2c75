package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/product"
)

// inTurnViews is how many views' objects the bare loop applies at most that does one after the
// other: more of them say the same of it, and take minutes.
const inTurnViews = 200

// bareLoops are what those take who do nothing but apply the objects of views.
type bareLoops struct {
	inTurn, atOnce loop
}

// loop is how many views a second one has, and the processor time of each.
type loop struct {
	rate, processor figure
}

// bareLoops measures them, each in a cluster of its own, as the controller has: beside another
// that waits, a loop would be slower.
func (b *bench) bareLoops(ctx context.Context) (loops bareLoops, err error) {
	if b.only != "" && !slices.Contains(strings.Split(b.only, ","), clusterMeasures[0].name) {
		return bareLoops{}, nil
	}
	if loops.inTurn, err = b.bareLoop(ctx, min(b.clusterViews, inTurnViews), 1); err != nil {
		return bareLoops{}, err
	}
	loops.atOnce, err = b.bareLoop(ctx, b.clusterViews, parallel)
	return loops, err
}

// converge measures how many views a second get their objects. The views are there before the
// controller is, so that making them isn't measured.
func (b *bench) converge(ctx context.Context, f *field) error {
	if err := f.namespaces(ctx, f.viewNamespaces()...); err != nil {
		return err
	}
	if err := f.createViews(ctx, f.views, f.namespaceOf); err != nil {
		return err
	}
	since, err := f.Cluster.Mark(ctx)
	if err != nil {
		return err
	}
	if err := f.start(ctx, "controller"); err != nil {
		return err
	}
	profiled := b.profileProcessor(ctx, f)
	if err := f.allReady(ctx); err != nil {
		return err
	}
	if err := profiled(); err != nil {
		return err
	}
	processor, err := f.scrape(ctx, `process_cpu_seconds_total`)
	if err != nil {
		return err
	}
	looks, err := f.scrape(ctx, `controller_runtime_reconcile_total\{[^}]*\}`)
	if err != nil {
		return err
	}
	requests, err := f.Cluster.Requests(ctx, since, cluster.By(product.User), inViews, cluster.Writes, cluster.Not(cluster.Events))
	if err != nil {
		return err
	}
	events, err := f.Cluster.Requests(ctx, since, cluster.By(product.User), inViews, cluster.Events)
	if err != nil {
		return err
	}
	var applies []cluster.Request
	for _, r := range requests {
		if r.Subresource == "" {
			applies = append(applies, r)
		}
	}
	if len(applies) < 3*f.views {
		return fmt.Errorf("the controller applied %d objects, should be %d", len(applies), 3*f.views)
	}
	ours := rate(f.views, applies[len(applies)-1].Received.Sub(applies[0].Received))
	each := func(n int) figure { return number(float64(n) / float64(f.views)) }
	b.results.add(
		f.row("a second until all children exist / a bare loop, 16 at once", ours, f.loops.atOnce.rate, "≥ 0.8"),
		f.row("a second until all children exist / a bare loop, one after the other", ours, f.loops.inTurn.rate, ""),
		f.row("until all are Ready", duration(requests[len(requests)-1].Received.Sub(applies[0].Received)), figure{}, ""),
		f.row("requests a view until Ready, events aside / a bare loop", each(len(requests)), number(3), "≤ 2"),
		f.row("events a view until Ready", each(len(events)), figure{}, ""),
		f.row("reconciliations a view until Ready", number(looks/float64(f.views)), figure{}, ""),
		f.row("processor time a view until Ready / a bare loop's, 16 at once", figure{processor / float64(f.views), seconds}, f.loops.atOnce.processor, "≤ 8 ms"))
	return nil
}

// bareLoop applies what views expand to in a new cluster, the objects of so many views at once.
func (b *bench) bareLoop(ctx context.Context, views, atOnce int) (_ loop, err error) {
	c, err := startCluster(ctx)
	if err != nil {
		return loop{}, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	administrator, err := product.NewClient(c.Config)
	if err != nil {
		return loop{}, err
	}
	f := &field{Product: &product.Product{Cluster: c, Client: administrator}, views: views, perNamespace: b.perNamespace}
	if err := f.namespaces(ctx, f.viewNamespaces()...); err != nil {
		return loop{}, err
	}
	books := make([][]runtime.ApplyConfiguration, views)
	for i := range books {
		view, err := viewOf(i, f.namespaceOf(i))
		if err != nil {
			return loop{}, err
		}
		if books[i], err = objectsOf(view); err != nil {
			return loop{}, err
		}
	}
	before, err := processorTime()
	if err != nil {
		return loop{}, err
	}
	began := time.Now()
	err = inParallel(atOnce, len(books), func(i int) error { return f.applyBare(ctx, books[i]) })
	if err != nil {
		return loop{}, err
	}
	took := time.Since(began)
	after, err := processorTime()
	return loop{rate(views, took), duration((after - before) / time.Duration(views))}, err
}

// objectsOf are what a view expands to.
func objectsOf(view *v1.MarkdownView) ([]runtime.ApplyConfiguration, error) {
	output, err := generator.Generate(view, nil)
	if err != nil {
		return nil, err
	}
	var objects []runtime.ApplyConfiguration
	for _, configMap := range output.ConfigMaps {
		objects = append(objects, configMap)
	}
	return append(objects, output.Deployment, output.Service), nil
}

// applyBare applies objects one after the other, and does nothing else.
func (f *field) applyBare(ctx context.Context, objects []runtime.ApplyConfiguration) error {
	for _, object := range objects {
		if err := f.Client.Apply(ctx, object, client.FieldOwner("bare"), client.ForceOwnership); err != nil {
			return err
		}
	}
	return nil
}

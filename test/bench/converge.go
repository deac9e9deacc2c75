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

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/product"
)

// inTurnViews is how many views' objects the bare loop applies at most that does one after the
// other: more of them say the same of it, and take minutes.
const inTurnViews = 200

// bareLoops are how many views a second those have who do nothing but apply their objects.
type bareLoops struct {
	inTurn, atOnce figure
}

// bareLoops measures them, each in a cluster of its own, as the controller has: beside another
// that waits, a loop would be slower.
func (b *bench) bareLoops(ctx context.Context) (loops bareLoops, err error) {
	if b.only != "" && !slices.Contains(strings.Split(b.only, ","), clusterMeasures[0].name) {
		return bareLoops{}, nil
	}
	if loops.inTurn, err = bareLoop(ctx, min(b.clusterViews, inTurnViews), 1); err != nil {
		return bareLoops{}, err
	}
	loops.atOnce, err = bareLoop(ctx, b.clusterViews, parallel)
	return loops, err
}

// converge measures how many views a second get their objects. The views are there before the
// controller is, so that making them isn't measured.
func (b *bench) converge(ctx context.Context, f *field) error {
	if err := f.namespaces(ctx, "views"); err != nil {
		return err
	}
	if err := f.createViews(ctx, "views", f.views); err != nil {
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
	requests, err := f.Cluster.Requests(ctx, since, cluster.By(product.User), cluster.In("views"), cluster.Writes, cluster.Not(cluster.Events))
	if err != nil {
		return err
	}
	events, err := f.Cluster.Requests(ctx, since, cluster.By(product.User), cluster.In("views"), cluster.Events)
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
		f.row("a second until all children exist / a bare loop, 16 at once", ours, f.loops.atOnce, "≥ 0.8"),
		f.row("a second until all children exist / a bare loop, one after the other", ours, f.loops.inTurn, ""),
		f.row("until all are Ready", duration(requests[len(requests)-1].Received.Sub(applies[0].Received)), figure{}, ""),
		f.row("requests a view until Ready, events aside / a bare loop", each(len(requests)), number(3), "≤ 2"),
		f.row("events a view until Ready", each(len(events)), figure{}, ""),
		f.row("reconciliations a view until Ready", number(looks/float64(f.views)), figure{}, ""),
		f.row("processor time a view until Ready", figure{processor / float64(f.views), seconds}, figure{}, "≤ 8 ms"))
	return nil
}

// bareLoop applies what views expand to in a new cluster, so many objects at once, and returns
// how many views a second that were.
func bareLoop(ctx context.Context, views, atOnce int) (_ figure, err error) {
	c, err := startCluster(ctx)
	if err != nil {
		return figure{}, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	administrator, err := product.NewClient(c.Config)
	if err != nil {
		return figure{}, err
	}
	f := &field{Product: &product.Product{Cluster: c, Client: administrator}}
	const namespace = "bare"
	if err := f.namespaces(ctx, namespace); err != nil {
		return figure{}, err
	}
	var books [][]runtime.ApplyConfiguration
	for i := range views {
		view, err := viewOf(i, namespace)
		if err != nil {
			return figure{}, err
		}
		output, err := generator.Generate(view, nil)
		if err != nil {
			return figure{}, err
		}
		var objects []runtime.ApplyConfiguration
		for _, configMap := range output.ConfigMaps {
			objects = append(objects, configMap)
		}
		books = append(books, append(objects, output.Deployment, output.Service))
	}
	began := time.Now()
	err = inParallel(atOnce, len(books), func(i int) error {
		for _, object := range books[i] {
			if err := f.Client.Apply(ctx, object, client.FieldOwner("bare"), client.ForceOwnership); err != nil {
				return err
			}
		}
		return nil
	})
	return rate(views, time.Since(began)), err
}

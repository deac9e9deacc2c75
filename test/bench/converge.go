package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/product"
)

// How many views' objects the bare loops apply at most: more of them say the same of a
// loop, and take minutes.
const inTurnViews, inParallelViews = 200, 1000

// converge measures how many views a second get their objects, against loops that do
// nothing but apply the same objects. The views are there before the controller is, so that
// making them isn't measured.
func (b *bench) converge(ctx context.Context, f *field) error {
	var inTurn, atOnce figure
	if b.only == "" || slices.Contains(strings.Split(b.only, ","), "converge") {
		var err error
		if inTurn, err = f.bareLoop(ctx, "in-turn", min(f.views, inTurnViews), 1); err != nil {
			return err
		}
		if atOnce, err = f.bareLoop(ctx, "at-once", min(f.views, inParallelViews), parallel); err != nil {
			return err
		}
	}
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
	if f.views > inParallelViews {
		// The loop ends long before Kubernetes' controllers have made pods of all, and beside
		// them nobody applies as fast.
		first, err := untilFirst(applies, inParallelViews)
		if err != nil {
			return err
		}
		b.results.add(f.row(fmt.Sprintf("a second until the first %d's children exist / a bare loop of as many, 16 at once", inParallelViews),
			rate(inParallelViews, first), atOnce, "≥ 0.8"))
	}
	each := func(n int) figure { return number(float64(n) / float64(f.views)) }
	b.results.add(
		f.row("a second until all children exist / a bare loop, 16 at once", ours, atOnce, "≥ 0.8"),
		f.row("a second until all children exist / a bare loop, one after the other", ours, inTurn, ""),
		f.row("until all are Ready", duration(requests[len(requests)-1].Received.Sub(applies[0].Received)), figure{}, ""),
		f.row("requests a view until Ready, events aside / a bare loop", each(len(requests)), number(3), "≤ 2"),
		f.row("events a view until Ready", each(len(events)), figure{}, ""),
		f.row("reconciliations a view until Ready", number(looks/float64(f.views)), figure{}, ""),
		f.row("processor time a view until Ready", figure{processor / float64(f.views), seconds}, figure{}, "≤ 8 ms"))
	return nil
}

// untilFirst is the time until so many views have all of their children, of which a Service is
// the last.
func untilFirst(applies []cluster.Request, views int) (time.Duration, error) {
	services := map[string]bool{}
	for _, r := range applies {
		if r.Resource == "services" {
			services[r.Name] = true
		}
		if len(services) == views {
			return r.Received.Sub(applies[0].Received), nil
		}
	}
	return 0, fmt.Errorf("the controller applied %d Services, should be %d", len(services), views)
}

// bareLoop applies what views expand to, so many objects at once, and returns how many views
// a second that were. Nothing of it is left: it would be in the controller's caches.
func (f *field) bareLoop(ctx context.Context, namespace string, views, atOnce int) (figure, error) {
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
	err := inParallel(atOnce, len(books), func(i int) error {
		for _, object := range books[i] {
			if err := f.Client.Apply(ctx, object, client.FieldOwner("bare"), client.ForceOwnership); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return figure{}, err
	}
	took := time.Since(began)
	err = f.until(ctx, "the bare loop's Deployments", func() (string, error) {
		var list appsv1.DeploymentList
		if err := f.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return "", err
		}
		for i := range list.Items {
			if list.Items[i].Status.AvailableReplicas == 0 {
				return list.Items[i].Name + " isn't available", nil
			}
		}
		return "", nil
	})
	if err != nil {
		return figure{}, err
	}
	return rate(views, took), f.drop(ctx, namespace)
}

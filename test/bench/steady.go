package main

import (
	"context"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/product"
)

// idle counts what is asked for when nothing happens.
func (b *bench) idle(ctx context.Context, f *field) error {
	processor, requests, err := f.during(ctx, time.Minute)
	if err != nil {
		return err
	}
	resident, err := f.scrape(ctx, `process_resident_memory_bytes`)
	if err != nil {
		return err
	}
	for _, r := range requests {
		fmt.Fprintln(os.Stderr, "at rest:", r)
	}
	b.results.add(
		f.row("requests in an idle minute, renewed watches aside", number(len(requests)), figure{}, "0"),
		f.row("processor time in an idle minute", figure{processor, seconds}, figure{}, ""),
		f.row("resident memory after it", size(resident), figure{}, ""),
		f.row("resident memory a view after it, beyond that without views", size((resident-f.withoutViews)/float64(f.views)), figure{}, ""))
	return nil
}

// during returns what the controller takes and asks for while some time passes. Watches aren't
// among that: each ends within ten minutes, and is begun anew.
func (f *field) during(ctx context.Context, d time.Duration) (processor float64, requests []cluster.Request, err error) {
	since, err := f.Cluster.Mark(ctx)
	if err != nil {
		return 0, nil, err
	}
	before, err := f.scrape(ctx, `process_cpu_seconds_total`)
	if err != nil {
		return 0, nil, err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	after, err := f.scrape(ctx, `process_cpu_seconds_total`)
	if err != nil {
		return 0, nil, err
	}
	requests, err = f.Cluster.Requests(ctx, since, cluster.By(product.User), func(r cluster.Request) bool { return r.Verb != "watch" })
	return after - before, requests, err
}

// writes are those of views and their objects, since a mark.
func (f *field) writes(ctx context.Context, since cluster.Mark) ([]cluster.Request, error) {
	return f.Cluster.Requests(ctx, since, cluster.By(product.User), cluster.Writes, cluster.Not(cluster.Events))
}

// restart measures how long a new process takes until it has looked at all views.
func (b *bench) restart(ctx context.Context, f *field) error {
	list, err := f.listAll(ctx)
	if err != nil {
		return err
	}
	since, err := f.Cluster.Mark(ctx)
	if err != nil {
		return err
	}
	if err := f.controller.Stop(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := f.controller.Start(ctx); err != nil {
		return err
	}
	err = cluster.Await(ctx, 10*time.Minute, 200*time.Millisecond, "the controller to look at all views", func(ctx context.Context) (string, error) {
		if n, err := f.looked(ctx); err != nil || n < float64(f.views) {
			return fmt.Sprintf("it has looked %.0f times: %v", n, err), nil
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	writes, err := f.writes(ctx, since)
	if err != nil {
		return err
	}
	b.results.add(
		f.row("restart until in sync / listing all of them", duration(took), duration(list), ""),
		f.row("writes of a restart", number(len(writes)), figure{}, "0"))
	return nil
}

// looked is how often the controller has looked at a view.
func (f *field) looked(ctx context.Context) (float64, error) {
	return f.scrape(ctx, `controller_runtime_reconcile_total\{.*\}`)
}

// listAll returns how long it takes to list what the controller caches.
func (f *field) listAll(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	for _, list := range []client.ObjectList{
		&v1.MarkdownViewList{}, &corev1.ConfigMapList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.PodList{},
	} {
		if err := f.Client.List(ctx, list); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// apiOutage takes the API server away for a while. What differs afterwards is repaired as
// soon as it is seen, which takes a list of everything; and nothing is written beside it.
func (b *bench) apiOutage(ctx context.Context, f *field) error {
	list, err := f.listAll(ctx)
	if err != nil {
		return err
	}
	server, err := f.Cluster.Component(cluster.APIServer)
	if err != nil {
		return err
	}
	if err := server.Stop(ctx); err != nil {
		return err
	}
	select {
	case <-time.After(b.outage):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := server.Start(ctx); err != nil {
		return err
	}
	since, err := f.Cluster.Mark(ctx)
	if err != nil {
		return err
	}
	healed, err := f.repair(ctx, drifts[2], 0)
	if err != nil {
		return err
	}
	// Whatever else would be written is by then: all is looked at within it.
	if _, _, err := f.during(ctx, time.Minute); err != nil {
		return err
	}
	writes, err := f.writes(ctx, since)
	if err != nil {
		return err
	}
	others := 0
	for _, r := range writes {
		if r.Name != "view-0" && r.Name != "viewer-view-0" {
			others++
		}
	}
	what := fmt.Sprintf("an outage of the API server of %s, ", b.outage)
	b.results.add(
		f.row(what+"until a drift after it is repaired / listing all of them", duration(healed), duration(list), ""),
		f.row(what+"writes beside that", number(others), figure{}, "0"))
	return f.allReady(ctx)
}

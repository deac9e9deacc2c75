package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/product"
)

// rolloutsAtOnce is how many views replace their pods at once when a release has another
// viewer.
const rolloutsAtOnce = 50

// rolloutOfAll starts a controller that has another default viewer, as a release may, and
// measures how long each view isn't Ready.
func (b *bench) rolloutOfAll(ctx context.Context, f *field) error {
	next, err := b.nextRelease(ctx, f)
	if err != nil {
		return err
	}
	if err := f.controller.Stop(ctx); err != nil {
		return err
	}
	watched, err := f.watchReadiness(ctx)
	if err != nil {
		return err
	}
	since, err := f.Cluster.Mark(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	release := &field{Product: next, views: f.views, perNamespace: f.perNamespace}
	if err := release.start(ctx, "next-release", fmt.Sprintf("--concurrent-rollouts=%d", rolloutsAtOnce)); err != nil {
		return err
	}
	if err := release.allRolledOut(ctx); err != nil {
		return err
	}
	processor, err := release.scrape(ctx, `process_cpu_seconds_total`)
	if err != nil {
		return err
	}
	f.controller, f.metrics, f.profiles = release.controller, release.metrics, release.profiles
	outages, most, err := watched.stop()
	if err != nil {
		return err
	}
	writes, err := f.writes(ctx, since)
	if err != nil {
		return err
	}
	rolled := map[string]time.Time{} // when the Deployment was written first
	ready := map[string]time.Time{}  // when the status was written last
	for _, r := range writes {
		_, again := rolled[r.Name]
		switch {
		case r.Subresource == "status":
			ready[generator.ViewerName(r.Name)] = r.Received
		case r.Resource == "deployments.apps" && !again:
			rolled[r.Name] = r.Received
		}
	}
	var own, beyond []time.Duration
	for viewer, at := range rolled {
		own = append(own, ready[viewer].Sub(at))
		beyond = append(beyond, max(0, outages[viewer]-ready[viewer].Sub(at)))
	}
	if len(rolled) < f.views {
		return fmt.Errorf("%d of %d Deployments were rolled out", len(rolled), f.views)
	}
	what := fmt.Sprintf("another default viewer, %d rollouts at once: ", rolloutsAtOnce)
	b.percentiles(f, what+"a view's rollout", own, nil, "")
	b.percentiles(f, what+"not Ready beyond its own rollout", beyond, nil, "p99 < 1 s")
	b.results.add(
		f.row(what+"until all have it", duration(time.Since(began)), figure{}, ""),
		f.row(what+"views not Ready at once, at most", number(most), number(rolloutsAtOnce), "≤ 1"),
		f.row(what+"writes a view", number(float64(len(writes))/float64(f.views)), figure{}, ""),
		f.row(what+"processor time a view", figure{processor / float64(f.views), seconds}, figure{}, ""))
	return nil
}

// nextRelease builds a controller that has another default viewer, and is the same in all
// else.
func (b *bench) nextRelease(ctx context.Context, f *field) (*product.Product, error) {
	source := filepath.Join(f.Repository, "generator", "names.go")
	content, err := os.ReadFile(source)
	if err != nil {
		return nil, err
	}
	const now, then = `DefaultViewerImage = "peaceiris/mdbook:v"`, `DefaultViewerImage = "example.com/mdbook:v"`
	if bytes.Count(content, []byte(now)) != 1 {
		return nil, fmt.Errorf("%s has no %s", source, now)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: b.path("next", "names.go")}})
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		b.write("next/names.go", bytes.Replace(content, []byte(now), []byte(then), 1)),
		b.write("next/overlay.json", overlay))
	if err != nil {
		return nil, err
	}
	next := *f.Product
	next.Programs = b.path("next")
	return &next, buildReleased(ctx, &next, "-overlay", b.path("next", "overlay.json"))
}

// allRolledOut waits until the controller has looked at all views, and none waits or is
// rolled out any more.
func (f *field) allRolledOut(ctx context.Context) error {
	err := f.until(ctx, "the rollouts", func() (string, error) {
		looked, unready := f.looked(ctx)
		if unready != nil || looked < float64(f.views) {
			return fmt.Sprintf("it has looked %.0f times: %v", looked, unready), nil
		}
		if waiting, err := f.scrape(ctx, `markdownview_rollouts_waiting`); err != nil || waiting > 0 {
			return fmt.Sprintf("%.0f wait", waiting), err
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	return f.allReady(ctx)
}

// readiness is what a watch tells of views.
type readiness struct {
	watch watch.Interface
	ended sync.WaitGroup

	since   map[string]time.Time     // of those that aren't Ready, by their viewers
	outages map[string]time.Duration // the longest of each
	most    int                      // that weren't at once
}

func (f *field) watchReadiness(ctx context.Context) (*readiness, error) {
	c, err := client.NewWithWatch(f.Cluster.Config, client.Options{Scheme: f.Client.Scheme()})
	if err != nil {
		return nil, err
	}
	r := &readiness{since: map[string]time.Time{}, outages: map[string]time.Duration{}}
	if r.watch, err = c.Watch(ctx, &v1.MarkdownViewList{}); err != nil {
		return nil, err
	}
	r.ended.Go(func() {
		for e := range r.watch.ResultChan() {
			if view, ok := e.Object.(*v1.MarkdownView); ok {
				r.see(generator.ViewerName(view.Name), conditions.IsTrue(view, meta.ReadyCondition))
			}
		}
	})
	return r, nil
}

func (r *readiness) see(viewer string, ready bool) {
	since, out := r.since[viewer]
	switch {
	case !ready && !out:
		r.since[viewer] = time.Now()
		r.most = max(r.most, len(r.since))
	case ready && out:
		r.outages[viewer] = max(r.outages[viewer], time.Since(since))
		delete(r.since, viewer)
	}
}

// stop ends the watch, and returns how long each view wasn't Ready, and how many at once.
func (r *readiness) stop() (map[string]time.Duration, int, error) {
	r.watch.Stop()
	r.ended.Wait()
	if len(r.since) > 0 {
		return nil, 0, fmt.Errorf("the watch ended while %d views weren't Ready", len(r.since))
	}
	return r.outages, r.most, nil
}

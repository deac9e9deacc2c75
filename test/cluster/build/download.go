package build

import (
	"context"
	"os"
	"path/filepath"
	"sync"
)

// download fetches the programs of steps that have released ones, and returns the steps
// that are left: what can't be downloaded is compiled. The error is that of ctx.
func (r recipe) download(ctx context.Context, bin string, log Log) ([]step, error) {
	if r.downloads == nil {
		return r.steps, nil
	}
	failed := make([]error, len(r.steps))
	var progress progress
	stop := every(heartbeat/5, func() { log.Printf("%s: %s", r.name, &progress) })
	var group sync.WaitGroup
	for i, step := range r.steps {
		if len(step.released) > 0 {
			group.Go(func() { failed[i] = r.fetch(ctx, step, bin, &progress) })
		}
	}
	group.Wait()
	stop()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var left []step
	for i, step := range r.steps {
		if err := failed[i]; err != nil {
			log.Printf("%s: %v; %s instead", r.name, err, step.what)
		}
		if failed[i] != nil || len(step.released) == 0 {
			left = append(left, step)
		}
	}
	return left, nil
}

// fetch puts all programs of a step into bin, or none.
func (r recipe) fetch(ctx context.Context, step step, bin string, progress *progress) error {
	folder, err := os.MkdirTemp(filepath.Dir(bin), "downloads-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := r.downloads.all(ctx, step.released, folder, progress); err != nil {
		return err
	}
	for _, release := range step.released {
		if err := os.Rename(filepath.Join(folder, release.program), filepath.Join(bin, release.program)); err != nil {
			return err
		}
	}
	return nil
}

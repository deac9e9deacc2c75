package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/pprof/profile"
)

// profileWindow is how long the processors are profiled at once: a profile is complete only
// at its end.
const profileWindow = 10 * time.Second

// heapSamples has Go sample the heap often enough to tell what a view takes, part by part.
const heapSamples = "GODEBUG=memprofilerate=8192"

// profileProcessor profiles what the controller's processor time goes to, window after
// window, until the function that it returns is called, which merges them, and adds what was
// allocated. It costs some percent of what is measured.
func (b *bench) profileProcessor(ctx context.Context, f *field) (end func() error) {
	if b.profiles == "" {
		return func() error { return nil }
	}
	for _, earlier := range b.windows() {
		_ = os.Remove(earlier) // or merging them tells
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			path := fmt.Sprintf("/debug/pprof/profile?seconds=%d", int(profileWindow.Seconds()))
			err := b.keepProfile(ctx, f, path, fmt.Sprintf("processor-%03d", i))
			if ctx.Err() != nil {
				done <- nil
				return
			}
			if err != nil {
				i--
				time.Sleep(100 * time.Millisecond) // it doesn't listen yet
			}
		}
	}()
	return func() error {
		cancel()
		if err := <-done; err != nil {
			return err
		}
		if err := b.mergeProfiles(); err != nil {
			return err
		}
		return b.keepProfile(context.WithoutCancel(ctx), f, "/debug/pprof/allocs?gc=1", "allocations")
	}
}

// windows are the files of the windows' profiles.
func (b *bench) windows() []string {
	paths, _ := filepath.Glob(filepath.Join(b.profiles, "processor-*.pb.gz")) // the pattern is right
	return paths
}

// mergedProfile is that of all windows together. A release is compiled by it.
const mergedProfile = "processor.pb.gz"

// mergeProfiles makes one of the windows' profiles, without paths and addresses: these are the
// machine's, and a compiler reads names and lines.
func (b *bench) mergeProfiles() error {
	paths := b.windows()
	if len(paths) == 0 {
		return nil // all were Ready before the first has ended
	}
	windows := make([]*profile.Profile, len(paths))
	for i, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		window, err := profile.ParseData(content)
		if err == nil {
			err = window.Aggregate(true, true, false, true, false, false)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, mapping := range window.Mapping {
			mapping.File, mapping.BuildID = "", ""
		}
		windows[i] = window
	}
	merged, err := profile.Merge(windows)
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if err := merged.Write(&content); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.profiles, mergedProfile), content.Bytes(), 0o644)
}

// keepProfile keeps a profile of the controller in the folder of profiles.
func (b *bench) keepProfile(ctx context.Context, f *field, path, name string) error {
	content, err := get(ctx, f.profiles, path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.profiles, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.profiles, name+".pb.gz"), []byte(content), 0o644)
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// profileWindow is how long the processors are profiled at once: a profile is complete only
// at its end.
const profileWindow = 10 * time.Second

// heapSamples has Go sample the heap often enough to tell what a view takes, part by part.
const heapSamples = "GODEBUG=memprofilerate=8192"

// profileProcessor profiles what the controller's processor time goes to, window after
// window, until the function that it returns is called, which adds what was allocated. It
// costs some percent of what is measured.
func (b *bench) profileProcessor(ctx context.Context, f *field) (end func() error) {
	if b.profiles == "" {
		return func() error { return nil }
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
		return b.keepProfile(context.WithoutCancel(ctx), f, "/debug/pprof/allocs?gc=1", "allocations")
	}
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

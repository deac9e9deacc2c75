package build

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// Run provides what make run begins with: the programs of the cluster, and the demo in a
// folder. The demo has all else built while it shows something already. Whatever takes longer
// than a few seconds is logged. A cluster of kind has programs of its own.
func Run(ctx context.Context, folder string, log Log) error {
	group, ctx := errgroup.WithContext(ctx)
	waiting, provided := context.WithCancel(ctx)
	defer provided()
	group.Go(func() error {
		defer provided()
		if _, err := Supervisor(ctx, log); err != nil || NotNeeded() || withKind(os.Getenv("RUN")) {
			return err
		}
		_, err := ControlPlane(ctx, log)
		return err
	})
	group.Go(func() error {
		if err := demo(ctx, folder, log); err != nil {
			return err
		}
		// As long as the cluster's programs are downloaded, there is nothing to be shown.
		err := Controller(waiting, folder, log)
		select {
		case <-waiting.Done():
			return nil // what is compiled by then needn't be again
		default:
			return err
		}
	})
	return group.Wait()
}

// KindPrograms are what a cluster of kind needs on PATH, beside a container engine.
var KindPrograms = []string{"kind", "kubectl"}

// withKind reports whether the demo begins with a cluster of kind. If that doesn't start, it
// provides the programs of another one itself.
func withKind(run string) bool {
	if run != "" {
		return run == "kind"
	}
	for _, program := range KindPrograms {
		if _, err := exec.LookPath(program); err != nil {
			return false
		}
	}
	return true
}

func demo(ctx context.Context, folder string, log Log) error {
	repository, err := Repository()
	if err != nil {
		return err
	}
	r := recipe{name: "demo", module: filepath.Join(repository, "test")}
	return r.runStep(ctx, folder, quickStep("./run", r.name), log)
}

// Controller builds the product's controller into a folder, which takes a minute where Go has
// never compiled it. Whatever else is done meanwhile goes first.
func Controller(ctx context.Context, folder string, log Log) error {
	repository, err := Repository()
	if err != nil {
		return err
	}
	r := recipe{name: "controller", module: repository, background: true}
	return wholeOrNone(filepath.Join(folder, r.name), func() error {
		return r.runStep(ctx, folder, quickStep("./controller", r.name), log)
	})
}

// wholeOrNone removes a program that was written to while building it failed. Half of one is up
// to date, as Go sees it: the mark of what it was built of comes first.
func wholeOrNone(program string, build func() error) error {
	before, _ := os.Stat(program) // nil if there is none
	err := build()
	if err == nil {
		return nil
	}
	after, statErr := os.Stat(program)
	if statErr != nil || os.SameFile(before, after) && after.ModTime().Equal(before.ModTime()) {
		return err
	}
	return errors.Join(err, os.Remove(program))
}

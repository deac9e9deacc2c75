package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// Run provides what make run begins with: the programs of the cluster, and the demo in a
// folder. The demo has all else built while it shows something already. Whatever takes longer
// than a few seconds is logged.
func Run(ctx context.Context, folder string, log Log) error {
	group, ctx := errgroup.WithContext(ctx)
	waiting, provided := context.WithCancel(ctx)
	defer provided()
	group.Go(func() error {
		defer provided()
		if _, err := Supervisor(ctx, log); err != nil || NotNeeded() {
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

func demo(ctx context.Context, folder string, log Log) error {
	repository, err := Repository()
	if err != nil {
		return err
	}
	r := recipe{name: "demo", module: filepath.Join(repository, "test")}
	return r.runStep(ctx, folder, compiling("./run", r.name), log)
}

// Controller builds the product's controller into a folder, which takes a minute where Go has
// never compiled it. Whatever else is done meanwhile goes first.
func Controller(ctx context.Context, folder string, log Log) error {
	repository, err := Repository()
	if err != nil {
		return err
	}
	r := recipe{name: "controller", module: repository, background: true}
	err = r.runStep(ctx, folder, compiling("./controller", r.name), log)
	if err != nil {
		// Half of a program is up to date, as Go sees it: the mark of what it was built of comes first.
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, r.name)))
	}
	return err
}

// Quickly is a flag of go build that leaves out optimization, and what debuggers need. That
// takes two thirds of the processor time: make run compiles hundreds of packages before it
// shows anything. Go has them twice then, as they are tested and so.
const Quickly = "-gcflags=all=-N -l -dwarf=false"

// compiling makes a program quickly.
func compiling(main, program string) step {
	return step{
		what:     "compiling",
		packages: []string{main},
		args:     []string{"build", "-v", "-buildvcs=false", Quickly, "-ldflags", "-s -w", "-o", "${BIN}/" + program, main},
	}
}

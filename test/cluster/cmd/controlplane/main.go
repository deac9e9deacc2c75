// Command controlplane builds the programs of the test cluster, unless they
// are in the cache, and prints the folder they are in. Progress goes to
// standard error.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/zoetrope/markdown-view/test/cluster/build"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := build.Stderr()
	if build.NotNeeded() {
		log.Printf("USE_EXISTING_CLUSTER is set: nothing to build")
		return nil
	}
	if _, err := build.Supervisor(ctx, log); err != nil {
		return err
	}
	bin, err := build.ControlPlane(ctx, log)
	if err != nil {
		return err
	}
	fmt.Println(bin)
	return nil
}

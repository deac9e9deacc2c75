// Command fluxcontrollers builds Flux's controllers for the tests, unless they are in
// the cache. Progress goes to standard error.
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
		fmt.Fprintln(os.Stderr, "fluxcontrollers:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	_, err := build.FluxControllers(ctx, build.Stderr())
	return err
}

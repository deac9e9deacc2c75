// Command cluster starts a control plane with simulated nodes that stays in
// the background, and takes it down again:
//
//	cluster up    start it, unless it runs; print its KUBECONFIG
//	cluster down  stop it and remove all that it left
//
// There is one for each user, in the project's cache folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/zoetrope/markdown-view/test/cluster/build"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	nodes := flags.Int("nodes", 3, "up: the number of simulated nodes")
	if len(args) == 0 {
		return errors.New("say what to do: up or down")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	cache, err := build.Cache()
	if err != nil {
		return err
	}
	s := standing{folder: filepath.Join(cache, "cluster")}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	switch args[0] {
	case "up":
		return s.up(ctx, *nodes)
	case "down":
		return s.down(ctx)
	default:
		return fmt.Errorf("%q is neither up nor down", args[0])
	}
}

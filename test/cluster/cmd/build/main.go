// Command build builds programs that the tests run, unless they are in the cache.
// Progress goes to standard error:
//
//	build controlplane     those of the test cluster; prints the folder they are in
//	build fluxcontrollers  Flux's controllers
//	build run FOLDER       those of the test cluster, and into a folder what make run begins with
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/zoetrope/markdown-view/test/cluster/build"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	const choice = "controlplane, fluxcontrollers, or run and a folder"
	if len(args) == 0 || (args[0] == "run") != (len(args) == 2) {
		return errors.New("say what to build: " + choice)
	}
	ctx, stop := build.Interruptible()
	defer stop()
	switch args[0] {
	case "controlplane":
		return controlPlane(ctx)
	case "fluxcontrollers":
		_, err := build.FluxControllers(ctx, build.Stderr())
		return err
	case "run":
		return build.Run(ctx, args[1], build.Stderr())
	default:
		return fmt.Errorf("%q is none of %s", args[0], choice)
	}
}

func controlPlane(ctx context.Context) error {
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

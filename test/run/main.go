// Command run is `make run`, a newcomer's first command. It shows the product at work: it
// starts a control plane, with a real node where there can be one, by kind or by itself, and
// simulated ones otherwise, and has the function make a book there. Then it starts the
// controller, which was compiled meanwhile, and takes that book over; applies more examples,
// breaks one and shows the repair, and leaves everything up until it is interrupted. Nothing
// is left then.
//
// It is compiled before it shows anything, so TestLittleIsCompiledFirst says what it may
// import.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/zoetrope/markdown-view/test/cluster/build"
)

func main() {
	began := time.Now()
	log := build.Log(func(line string) { fmt.Printf("[%4.0fs] %s\n", time.Since(began).Seconds(), line) })
	if err := run(log); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

// heartbeat is how often a long step says that it lives.
const heartbeat = 10 * time.Second

// farewell is printed when there is nothing more to show.
const farewell = `
Ready: everything is up, until Ctrl-C. In another shell:

  export KUBECONFIG=%[1]s
  export PATH=%[2]s:$PATH    # kubectl, fn, kustomize
  kubectl get mdview -A
  kubectl edit mdview hello
  kubectl delete service viewer-hello && kubectl get events --field-selector reason=DriftCorrected

%[4]s
The controller's log is %[3]s
`

// run returns when it is interrupted, and leaves nothing.
func run(log build.Log) (err error) {
	ctx, stop := build.Interruptible()
	defer stop()
	if build.NotNeeded() {
		return errors.New("USE_EXISTING_CLUSTER is set, but this starts a control plane of its own: unset it")
	}
	d := &demo{log: log}
	possible, err := choose(os.Getenv("RUN"), func(kind string) string { return impossible(ctx, kind) })
	if err != nil {
		return err
	}
	d.nodes, d.otherNodes = possible[0], possible[1:]
	if d.repository, err = build.Repository(); err != nil {
		return err
	}
	if d.temporary, err = build.MkdirTemp("markdown-view-run-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.end()) }()
	if d.temporary, err = filepath.Abs(d.temporary); err != nil { // commands run in another folder
		return err
	}
	log.Printf("pods run on %s", d.nodes)
	if err := d.steps(ctx, []step{{title: "building the programs", do: d.build}}); err != nil {
		return err
	}
	d.compileController(ctx)
	if err := d.steps(ctx, []step{{title: "starting a control plane with its nodes", do: d.start}}); err != nil {
		return err
	}
	if err := d.collect(); err != nil {
		return err
	}
	if err := d.show(ctx); err != nil {
		return err
	}
	fmt.Printf(farewell, d.cluster.Kubeconfig, d.bin, d.controller.LogFile(), d.podsAre())
	<-ctx.Done()
	return nil
}

type step struct {
	title string
	do    func(context.Context) error
	// logged means that the log says how far it is, so that nothing else has to.
	logged bool
}

// show is the script.
func (d *demo) show(ctx context.Context) error {
	steps := []step{
		{title: "applying what the function makes of a MarkdownView, for which no controller is needed: examples/inline", do: d.applyRendered},
	}
	switch {
	case d.nodes.real():
		steps = append(steps, step{title: "connecting to its book", do: d.forward})
	case d.mdbook() != "":
		steps = append(steps, step{title: "serving its book on this machine", do: d.serve})
	}
	steps = append(steps, []step{
		{title: "installing the CustomResourceDefinition and the controller's rights", do: d.install},
		{title: "waiting for the controller to be compiled", do: d.compiled, logged: true},
		{title: "starting the controller, with just these rights", do: d.startController},
		{title: "watching MarkdownViews", do: d.watch},
		{title: "applying the same MarkdownView: the controller takes over what the function made", do: d.takeOver},
		{title: "providing kustomize", do: d.buildKustomize},
		{title: "applying one with its pages in a ConfigMap, as kustomize builds them: examples/controller", do: d.applyBuilt},
		{title: "applying what the function makes of a folder, as a generator of kustomize: examples/folder", do: d.applyGenerated},
		{title: "waiting for the MarkdownViews to become Healthy", do: d.healthy},
		{title: "breaking a Deployment, as a person might", do: d.breakDeployment},
		{title: "waiting for its repair", do: d.repaired},
	}...)
	return d.steps(ctx, steps)
}

// steps says what is being done, again while it lasts, and how long it took.
func (d *demo) steps(ctx context.Context, steps []step) error {
	for _, s := range steps {
		d.log.Printf("%s", s.title)
		began := time.Now()
		alive := time.NewTicker(heartbeat)
		done := make(chan error, 1)
		go func() { done <- s.do(ctx) }()
		err := d.wait(s, began, alive, done)
		alive.Stop()
		if ctx.Err() != nil && err != nil {
			return errors.New("interrupted") // whatever failed of it
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		if took := time.Since(began); took > time.Second {
			d.log.Printf("  done in %.1fs", took.Seconds())
		}
	}
	return nil
}

func (d *demo) wait(s step, began time.Time, alive *time.Ticker, done <-chan error) error {
	for {
		select {
		case err := <-done:
			return err
		case <-alive.C:
			if s.logged {
				continue
			}
			d.log.Printf("  still %s: %.0fs", s.title, time.Since(began).Seconds())
		}
	}
}

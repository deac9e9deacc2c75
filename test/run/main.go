// Command run is `make run`, a newcomer's first command. It shows the controller
// at work: it starts a control plane, with a real node where there can be one and
// simulated ones otherwise, and the controller, applies examples, breaks one and shows
// the repair, and leaves everything up until it is interrupted. Nothing is left then.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if build.NotNeeded() {
		return errors.New("USE_EXISTING_CLUSTER is set, but this starts a control plane of its own: unset it")
	}
	d := &demo{log: log}
	if d.nodes, err = choose(os.Getenv("RUN"), impossible()); err != nil {
		return err
	}
	if d.repository, err = build.Repository(); err != nil {
		return err
	}
	log.Printf("pods run on %s", d.nodes)
	if err := d.steps(ctx, []step{{"building the programs", d.build}, {"starting a control plane with its nodes", d.start}}); err != nil {
		return err
	}
	defer func() {
		log.Printf("ending all of it")
		d.end()
		err = errors.Join(err, d.cluster.Stop())
		log.Printf("nothing is left")
	}()
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
}

// show is the script.
func (d *demo) show(ctx context.Context) error {
	steps := []step{
		{"installing the CustomResourceDefinition and the controller's rights", d.install},
		{"starting the controller, with just these rights", d.startController},
		{"watching MarkdownViews", d.watch},
		{"applying a MarkdownView with its pages in it: examples/inline", d.applyInline},
	}
	switch {
	case d.nodes.kind == realNode:
		steps = append(steps, step{"connecting to its book", d.forward})
	case d.mdbook() != "":
		steps = append(steps, step{"serving its book on this machine", d.serve})
	}
	steps = append(steps, []step{
		{"providing kustomize", d.buildKustomize},
		{"applying one with its pages in a ConfigMap, as kustomize builds them: examples/controller", d.applyBuilt},
		{"applying what the function renders, for which no controller is needed: examples/folder", d.applyRendered},
		{"waiting for the MarkdownViews to become Healthy", d.healthy},
		{"breaking a Deployment, as a person might", d.breakDeployment},
		{"waiting for its repair", d.repaired},
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
			d.log.Printf("  still %s: %.0fs", s.title, time.Since(began).Seconds())
		}
	}
}

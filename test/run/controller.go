package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/product/controller"
)

// compilation is one that goes on beside the steps.
type compilation struct {
	done chan struct{}
	err  error // of which nothing is known until it is done
}

// compileController begins it.
func (d *demo) compileController(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	c := &compilation{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = build.Controller(ctx, filepath.Join(d.repository, productPrograms), d.log)
	}()
	d.compiling = c
	d.ending = append(d.ending, func() {
		stop()
		<-c.done
	})
}

// compiled waits until the controller is. How far that is stands in the log.
func (d *demo) compiled(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-d.compiling.done:
		return d.compiling.err
	}
}

func (d *demo) startController(ctx context.Context) (err error) {
	d.controller, err = controller.Program{Path: filepath.Join(d.bin, "controller")}.Run(ctx, d.cluster, "controller")
	return err
}

// applyRendered has the cluster serve a book without any controller.
func (d *demo) applyRendered(ctx context.Context) error {
	return d.shell(ctx, "fn examples/inline/markdownview.yaml | kubectl apply --server-side -f -")
}

// takeOver has the controller take over what the function made, and shows that the book's
// pods go on as they are.
func (d *demo) takeOver(ctx context.Context) error {
	const pods = "kubectl get pods --selector=app.kubernetes.io/instance=hello"
	if err := d.shell(ctx, "kubectl rollout status deployment/viewer-hello --timeout=2m", pods); err != nil {
		return err
	}
	before, err := d.podsOf(ctx, pods)
	if err != nil {
		return err
	}
	err = d.shell(ctx,
		"kubectl apply -f examples/inline/markdownview.yaml",
		"kubectl wait --for=condition=Ready mdview/hello --timeout=2m",
		pods,
	)
	if err != nil {
		return d.explained(ctx, err)
	}
	after, err := d.podsOf(ctx, pods)
	if err != nil {
		return err
	}
	if before == "" || after != before {
		return fmt.Errorf("the pods of hello should be those of before, %q, with as many restarts, but are %q", before, after)
	}
	fmt.Println("  the book's pod is the one of before, and its containers weren't restarted")
	return nil
}

// podsOf tells pods, which a command lists, from others, and from themselves after a restart.
func (d *demo) podsOf(ctx context.Context, list string) (string, error) {
	out, err := d.command(ctx, list+` --output=jsonpath='{range .items[*]}{.metadata.name} {.metadata.uid} {..restartCount}{"\n"}{end}'`).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", list, err)
	}
	return strings.TrimSpace(string(out)), nil
}

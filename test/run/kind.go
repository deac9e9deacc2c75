package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
)

const (
	// engineTimeout is how long a container engine may take to answer kind.
	engineTimeout = 10 * time.Second
	// kindTimeout is how long a cluster of kind may take to run the viewer: its node's image
	// is some 400 MB, if the engine doesn't have it yet.
	kindTimeout = 15 * time.Minute
	// kindEnd is how long it may take to delete.
	kindEnd = 2 * time.Minute
)

// noKind says in a line why there can't be a cluster of kind here; empty means that there can.
func noKind() string {
	for _, program := range []string{"kind", "kubectl"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " isn't on PATH"
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "kind", "get", "clusters").CombinedOutput(); err != nil {
		return fmt.Sprintf("kind has no container engine (kind get clusters: %v: %s)", err, strings.Join(strings.Fields(string(out)), " "))
	}
	return ""
}

// startKind starts a cluster of kind, and returns when its node has run the viewer's image.
func (d *demo) startKind(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, kindTimeout)
	defer cancel()
	d.kubeconfig, d.kindCluster = filepath.Join(d.temporary, "kubeconfig"), filepath.Base(d.temporary)
	defer func() {
		if err != nil {
			err = errors.Join(err, d.deleteKind())
		}
	}()
	create := "kind create cluster --wait=5m --name=" + d.kindCluster
	if image := os.Getenv("KIND_IMAGE"); image != "" {
		create += " --image=" + image
	}
	if err := d.shell(ctx, create); err != nil {
		return err
	}
	c, err := cluster.Attach(ctx, d.kubeconfig, cluster.Options{Log: d.log})
	if err != nil {
		return err
	}
	if err := d.pullViewer(ctx); err != nil {
		return errors.Join(err, c.Stop())
	}
	d.cluster = c
	return nil
}

// pullViewer has the node pull the viewer's image, without which there is nothing to show.
func (d *demo) pullViewer(ctx context.Context) error {
	err := d.shell(ctx,
		"kubectl run pull --image="+generator.DefaultViewerImage+" --restart=Never --command -- mdbook --version",
		"kubectl wait pod/pull --for=jsonpath='{.status.phase}'=Succeeded --timeout=3m",
		"kubectl delete pod/pull --now",
	)
	if err != nil && ctx.Err() == nil {
		return errors.Join(err, d.shell(ctx, "kubectl get events --field-selector=involvedObject.name=pull"))
	}
	return err
}

// deleteKind deletes the cluster of kind, if one was begun.
func (d *demo) deleteKind() error {
	if d.kindCluster == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), kindEnd)
	defer cancel()
	command := "kind delete cluster --name=" + d.kindCluster
	fmt.Println("  $ " + command)
	remove := d.command(ctx, command)
	remove.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a second Ctrl-C doesn't reach it
	if out, err := remove.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	d.kubeconfig, d.kindCluster = "", ""
	return nil
}

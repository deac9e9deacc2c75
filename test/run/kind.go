package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
)

const (
	// engineTimeout is how long a container engine may take to answer kind.
	engineTimeout = 10 * time.Second
	// kindTimeout is how long a cluster of kind may take to run the viewer: its node's image
	// is some 400 MB, if the engine doesn't have it yet.
	kindTimeout = 15 * time.Minute
	// engineSettles is how long an engine may take to do what it was told last before kind was
	// interrupted.
	engineSettles = 2 * time.Second
	// kindEnd is how long it may take to delete.
	kindEnd = 2 * time.Minute
	// oldestMinor is of the oldest Kubernetes that the controller supports, as docs/install.md says.
	oldestMinor = 30
)

// noKind says in a line why there can't be a cluster of kind here; empty means that there can.
func noKind(ctx context.Context) string {
	for _, program := range build.KindPrograms {
		if _, err := exec.LookPath(program); err != nil {
			return program + " isn't on PATH"
		}
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	list := exec.CommandContext(ctx, "kind", "get", "clusters")
	asGroup(list)
	list.WaitDelay = time.Second
	out, err := list.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("its container engine hasn't answered kind get clusters within %s", engineTimeout)
	case err != nil:
		return fmt.Sprintf("kind get clusters: %v: %s", err, strings.Join(strings.Fields(string(out)), " "))
	}
	return ""
}

// asGroup has a command and what it starts be one group of processes: all of it is told to end,
// and by nobody else, not by a second Ctrl-C either.
func asGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
}

// startKind starts a cluster of kind, and returns when its node has run the viewers' images.
func (d *demo) startKind(ctx context.Context) (err error) {
	limited, cancel := context.WithTimeout(ctx, kindTimeout)
	defer cancel()
	d.kubeconfig, d.kindCluster = filepath.Join(d.temporary, "kubeconfig"), filepath.Base(d.temporary)
	defer func() {
		if err == nil {
			return
		}
		if limited.Err() != nil {
			time.Sleep(engineSettles)
		}
		err = errors.Join(err, d.deleteKind())
	}()
	create := "kind create cluster --wait=5m --name=" + d.kindCluster
	if image := os.Getenv("KIND_IMAGE"); image != "" {
		create += " --image=" + image
	}
	creating := d.command(limited, create)
	asGroup(creating)
	if err := shown(creating, create); err != nil {
		return err
	}
	c, err := cluster.Attach(limited, d.kubeconfig, cluster.Options{Log: d.log})
	if err != nil {
		return err
	}
	if err := d.usable(limited); err != nil {
		return errors.Join(err, c.Stop())
	}
	d.cluster = c
	return nil
}

// usable checks that the cluster is one for the controller, and has its node pull the viewers'
// images, without which there is nothing to show.
func (d *demo) usable(ctx context.Context) error {
	out, err := d.command(ctx, "kubectl get --raw /version").Output()
	if err != nil {
		return fmt.Errorf("kubectl get --raw /version: %w", err)
	}
	var version struct{ Minor string }
	if err := json.Unmarshal(out, &version); err != nil {
		return fmt.Errorf("kubectl get --raw /version: %w", err)
	}
	if minor, err := strconv.Atoi(strings.TrimRight(version.Minor, "+")); err != nil || minor < oldestMinor {
		return fmt.Errorf("kind has started Kubernetes 1.%s, and 1.%d is needed: get a newer kind, or name its node's image by KIND_IMAGE", version.Minor, oldestMinor)
	}
	// kind says so and goes on if it isn't.
	if err := d.shell(ctx, "kubectl wait node --all --for=condition=Ready --timeout=10s"); err != nil {
		return err
	}
	for i, image := range kindImages {
		if err := d.pull(ctx, fmt.Sprintf("pull-%d", i), image); err != nil {
			return err
		}
	}
	return nil
}

// pull has the node run an image of mdBook, and so pull it.
func (d *demo) pull(ctx context.Context, pod, image string) error {
	if err := d.shell(ctx, "kubectl run "+pod+" --image="+image+" --restart=Never --command -- mdbook --version"); err != nil {
		return err
	}
	err := cluster.Await(ctx, kindTimeout, 200*time.Millisecond, "the node to run "+image, func(ctx context.Context) (string, error) {
		out, err := d.command(ctx, "kubectl get pod "+pod+" --output=jsonpath='{.status.phase} {..waiting.reason} {..waiting.message}'").Output()
		if err != nil {
			return err.Error(), nil //nolint:nilerr // it is asked again
		}
		phase, waiting, _ := strings.Cut(string(out), " ")
		switch {
		case phase == "Succeeded":
			return "", nil
		case phase == "Failed" || strings.HasPrefix(waiting, "ImagePullBackOff") || strings.HasPrefix(waiting, "InvalidImageName"):
			return "", fmt.Errorf("the node can't run %s: %s", image, out)
		}
		return string(out), nil
	})
	if err != nil {
		return err
	}
	return d.shell(ctx, "kubectl delete pod/"+pod+" --now")
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
	err := cluster.Await(ctx, kindEnd, time.Second, "the end of "+d.kindCluster, func(ctx context.Context) (string, error) {
		if _, err := d.kindly(ctx, command); err != nil {
			return err.Error(), nil //nolint:nilerr // it is tried again
		}
		// An engine that was told to run a node may do so after it was deleted.
		left, err := d.kindly(ctx, "kind get nodes --quiet --name="+d.kindCluster)
		return strings.TrimSpace(string(left)), err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	d.kubeconfig, d.kindCluster = "", ""
	return nil
}

// kindly runs a command of kind that looks for no kubeconfig of anybody's. The error has what it
// says of itself.
func (d *demo) kindly(ctx context.Context, command string) ([]byte, error) {
	cmd := d.command(ctx, command)
	asGroup(cmd)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+filepath.Join(d.temporary, "ending"))
	out, err := cmd.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, failed.Stderr)
	}
	return out, err
}

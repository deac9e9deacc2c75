package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/product/controller"
)

const (
	// productPrograms is where the product's are built, below the repository.
	productPrograms = "bin/run"
	// patience is how long to wait for what takes a second or two.
	patience = 2 * time.Minute
)

// demo is what the steps share.
type demo struct {
	log        build.Log
	repository string
	temporary  string // for Go, which doesn't remove its files when it is interrupted
	cluster    *cluster.Cluster
	compiling  *compilation
	controller *cluster.Component // nil until it runs
	nodes      nodes
	otherNodes []nodes // what is taken if those don't start
	bin        string  // the first folder on the steps' PATH
	book       book
	unwatch    func() // ends what watch has begun
	// kubeconfig and kindCluster are those of a cluster of kind; empty without one.
	kubeconfig, kindCluster string
	// ending ends what the steps have left running, in reverse order.
	ending []func()
}

// buildFunction builds what makes the first book.
const buildFunction = "CGO_ENABLED=0 go build '" + build.Quickly + "' -ldflags '-s -w' -o " + productPrograms + "/ ./fn"

// build builds or downloads what isn't there yet, at the same time, but for the controller and
// kustomize: the first book doesn't need them.
func (d *demo) build(ctx context.Context) error {
	commands := []string{buildFunction}
	cached := []func(context.Context, build.Log) (string, error){build.Supervisor}
	switch d.nodes.kind {
	case realNode:
		cached = append(cached, build.ControlPlane, build.Crane)
	case simulatedNodes:
		cached = append(cached, build.ControlPlane)
		commands = append(commands, buildPreview)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, provide := range cached {
		group.Go(func() error {
			_, err := provide(ctx, d.log)
			return err
		})
	}
	for _, command := range commands {
		group.Go(func() error { return d.shell(ctx, command) })
	}
	return group.Wait()
}

// end ends what the steps have left running, and removes all files.
func (d *demo) end() error {
	if d.cluster != nil {
		d.log.Printf("ending all of it")
	}
	for _, end := range slices.Backward(d.ending) {
		end()
	}
	var err error
	if d.cluster != nil {
		err = d.cluster.Stop()
	}
	err = errors.Join(err, d.deleteKind(), build.RemoveAll(d.temporary))
	if d.cluster != nil && err == nil {
		d.log.Printf("nothing is left")
	}
	return err
}

// collect makes one folder of the programs, for PATH.
func (d *demo) collect() error {
	d.bin = filepath.Join(d.cluster.Folder(), "bin")
	if err := os.Mkdir(d.bin, 0o755); err != nil {
		return err
	}
	for name, folder := range map[string]string{
		"fn":         filepath.Join(d.repository, productPrograms),
		"controller": filepath.Join(d.repository, productPrograms),
		"kustomize":  filepath.Join(d.repository, "bin"),
		"kubectl":    d.cluster.Programs(),
	} {
		if err := os.Symlink(filepath.Join(folder, name), filepath.Join(d.bin, name)); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) install(ctx context.Context) error {
	return d.shell(ctx,
		"kubectl apply --server-side -k config/crd",
		"kubectl wait --for=condition=Established crd/markdownviews.view.zoetrope.github.io",
		"kubectl apply -f config/default/namespace.yaml",
		"kubectl apply -n "+controller.Namespace+" -k config/rbac",
	)
}

func (d *demo) buildKustomize(ctx context.Context) error {
	return d.shell(ctx, "make --no-print-directory bin/kustomize")
}

func (d *demo) applyBuilt(ctx context.Context) error {
	const build, apply = "kustomize build examples/controller | ", "kubectl apply -f -"
	command := build + apply
	if d.nodes.kind == kindNode { // which pulls from the real registries
		command = build + "sed s,registry.example.com/mirror/,peaceiris/, | " + apply
	}
	return d.shell(ctx, "kubectl create namespace operations", command)
}

func (d *demo) applyGenerated(ctx context.Context) error {
	return d.shell(ctx,
		"kubectl create namespace docs-staging",
		"kustomize build --enable-alpha-plugins --enable-exec examples/folder/overlays/staging | kubectl apply --server-side -f -",
	)
}

// watch has kubectl show each change of a view, until healthy.
func (d *demo) watch(ctx context.Context) error {
	const command = "kubectl get mdview --all-namespaces --watch"
	fmt.Println("  $ " + command + " &")
	ctx, stop := context.WithCancel(ctx)
	watch := d.command(ctx, "exec "+command)
	watch.Stdout = &indented{}
	if err := watch.Start(); err != nil {
		stop()
		return err
	}
	d.unwatch = sync.OnceFunc(func() {
		stop()
		_ = watch.Wait() // it was told to end
	})
	d.ending = append(d.ending, d.unwatch)
	return nil
}

func (d *demo) healthy(ctx context.Context) error {
	defer d.unwatch()
	err := d.shell(ctx,
		"kubectl wait --for=condition=Ready mdview --all --all-namespaces --timeout=2m",
		"kubectl rollout status deployment/staging-viewer-handbook --namespace docs-staging --timeout=2m",
	)
	return d.explained(ctx, err)
}

func (d *demo) breakDeployment(ctx context.Context) error {
	return d.shell(ctx, "kubectl set image deployment/viewer-hello mdbook=registry.example.com/wrong:v0")
}

func (d *demo) repaired(ctx context.Context) error {
	const events = "kubectl get events --field-selector involvedObject.kind=MarkdownView,reason=DriftCorrected"
	err := d.until(ctx, "an event DriftCorrected", func(ctx context.Context) string {
		out, err := d.command(ctx, events+" --output=name").Output()
		if err != nil {
			return err.Error()
		}
		if len(out) == 0 {
			return "there is none"
		}
		return ""
	})
	if err != nil {
		return err
	}
	err = d.shell(ctx, events,
		"kubectl get deployment viewer-hello --output=jsonpath='{..image}{\"\\n\"}'",
		"kubectl wait --for=condition=Ready mdview/hello",
		"kubectl get mdview --all-namespaces",
	)
	if err != nil || d.book == (book{}) {
		return err
	}
	return d.answers(ctx)
}

// shell runs commands that a reader can run too, in the repository's folder, and
// shows them with what they print.
func (d *demo) shell(ctx context.Context, commands ...string) error {
	for _, command := range commands {
		if err := shown(d.command(ctx, command), command); err != nil {
			return err
		}
	}
	return nil
}

// shown runs a command, and shows it with what it prints.
func shown(cmd *exec.Cmd, command string) error {
	fmt.Println("  $ " + command)
	out := &indented{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}

// command is one of a shell, with the programs and the cluster.
func (d *demo) command(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", command)
	cmd.Dir = d.repository
	cmd.Env = append(os.Environ(), "GOTMPDIR="+d.temporary)
	if d.kubeconfig != "" {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+d.kubeconfig)
	}
	if d.cluster != nil {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+d.cluster.Kubeconfig, "PATH="+d.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// until waits until nothing is missing any more.
func (d *demo) until(ctx context.Context, what string, missing func(context.Context) string) error {
	err := cluster.Await(ctx, patience, 100*time.Millisecond, what, func(ctx context.Context) (string, error) { return missing(ctx), nil })
	return d.explained(ctx, err)
}

// explained adds to an error the end of the controller's log, which goes with the cluster.
func (d *demo) explained(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || d.controller == nil {
		return err
	}
	content, readErr := os.ReadFile(d.controller.LogFile())
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return fmt.Errorf("%w; the controller's log says:\n%s", err, strings.Join(lines[max(0, len(lines)-10):], "\n"))
}

// indented writes whole lines to standard output, below the step that they belong
// to.
type indented struct {
	rest []byte
}

func (w *indented) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		if _, err := fmt.Printf("    %s\n", line); err != nil {
			return 0, err
		}
		w.rest = rest
	}
}

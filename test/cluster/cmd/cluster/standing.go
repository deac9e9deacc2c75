package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// standing is the cluster that stays.
type standing struct {
	folder string
}

const usage = `
The control plane is up, with simulated nodes. In this and other shells:

  export KUBECONFIG=%[1]s/kubeconfig
  export PATH=%[1]s/bin:$PATH   # kubectl of the same version
  kubectl get nodes

Pods "run" as soon as they are scheduled, but nothing runs in them. All that you
make lives in that folder, and only until 'make cluster-down' or the machine's
next restart: the 'make cluster-up' after that begins with an empty cluster.
Nothing restarts a process of it that ends.

  make cluster-down   # stops it and removes the folder
`

// lock keeps two commands at once from getting into each other's way. It is
// the folder above that is locked, so no file is left for it.
func (s standing) lock() (unlock func(), err error) {
	above := filepath.Dir(s.folder)
	if err := os.MkdirAll(above, 0o755); err != nil {
		return nil, err
	}
	folder, err := os.Open(above)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", above, err), folder.Close())
	}
	return func() { _ = folder.Close() }, nil
}

func (s standing) up(ctx context.Context, nodes int) error {
	if build.NotNeeded() {
		return errors.New("USE_EXISTING_CLUSTER is set: there is a cluster already, none is started; unset it")
	}
	log := build.Stderr()
	alive, err := supervise.Alive(s.folder)
	if err != nil {
		return err
	}
	if alive {
		if err := s.answers(ctx); err != nil {
			return fmt.Errorf("the control plane runs, but %w; start anew with 'make cluster-down cluster-up'", err)
		}
		log.Printf("the control plane is up already")
		return s.explain()
	}
	if _, err := os.Stat(s.folder); err == nil {
		log.Printf("the last control plane ended without cluster-down (a reboot, perhaps); what was in it is lost")
	}
	if err := supervise.ReapFolder(s.folder); err != nil {
		return err
	}
	if err := s.start(ctx, nodes, log); err != nil {
		return err
	}
	return s.explain()
}

func (s standing) start(ctx context.Context, nodes int, log build.Log) error {
	c, err := cluster.Start(ctx, cluster.Options{
		Folder: s.folder,
		Log:    log,
		// It may run for weeks: keep the end of the request log only.
		Args: map[string][]string{cluster.APIServer: {"--audit-log-maxsize=50", "--audit-log-maxbackup=1"}},
	})
	if err != nil {
		return err
	}
	if err := c.Supports(cluster.SimulatedNodes); err != nil {
		log.Printf("no nodes: %v", err)
	} else if err := c.AddNodes(ctx, nodes); err != nil {
		return errors.Join(err, c.Stop())
	}
	if err := os.Symlink(c.Programs(), filepath.Join(s.folder, "bin")); err != nil {
		return errors.Join(err, c.Stop())
	}
	if err := c.Detach(ctx); err != nil {
		return errors.Join(err, c.Stop())
	}
	return nil
}

func (s standing) explain() error {
	_, err := fmt.Printf(usage, s.folder)
	return err
}

// answers reports whether the API server does.
func (s standing) answers(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.folder, "kubeconfig"))
	if err != nil {
		return err
	}
	config.Timeout = 10 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("its API server isn't ready: %w", err)
	}
	return nil
}

func (s standing) down(ctx context.Context) error {
	alive, err := supervise.Alive(s.folder)
	if err != nil {
		return err
	}
	if err := supervise.End(ctx, s.folder); err != nil {
		return err
	}
	if alive {
		fmt.Println("the control plane is down; nothing of it is left")
	} else {
		fmt.Println("no control plane was up")
	}
	return nil
}

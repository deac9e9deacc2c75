package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/internal/pki"
	"github.com/zoetrope/markdown-view/test/cluster/programs"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// readyTimeout is how long a component has to become ready. It needs seconds;
// this is for machines that do much else.
const readyTimeout = 10 * time.Minute

// Options say what is different from a plain cluster. The zero value is one
// without nodes.
type Options struct {
	// Nodes is how many simulated nodes there are when Start returns.
	Nodes int
	// RealNode adds a node that runs containers, which needs root on Linux and
	// the programs that programs.Node names. The cluster is in namespaces of its
	// own then: what listens on the machine's loopback address isn't reached.
	RealNode bool
	// Args are further arguments by component (APIServer, …). They come last,
	// so they win over the arguments that the component gets anyway.
	Args map[string][]string
	// Folder is where the cluster's files go, a path at which nothing may be.
	// Empty: a new temporary folder. It is removed with the cluster either way.
	Folder string
	// Log takes lines of progress: what is built, what took how long. Nil
	// drops them.
	Log build.Log
}

// Cluster is a running cluster.
type Cluster struct {
	// Config is the administrator's (system:masters). The client doesn't limit
	// its rate: a test that counts or measures would measure that.
	Config *rest.Config
	// Kubeconfig is the path of a file that holds Config.
	Kubeconfig string

	options    Options
	began      time.Time
	clients    *clients
	bin        string
	authority  *pki.Authority
	supervisor *supervise.Supervisor // nil: somebody else's cluster
	attached   bool                  // somebody else's cluster too, with processes beside it
	address    string                // the API server's
	port       int
	network    network // of a real node
	crane      string
	components map[string]*Component
	requests   *requestLog
	nodes      int
}

// realPort is the API server's beside a real node, in whose network all ports are free: as
// with kubeadm, because NetworkPolicies name it.
const realPort = 6443

// Start starts a cluster and returns when it can be used: the API server is
// ready, the controllers work, the nodes take pods. The context bounds the
// start only. After an error nothing is left running.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if build.NotNeeded() {
		return useExisting(options)
	}
	bin, err := build.ControlPlane(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	program, err := build.Supervisor(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	launch := supervise.Launch
	if options.RealNode {
		if err := programs.Need(programs.Node...); err != nil {
			return nil, fmt.Errorf("a real node: %w", err)
		}
		launch = supervise.LaunchIsolated
	}
	c := &Cluster{options: options, began: time.Now(), bin: bin, address: loopback, components: map[string]*Component{}}
	c.supervisor, err = launch(program, options.Folder)
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a cluster: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var err error
	if c.port, err = c.supervisor.ReservePort(ctx); err != nil {
		return err
	}
	if c.options.RealNode {
		c.port = realPort
		if err := c.prepareNode(ctx); err != nil {
			return err
		}
	}
	if err := c.writeFiles(); err != nil {
		return err
	}
	if c.clients, err = newClients(c.Config); err != nil {
		return err
	}
	c.logf("keys, certificates and settings are written")

	// The API server waits for etcd by itself. The controllers wait for the API
	// server for ten seconds and then end, which is too short on a busy machine.
	if err := c.launch(ctx, Etcd, APIServer); err != nil {
		return err
	}
	if err := c.Ready(ctx); err != nil {
		return err
	}
	c.logf("the API server is ready at %s", c.Config.Host)
	if err := c.launch(ctx, ControllerManager, Scheduler); err != nil {
		return err
	}
	if err := c.AddNodes(ctx, c.options.Nodes); err != nil {
		return err
	}
	if c.options.RealNode {
		if err := c.addRealNode(ctx); err != nil {
			return err
		}
	}
	return c.controllersReady(ctx)
}

// launch starts those of the components that can be run here.
func (c *Cluster) launch(ctx context.Context, components ...string) error {
	for _, name := range components {
		if !c.has(name) {
			continue
		}
		if err := c.add(c.process(name)).launch(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends the cluster. When it returns, no process of it runs and no file of
// it is left. A cluster that was there before is left as it is.
func (c *Cluster) Stop() error {
	if c.supervisor == nil {
		return nil
	}
	began := time.Now()
	if err := errors.Join(c.keepLogs(), c.supervisor.Close()); err != nil {
		return fmt.Errorf("stopping the cluster: %w", err)
	}
	if c.attached {
		return nil
	}
	c.options.Log.Printf("the cluster has stopped in %.1fs", time.Since(began).Seconds())
	return nil
}

// Detach lets the cluster outlive this program, until supervise.End is called
// with its Folder. Stop does nothing then.
func (c *Cluster) Detach(ctx context.Context) error {
	if c.supervisor == nil {
		return errors.New("the cluster wasn't started here")
	}
	return c.supervisor.Detach(ctx)
}

// Folder holds the cluster's files, logs/<component>.log among them. Empty for
// a cluster that was there before.
func (c *Cluster) Folder() string {
	if c.supervisor == nil {
		return ""
	}
	return c.supervisor.Folder
}

// Programs is the folder with the programs that the cluster is made of, kubectl
// among them. Empty for a cluster that was there before.
func (c *Cluster) Programs() string { return c.bin }

// Ready waits until the API server says that it is ready, which needs etcd.
func (c *Cluster) Ready(ctx context.Context) error {
	return c.until(ctx, "the API server to be ready", func(ctx context.Context) error {
		return c.clients.discovery.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}, Etcd, APIServer)
}

// controllersReady waits until the controllers work. The last thing they do
// before a pod can be made is the namespace's service account.
func (c *Cluster) controllersReady(ctx context.Context) error {
	if !c.has(ControllerManager) {
		return nil
	}
	err := c.WaitNamespace(ctx, metav1.NamespaceDefault)
	c.logf("the controllers work")
	return err
}

// WaitNamespace waits until pods can be made in a namespace: until its default
// service account is there. Without controllers it returns at once.
func (c *Cluster) WaitNamespace(ctx context.Context, namespace string) error {
	if !c.supports(Controllers) {
		return nil
	}
	return c.until(ctx, "the service account of namespace "+namespace, func(ctx context.Context) error {
		_, err := c.clients.core.ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	}, ControllerManager)
}

// until polls, often, because local requests cost little and tests wait for
// the answer. It gives up when one of the components it needs has ended.
func (c *Cluster) until(ctx context.Context, what string, try func(context.Context) error, needs ...string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		for _, name := range needs {
			if ended := c.ended(ctx, name); ended != nil && ctx.Err() == nil {
				return fmt.Errorf("waiting for %s: %w", what, ended)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; at last: %w", what, ctx.Err(), err)
		case <-ticker.C:
		}
	}
}

// ended returns an error with the last words of a component that has ended.
func (c *Cluster) ended(ctx context.Context, name string) error {
	component, ok := c.components[name]
	if !ok {
		return nil
	}
	state, err := c.supervisor.State(ctx, name)
	if err != nil || state.Running {
		return err
	}
	return fmt.Errorf("%s has ended: %s; its last words:\n%s", name, state.Ended, component.tail())
}

// keepLogs copies the components' logs to $CLUSTER_LOGS/<name of the run>, if
// that is set, before they go with the folder.
func (c *Cluster) keepLogs() error {
	target := os.Getenv("CLUSTER_LOGS")
	if target == "" {
		return nil
	}
	target = filepath.Join(target, filepath.Base(c.Folder()))
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	return os.CopyFS(target, os.DirFS(filepath.Join(c.Folder(), "logs")))
}

// has reports whether the component can be run here.
func (c *Cluster) has(component string) bool {
	_, err := os.Stat(filepath.Join(c.bin, component))
	return err == nil
}

func (c *Cluster) logf(format string, args ...any) {
	c.options.Log.Printf("%5.2fs  %s", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/internal/pki"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

func useExisting(options Options) (*Cluster, error) {
	if options.Nodes > 0 {
		options.Log.Printf("using an existing cluster with the nodes that it has, not with %d simulated ones", options.Nodes)
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("USE_EXISTING_CLUSTER is set: %w; KUBECONFIG must name the cluster to use", err)
	}
	config.QPS = -1
	authority, err := pki.NewAuthority("markdown-view-test")
	if err != nil {
		return nil, err
	}
	clients, err := newClients(config)
	if err != nil {
		return nil, err
	}
	if _, err := clients.discovery.ServerVersion(); err != nil {
		return nil, errors.Join(fmt.Errorf("USE_EXISTING_CLUSTER is set, but %s doesn't answer", config.Host), err)
	}
	options.Log.Printf("using the existing cluster at %s", config.Host)
	return &Cluster{
		Config:     config,
		Kubeconfig: rules.GetDefaultFilename(),
		options:    options,
		clients:    clients,
		authority:  authority,
	}, nil
}

// attachTimeout is how long a cluster that is there has until it answers.
const attachTimeout = time.Minute

// Attach adds to a cluster that is there, whose administrator a kubeconfig has, a folder and
// processes of its own. Stop ends these, and leaves the cluster. The folder of programs is that
// of the kubectl on PATH. Options but Folder and Log mean nothing.
func Attach(ctx context.Context, kubeconfig string, options Options) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Config: config, Kubeconfig: kubeconfig,
		options: options, began: time.Now(), bin: filepath.Dir(kubectl), attached: true, components: map[string]*Component{},
	}
	if c.clients, err = newClients(config); err != nil {
		return nil, err
	}
	program, err := build.Supervisor(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	if c.supervisor, err = supervise.Launch(program, options.Folder); err != nil {
		return nil, err
	}
	if err := c.attach(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the cluster at %s: %w", config.Host, err), c.Stop())
	}
	return c, nil
}

// attach waits until the cluster can be used, if its API server is reached from here.
func (c *Cluster) attach(ctx context.Context) error {
	if err := os.Mkdir(filepath.Join(c.Folder(), "logs"), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		return err
	}
	return c.WaitNamespace(ctx, metav1.NamespaceDefault)
}

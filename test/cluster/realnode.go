package cluster

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/programs"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// RealNode and SimulatedNode are the names of the real node and of the first of the
// simulated ones.
const (
	RealNode      = "real"
	SimulatedNode = "simulated-1"
)

// Names of a real node's components, beside those of the control plane.
const (
	Registry   = "registry"
	Containerd = "containerd"
	Kubelet    = "kubelet"
	KubeProxy  = "kube-proxy"
)

const (
	// registryPort is on the node's loopback address, from where containerd pulls
	// without encryption, and on the one that the machine pushes to.
	registryPort = "5000"
	pauseImage   = "pause:1"
)

//go:embed node
var nodeFiles embed.FS

// network is the cable between the machine and an isolated run: a /30 of the
// range that is set aside for tests of networks, where nobody lives.
type network struct {
	link, machine, node string
}

func newNetwork() network {
	at := rand.IntN(1 << 15)
	address := func(host int) string { return fmt.Sprintf("198.%d.%d.%d", 18+at>>14, at>>6&0xff, at<<2&0xff+host) }
	return network{link: fmt.Sprintf("mdview%d", at), machine: address(1), node: address(2)}
}

// plug lays the cable. It goes with the namespace at its other end.
func (n network) plug(ctx context.Context, supervisor int) error {
	for _, args := range [][]string{
		{"link", "add", n.link, "type", "veth", "peer", "name", "node0", "netns", fmt.Sprint(supervisor)},
		{"address", "add", n.machine + "/30", "dev", n.link},
		{"link", "set", n.link, "up"},
	} {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
	}
	return nil
}

// prepareNode makes the run's namespaces fit for a node.
func (c *Cluster) prepareNode(ctx context.Context) error {
	c.network = newNetwork()
	if err := c.network.plug(ctx, c.supervisor.PID()); err != nil {
		return fmt.Errorf("connecting the node with the machine: %w", err)
	}
	c.address = c.network.node
	script := filepath.Join(c.Folder(), "prepare.sh")
	content, err := nodeFiles.ReadFile("node/prepare.sh")
	if err != nil {
		return err
	}
	if err := writeFile(script, content); err != nil {
		return err
	}
	return c.runOnce(ctx, supervise.Process{
		Name: "prepare", Path: "/bin/sh", Args: []string{script},
		Env: []string{
			"FOLDER=" + c.Folder(), "NODE_IP=" + c.network.node, "MACHINE_IP=" + c.network.machine,
			"CONTROL_GROUP=" + supervise.ControlGroup(c.Folder()),
		},
	})
}

// RunOnce runs a program as Run does and waits for its end, which is an error unless it
// was a success.
func (c *Cluster) RunOnce(ctx context.Context, process supervise.Process) error {
	if err := c.Supports(Faults); err != nil {
		return fmt.Errorf("running %s: %w", process.Name, err)
	}
	return c.runOnce(ctx, process)
}

// runOnce runs a program and waits for its end.
func (c *Cluster) runOnce(ctx context.Context, process supervise.Process) error {
	component := c.add(process)
	if err := component.launch(ctx); err != nil {
		return err
	}
	for {
		state, err := component.State(ctx)
		switch {
		case err != nil:
			return err
		case state.Running:
			time.Sleep(10 * time.Millisecond) // the supervisor tells only who asks
			continue
		case state.Ended != "exit status 0":
			return fmt.Errorf("%s has ended: %s: %s", process.Name, state.Ended, component.tail())
		}
		return nil
	}
}

// addRealNode starts the node's programs, and returns when it takes pods.
func (c *Cluster) addRealNode(ctx context.Context) error {
	if err := c.writeNodeFiles(); err != nil {
		return err
	}
	crane, err := build.Crane(ctx, c.options.Log)
	if err != nil {
		return err
	}
	c.crane = crane
	containerd, err := exec.LookPath(Containerd)
	if err != nil {
		return err
	}
	if err := c.startRegistry(ctx); err != nil {
		return err
	}
	processes := []supervise.Process{
		{Name: Containerd, Path: containerd, Args: []string{"--config", "containerd.toml"}},
		{Name: Kubelet, Path: filepath.Join(c.bin, Kubelet), Args: []string{
			"--config=kubelet.yaml", "--kubeconfig=" + kubeconfigOf(Kubelet), "--hostname-override=" + RealNode,
			"--root-dir=" + filepath.Join(c.Folder(), "kubelet"), "--cert-dir=kubelet-pki", "--node-ip=" + c.network.node,
		}},
		{Name: KubeProxy, Path: filepath.Join(c.bin, KubeProxy), Args: []string{"--config=kube-proxy.yaml"}},
	}
	for _, process := range processes {
		process.Args = append(process.Args, c.options.Args[process.Name]...)
		c.add(process)
	}
	if err := c.StartNode(ctx); err != nil {
		return err
	}
	err = c.until(ctx, "node "+RealNode, func(ctx context.Context) error {
		node, err := c.clients.core.Nodes().Get(ctx, RealNode, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return takesPods(node)
	}, Containerd, Kubelet, KubeProxy, ControllerManager)
	c.logf("a real node takes pods")
	return err
}

// writeNodeFiles writes what the node's programs read.
func (c *Cluster) writeNodeFiles() error {
	for component, user := range map[string][]string{
		Kubelet:   {"system:node:" + RealNode, "system:nodes"},
		KubeProxy: {"system:kube-proxy"},
	} {
		config, err := c.certified(user[0], user[1:]...)
		if err != nil {
			return err
		}
		if err := WriteKubeconfig(filepath.Join(c.Folder(), kubeconfigOf(component)), config); err != nil {
			return err
		}
	}
	plugins, err := programs.NetworkPlugins()
	if err != nil {
		return err
	}
	values := map[string]string{
		"FOLDER": c.Folder(), "REGISTRY": "127.0.0.1:" + registryPort, "PAUSE": pauseImage, "CNI_PLUGINS": plugins,
		"POD_CIDR": podCIDR, "NODE": RealNode, "CA": caFile, "KUBECONFIG": kubeconfigOf(KubeProxy),
		"CONTROL_GROUP": supervise.ControlGroup(c.Folder()),
	}
	for source, target := range map[string]string{
		"containerd.toml": "containerd.toml",
		"kubelet.yaml":    "kubelet.yaml",
		"kube-proxy.yaml": "kube-proxy.yaml",
		"cni.conflist":    "cni/10-pods.conflist",
		"hosts.toml":      "registries/_default/hosts.toml",
	} {
		if err := c.fillNodeFile(source, target, values); err != nil {
			return err
		}
	}
	return nil
}

// fillNodeFile writes one of the files that the node's programs read.
func (c *Cluster) fillNodeFile(source, target string, values map[string]string) error {
	content, err := nodeFiles.ReadFile("node/" + source)
	if err != nil {
		return err
	}
	filled := os.Expand(string(content), func(name string) string { return values[name] })
	return writeFile(filepath.Join(c.Folder(), target), []byte(filled))
}

// startRegistry starts the node's registry, with the image that every pod
// begins with.
func (c *Cluster) startRegistry(ctx context.Context) error {
	if err := os.Mkdir(filepath.Join(c.Folder(), Registry), 0o700); err != nil {
		return err
	}
	err := c.add(supervise.Process{Name: Registry, Path: c.crane, Args: []string{
		"registry", "serve", "--address=0.0.0.0:" + registryPort, "--disk=" + Registry,
	}}).launch(ctx)
	if err != nil {
		return err
	}
	err = c.until(ctx, "the registry", func(ctx context.Context) error {
		return get(ctx, http.DefaultClient, "http://"+c.Registry()+"/v2/")
	}, Registry)
	if err != nil {
		return err
	}
	// Any program will do that waits and is one file.
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	return c.PushFiles(ctx, pauseImage, map[string]string{"bin/busybox": busybox},
		"--entrypoint=/bin/busybox", "--cmd=sleep,2147483647")
}

// Registry is the address at which the machine reaches the node's registry. The
// node looks there for images of all registries.
func (c *Cluster) Registry() string {
	if c.network.node == "" {
		return ""
	}
	return c.network.node + ":" + registryPort
}

// Redirect has the node pull a registry's images from an address, without encryption,
// instead of from its own registry.
func (c *Cluster) Redirect(registry, address string) error {
	return c.fillNodeFile("hosts.toml", filepath.Join("registries", registry, "hosts.toml"), map[string]string{"REGISTRY": address})
}

// MachineAddress is the address at which the cluster's programs reach what listens
// on this machine.
func (c *Cluster) MachineAddress() string {
	if c.network.machine == "" {
		return loopback
	}
	return c.network.machine
}

// StopNode ends the node's programs, and its containers as a power cut would.
func (c *Cluster) StopNode(ctx context.Context) error {
	var failed []error
	for _, name := range []string{KubeProxy, Kubelet, Containerd} {
		component, err := c.Component(name)
		if err != nil {
			return err
		}
		failed = append(failed, component.Kill(ctx))
	}
	return errors.Join(append(failed, supervise.KillContainers(c.Folder(), "", ""))...)
}

// KillContainers kills the processes in the real node's containers of a pod, by
// the names of their programs, as a crash would.
func (c *Cluster) KillContainers(uid, program string) error {
	return supervise.KillContainers(c.Folder(), uid, program)
}

// StartNode starts the programs of a node that was stopped, and returns when
// kubelet works.
func (c *Cluster) StartNode(ctx context.Context) error {
	for _, name := range []string{Containerd, KubeProxy} {
		component, err := c.Component(name)
		if err != nil {
			return err
		}
		if err := component.Start(ctx); err != nil {
			return err
		}
	}
	return c.startKubelet(ctx)
}

// startKubelet starts kubelet until it stays: it ends when containerd isn't
// ready yet, and is started again by everybody who runs it.
func (c *Cluster) startKubelet(ctx context.Context) error {
	kubelet, err := c.Component(Kubelet)
	if err != nil {
		return err
	}
	// A kubelet that has just started, on a busy machine, takes seconds to answer.
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: c.DialNode, DisableKeepAlives: true}}
	return c.until(ctx, "kubelet to work", func(ctx context.Context) error {
		if state, err := kubelet.State(ctx); err != nil || !state.Running {
			return errors.Join(err, kubelet.launch(ctx), errors.New("it has just been started"))
		}
		return get(ctx, client, "http://127.0.0.1:10248/healthz")
	}, Containerd)
}

// get returns nil if a server says that all is well.
func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

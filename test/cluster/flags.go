package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"

	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

const (
	// loopback is what the API server listens on, unless there is a real node.
	loopback = "127.0.0.1"
	// serviceCIDR holds the Services' addresses; serviceIP is the first, that
	// of the Service "kubernetes".
	serviceCIDR = "10.96.0.0/16"
	serviceIP   = "10.96.0.1"
	// podCIDR is where simulated pods get their addresses from.
	podCIDR = "10.244.0.0/16"

	// etcdURL names a socket in the run's folder, which is the components'
	// working folder: no port to find, and no path that could be too long.
	etcdURL  = "unix://" + etcdSocket
	etcdPeer = "unix://etcd-peer.sock"

	etcdSocket = "etcd.sock"

	// The usual limits of 20 requests a second would be what a test measures.
	clientQPS, clientBurst = "--kube-api-qps=500", "--kube-api-burst=1000"
)

// Files in the run's folder; writeFiles makes them.
const (
	adminKubeconfig       = "kubeconfig"
	caFile                = "pki/ca.crt"
	caKeyFile             = "pki/ca.key"
	serverFile            = "pki/server.crt"
	serverKeyFile         = "pki/server.key"
	kubeletClientFile     = "pki/kubelet-client.crt"
	kubeletClientKeyFile  = "pki/kubelet-client.key"
	serviceAccountKeyFile = "pki/service-accounts.key"
	auditPolicyFile       = "audit-policy.yaml"
	auditLogFile          = "audit.log"
)

func kubeconfigOf(component string) string { return component + ".kubeconfig" }

// process describes how a component is run.
func (c *Cluster) process(name string) supervise.Process {
	var args []string
	switch name {
	case Etcd:
		args = c.etcdArgs()
	case APIServer:
		args = c.apiServerArgs()
	case ControllerManager:
		args = c.controllerManagerArgs()
	case Scheduler:
		args = c.schedulerArgs()
	case Kwok:
		args = c.kwokArgs()
	}
	return supervise.Process{Name: name, Path: filepath.Join(c.bin, name), Args: append(args, c.options.Args[name]...)}
}

func (c *Cluster) etcdArgs() []string {
	return []string{
		"--data-dir=etcd",
		"--listen-client-urls=" + etcdURL,
		"--advertise-client-urls=" + etcdURL,
		"--listen-peer-urls=" + etcdPeer,
		"--initial-advertise-peer-urls=" + etcdPeer,
		"--initial-cluster=default=" + etcdPeer,
		"--unsafe-no-fsync", // the data need to survive a crash of etcd, not one of the machine
		"--log-level=warn",
	}
}

func (c *Cluster) apiServerArgs() []string {
	endpoints := "none" // a loopback address is no endpoint
	if c.options.RealNode {
		endpoints = "lease"
	}
	return []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=" + c.address,
		"--advertise-address=" + c.address,
		"--secure-port=" + strconv.Itoa(c.port),
		"--permit-port-sharing=true", // the supervisor holds the port
		"--tls-cert-file=" + serverFile,
		"--tls-private-key-file=" + serverKeyFile,
		"--client-ca-file=" + caFile,
		"--service-account-key-file=" + serviceAccountKeyFile,
		"--service-account-signing-key-file=" + serviceAccountKeyFile,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=" + serviceCIDR,
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--endpoint-reconciler-type=" + endpoints,
		// Asked to end, it closes watches at once instead of waiting a minute
		// for them to end by themselves.
		"--shutdown-watch-termination-grace-period=1s",
		// For a real kubelet: how it knows the API server, and that its
		// address is looked for in the Node object, not in DNS.
		"--kubelet-client-certificate=" + kubeletClientFile,
		"--kubelet-client-key=" + kubeletClientKeyFile,
		"--kubelet-preferred-address-types=InternalIP",
		// The request log. A blocking backend has written the line before the
		// client has its answer; one file, never rotated, holds all of them.
		"--audit-policy-file=" + auditPolicyFile,
		"--audit-log-path=" + auditLogFile,
		"--audit-log-mode=blocking",
		"--audit-log-maxsize=0",
	}
}

func (c *Cluster) controllerManagerArgs() []string {
	kubeconfig := kubeconfigOf(ControllerManager)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		"--use-service-account-credentials=true", // each controller with its own rights, as in a real cluster
		"--root-ca-file=" + caFile,
		"--service-account-private-key-file=" + serviceAccountKeyFile,
		"--cluster-signing-cert-file=" + caFile,
		"--cluster-signing-key-file=" + caKeyFile,
		clientQPS, clientBurst,
		"--concurrent-deployment-syncs=20",
		"--concurrent-replicaset-syncs=20",
		"--concurrent-gc-syncs=40",
	}
}

func (c *Cluster) schedulerArgs() []string {
	kubeconfig := kubeconfigOf(Scheduler)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		clientQPS, clientBurst,
	}
}

// kwokArgs has kwok manage the nodes that AddNodes makes, and no others, so
// that a real node can be in the same cluster.
func (c *Cluster) kwokArgs() []string {
	return []string{
		"--kubeconfig=" + kubeconfigOf(Kwok),
		"--config=" + filepath.Join(c.bin, build.StagesFile),
		"--manage-nodes-with-annotation-selector=" + nodeAnnotation + "=" + nodeAnnotationValue,
		"--node-lease-duration-seconds=40",
		"--cidr=" + podCIDR,
	}
}

// etcdReady waits for etcd, then for the API server that lost it.
func (c *Cluster) etcdReady(ctx context.Context) error {
	var dialer net.Dialer
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", filepath.Join(c.Folder(), etcdSocket))
		},
	}}
	err := c.until(ctx, "etcd to be ready", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://etcd/health", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("etcd's health: %s", response.Status)
		}
		return nil
	}, Etcd)
	if err != nil {
		return err
	}
	if server, err := c.supervisor.State(ctx, APIServer); err != nil || !server.Running {
		return err
	}
	return c.Ready(ctx)
}

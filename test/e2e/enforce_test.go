package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// enforcer has kube-network-policies run as its publisher has it run, without what only a
// newer containerd has, and with no more rights than it needs. Its rule may outlive it: then
// all may pass.
const enforcer = `
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [install.yaml]
images: [{name: registry.k8s.io/networking/kube-network-policies, newTag: e2e}]
patches:
- target: {kind: DaemonSet}
  patch: |
    [{"op": "remove", "path": "/spec/template/spec/volumes"},
     {"op": "remove", "path": "/spec/template/spec/containers/0/volumeMounts"},
     {"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--fail-open"},
     {"op": "replace", "path": "/spec/template/spec/containers/0/securityContext",
      "value": {"runAsUser": 0, "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]}}}]
`

// queued are the packets that it is to judge: the first of each connection that a node
// passes on, before the sender's address is rewritten. It has such a rule itself, of a kind
// that not every kernel knows. The second rule is for what pods send to the node: the API
// server is elsewhere in other clusters.
var queued = [][]string{
	{"POSTROUTING", "-m", "owner", "!", "--uid-owner", "0"},
	{"INPUT", "-i", "veth+"},
}

// enforcePolicies has the cluster's NetworkPolicies enforced until the test ends.
func (f *fixture) enforcePolicies() {
	f.Helper()
	program, manifest, err := build.NetworkPolicies(f.Context(), build.Stderr())
	f.Must(err)
	f.Must(shared.PushFiles(f.Context(), "networking/kube-network-policies:e2e", map[string]string{"bin/netpol": program}))
	folder := f.TempDir()
	content, err := os.ReadFile(manifest)
	f.Must(err)
	f.Must(os.WriteFile(filepath.Join(folder, "install.yaml"), content, 0o600))
	f.Must(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(enforcer), 0o600))
	manifests := f.kustomize(folder)
	f.cluster(manifests, "apply", "--server-side", "-f", "-")
	f.Cleanup(func() {
		_, err := shared.Kubectl(context.WithoutCancel(f.Context()), manifests, "delete", "--wait=false", "-f", "-")
		f.Must(err)
	})
	f.cluster("", "rollout", "status", "daemonset/kube-network-policies", "--namespace", "kube-system", "--timeout=3m")
	for _, rule := range queued {
		f.packetFilter("-A", rule)
		f.Cleanup(func() { f.packetFilter("-D", rule) })
	}
}

// packetFilter adds or deletes one of the node's rules.
func (f *fixture) packetFilter(action string, rule []string) {
	f.Helper()
	program, err := exec.LookPath("iptables")
	f.Must(err)
	args := append([]string{"-t", "mangle", action}, rule...)
	f.Must(shared.RunOnce(context.WithoutCancel(f.Context()), supervise.Process{
		Name: "iptables", Path: program,
		Args: append(args, "-m", "conntrack", "--ctstate", "NEW", "-j", "NFQUEUE", "--queue-num", "98", "--queue-bypass"),
	}))
}

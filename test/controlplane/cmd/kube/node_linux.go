package main

import (
	"context"

	"github.com/spf13/cobra"
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// A node's programs exist for Linux only.
func init() {
	programs["kubelet"] = component(func() *cobra.Command {
		return kubelet.NewKubeletCommand(context.Background())
	})
	programs["kube-proxy"] = component(kubeproxy.NewProxyCommand)
}

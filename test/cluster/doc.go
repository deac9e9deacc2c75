// Package cluster starts a real Kubernetes for tests: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and, on demand, simulated nodes on
// which pods "run" at once. No container, no download, no root:
//
//	c, err := cluster.Start(ctx, cluster.Options{Nodes: 3})
//	if err != nil { … }
//	defer c.Stop()
//	client, err := kubernetes.NewForConfig(c.Config)
//
// (In tests, package clustertest shortens this to one line.)
//
// With Options.RealNode there is also a node on which containers run, with a
// registry that PushFiles fills; that needs root on Linux and what package
// programs lists. StopNode and KillContainers cause its faults, DialNode
// connects from inside.
//
// Any number of clusters run beside each other. Each lives in a temporary
// folder, and nothing of it outlives the program that started it, whatever
// happens to that program; package supervise says how.
//
// The programs are built from source when they are not in the cache yet
// (package build). Two variables of the environment, known from other
// controllers' tests, change what the cluster is made of; Supports tells what
// that leaves out:
//
//	KUBEBUILDER_ASSETS=DIR      use the programs in DIR, as envtest does
//	USE_EXISTING_CLUSTER=true   use the cluster that KUBECONFIG names; start nothing
//
// The package may import client-go and what that imports, but neither its clientset nor its
// informers, which make run would have to compile before it shows anything; what it starts
// stays out of the test programs.
package cluster

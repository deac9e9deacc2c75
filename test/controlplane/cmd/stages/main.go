// Command stages prints what kwok does with simulated nodes and pods, as its
// configuration: nodes are Ready and keep their lease, pods run at once, jobs
// complete at once, deleted pods are gone at once. These are kwok's own stages;
// its program comes without any.
package main

import (
	"fmt"
	"strings"

	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodeheartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
)

func main() {
	stages := []string{
		nodefast.DefaultNodeInit,
		nodeheartbeat.DefaultNodeHeartbeatWithLease,
		podfast.DefaultPodReady,
		podfast.DefaultPodComplete,
		podfast.DefaultPodDelete,
	}
	fmt.Print(strings.Join(stages, "\n---\n"))
}

package cluster

import "fmt"

// Feature is what a test may need and not every cluster has. One that Start
// built from source has all of them.
type Feature string

const (
	// Controllers means that Deployments roll out, namespaces get service accounts,
	// children of deleted owners are collected, pods are scheduled.
	Controllers Feature = "controllers"
	// SimulatedNodes means that AddNodes works.
	SimulatedNodes Feature = "simulated nodes"
	// RequestLog means that Mark and Requests work.
	RequestLog Feature = "a request log"
	// Faults means that Component and Run work.
	Faults Feature = "components that can be stopped"
	// Loopback means that the API server reaches what listens on this machine's
	// loopback address, webhooks for example.
	Loopback Feature = "an API server on this machine"
	// Node means that the cluster was started with a real node, whose methods
	// work then.
	Node Feature = "a real node of its own"
)

// Supports returns nil if the cluster has the feature, or an error that says
// why not.
func (c *Cluster) Supports(feature Feature) error {
	if c.supervisor == nil {
		if feature == Controllers {
			return nil
		}
		return fmt.Errorf("needs %s, which an existing cluster (USE_EXISTING_CLUSTER) doesn't have", feature)
	}
	if c.attached {
		if feature == Controllers || feature == Faults {
			return nil
		}
		return fmt.Errorf("needs %s, which a cluster that was there before doesn't have", feature)
	}
	if feature == Node && !c.options.RealNode {
		return fmt.Errorf("needs %s, which wasn't asked for", feature)
	}
	if feature == Loopback && c.options.RealNode {
		return fmt.Errorf("needs %s, but one with a real node is in a network of its own", feature)
	}
	needs := map[Feature][]string{
		Controllers:    {ControllerManager, Scheduler},
		SimulatedNodes: {ControllerManager, Scheduler, Kwok},
	}
	for _, component := range needs[feature] {
		if !c.has(component) {
			return fmt.Errorf("needs %s, but KUBEBUILDER_ASSETS (%s) has no %s; unset it to use programs built from source",
				feature, c.bin, component)
		}
	}
	return nil
}

func (c *Cluster) supports(feature Feature) bool { return c.Supports(feature) == nil }

package cluster

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// nodeAnnotation marks the nodes that kwok manages. A node without it is
	// nobody's: pods that are bound to it stay as the test makes them.
	nodeAnnotation      = "kwok.x-k8s.io/node"
	nodeAnnotationValue = "fake"
)

// AddNodes adds simulated nodes, called simulated-1 and so on, and returns when
// they take pods. A pod on such a node is Running and Ready as soon as it is
// bound, whatever its image and probes are, a job's pod is done at once, and a
// deleted one is gone at once. Each node has room for more pods than any test
// makes.
func (c *Cluster) AddNodes(ctx context.Context, count int) error {
	if count <= 0 {
		return nil
	}
	if err := c.Supports(SimulatedNodes); err != nil {
		return fmt.Errorf("adding nodes: %w", err)
	}
	if _, running := c.components[Kwok]; !running {
		if err := c.add(c.process(Kwok)).launch(ctx); err != nil {
			return err
		}
	}
	names := make([]string, count)
	for i := range names {
		c.nodes++
		names[i] = fmt.Sprintf("simulated-%d", c.nodes)
		if _, err := c.clients.core.Nodes().Create(ctx, newNode(names[i]), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, name := range names {
		err := c.until(ctx, "node "+name, func(ctx context.Context) error {
			node, err := c.clients.core.Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			return takesPods(node)
		}, Kwok, ControllerManager)
		if err != nil {
			return err
		}
	}
	c.logf("%d simulated nodes take pods", count)
	return nil
}

func newNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{nodeAnnotation: nodeAnnotationValue},
		Labels: map[string]string{
			corev1.LabelHostname:   name,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: runtime.GOARCH,
		},
	}}
}

// takesPods says what keeps pods off a node. A node is born with a taint that
// goes some time after it is Ready.
func takesPods(node *corev1.Node) error {
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return fmt.Errorf("it has the taint %s", taint.ToString())
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return errors.New("it isn't Ready")
}

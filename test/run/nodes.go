package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/programs"
	"github.com/zoetrope/markdown-view/test/viewer/viewerimage"
)

// What RUN may be: the kind of nodes that the pods run on.
const (
	realNode       = "node"
	simulatedNodes = "simulated"
)

// nodeTimeout is how long a real node has to take pods, which takes seconds. Then
// simulated ones are taken, unless RUN wants the real one.
const nodeTimeout = 3 * time.Minute

// images are those of viewers in the examples that are applied; the node takes those of any
// registry from its own.
var images = []string{generator.DefaultViewerImage, "peaceiris/mdbook:v0.5.3", "mirror/mdbook:v0.5.4"}

// nodes is what was chosen, and why.
type nodes struct {
	kind, why string
	// asked means that nothing else will do.
	asked bool
}

// choose returns what RUN asks for, or else a real node where there can be one: it is up in
// seconds, too. impossible says why there can't be one; empty means that it can.
func choose(asked, impossible string) (nodes, error) {
	switch {
	case asked == simulatedNodes:
		return nodes{simulatedNodes, "RUN asks for them", true}, nil
	case asked == realNode && impossible == "":
		return nodes{realNode, "RUN asks for it", true}, nil
	case asked == realNode:
		return nodes{}, fmt.Errorf("RUN=node can't be had here: %s", impossible)
	case asked != "":
		return nodes{}, fmt.Errorf("RUN=%s: it may be node or simulated, or unset, which takes node where that can be had", asked)
	case impossible != "":
		return nodes{simulatedNodes, "a real node can't be had here: " + impossible, false}, nil
	}
	return nodes{realNode, "this is root on Linux with containerd; RUN=simulated needs neither", false}, nil
}

func (n nodes) String() string {
	if n.kind == realNode {
		return "a real node, in namespaces of its own: " + n.why
	}
	return "simulated nodes: " + n.why
}

// impossible says in a line why there can't be a real node here; empty means that there can.
func impossible() string {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return fmt.Sprintf("KUBEBUILDER_ASSETS (%s) has no kubelet", assets)
	}
	if err := programs.Need(programs.Node...); err != nil {
		return strings.Join(strings.Fields(err.Error()), " ")
	}
	return ""
}

// start starts the cluster with the nodes that were chosen, and falls back to simulated ones
// if that may be.
func (d *demo) start(ctx context.Context) error {
	if d.nodes.kind == realNode {
		err := d.startNode(ctx)
		if err == nil || ctx.Err() != nil || d.nodes.asked {
			return err
		}
		d.log.Printf("there is no real node, so simulated ones are taken: %v", err)
		d.nodes = nodes{kind: simulatedNodes}
	}
	var err error
	d.cluster, err = cluster.Start(ctx, cluster.Options{Nodes: 2, Log: d.log})
	return err
}

// startNode starts a cluster with a real node, and gives it the viewers' image, for which
// mdBook is fetched meanwhile.
func (d *demo) startNode(ctx context.Context) error {
	var c *cluster.Cluster
	group, starting := errgroup.WithContext(ctx)
	group.Go(func() error {
		// Simulated nodes need it, too, if there is no real one.
		if err := d.shell(ctx, "make --no-print-directory bin/mdbook"); err != nil {
			return fmt.Errorf("the viewers' image needs mdBook: %w", err)
		}
		return nil
	})
	group.Go(func() (err error) {
		limited, cancel := context.WithTimeout(starting, nodeTimeout)
		defer cancel()
		c, err = cluster.Start(limited, cluster.Options{RealNode: true, Log: d.log})
		return err
	})
	err := group.Wait()
	if err == nil {
		d.log.Printf("giving the node mdBook in an image, by the names that the examples have")
		pushing, cancel := context.WithTimeout(ctx, nodeTimeout)
		defer cancel()
		err = viewerimage.Push(pushing, c, d.mdbook(), images...)
	}
	if err != nil && c != nil {
		return errors.Join(err, c.Stop())
	}
	d.cluster = c
	return err
}

// podsAre says what the pods are, for the farewell.
func (d *demo) podsAre() string {
	const simulated = "The nodes are simulated: pods \"run\" as soon as they are scheduled. "
	switch {
	case d.nodes.kind == realNode:
		return "The pods are real: kubectl get pods -A. Those of hello serve their book here:\n" + d.book.address
	case d.book == (book{}):
		return simulated + fetchIt
	default:
		return simulated + "What those of hello\nwould serve, as examples/inline/markdownview.yaml has it, is served on this machine,\nand follows that file: " + d.book.address
	}
}

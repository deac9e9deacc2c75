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
	kindNode       = "kind"
	realNode       = "node"
	simulatedNodes = "simulated"
)

// nodeTimeout is how long a real node has to take pods, which takes seconds. Then
// simulated ones are taken, unless RUN wants the real one.
const nodeTimeout = 3 * time.Minute

// images are those of viewers in the examples that are applied; the node takes those of any
// registry from its own.
var images = []string{generator.DefaultViewerImage, "peaceiris/mdbook:v0.5.3", "mirror/mdbook:v0.5.4"}

// kindImages are those that a node of kind pulls: real registries have them.
var kindImages = images[:2]

// nodes are those that may be taken, and why.
type nodes struct{ kind, why string }

// real reports whether they run containers.
func (n nodes) real() bool { return n.kind != simulatedNodes }

func (n nodes) String() string {
	switch n.kind {
	case kindNode:
		return "a node of kind: " + n.why
	case realNode:
		return "a real node, in namespaces of its own: " + n.why
	}
	return "simulated nodes: " + n.why
}

// choose returns what RUN asks for, and only that, or else what can be had, the one to begin
// with first, and then what is taken if that doesn't start. impossible says why there can't be
// one of a kind; empty means that it can.
func choose(asked string, impossible func(kind string) string) ([]nodes, error) {
	switch asked {
	case "":
	case simulatedNodes:
		return []nodes{{asked, "RUN asks for them"}}, nil
	case kindNode, realNode:
		if why := impossible(asked); why != "" {
			return nil, fmt.Errorf("RUN=%s can't be had here: %s", asked, why)
		}
		return []nodes{{asked, "RUN asks for it"}}, nil
	default:
		return nil, fmt.Errorf("RUN=%s: it may be kind, node or simulated, or unset, which takes the first of these that can be had", asked)
	}
	var possible []nodes
	why := map[string]string{}
	for _, may := range []nodes{
		{kindNode, "kind and a container engine are here; RUN=node and RUN=simulated need neither"},
		{realNode, "this is root on Linux with containerd; RUN=simulated needs neither"},
	} {
		if why[may.kind] = impossible(may.kind); why[may.kind] == "" {
			possible = append(possible, may)
		}
	}
	simulated := nodes{simulatedNodes, "a real one doesn't start here"}
	if why[realNode] != "" {
		simulated.why = "a real one can't be had here: " + why[realNode]
	}
	if why[kindNode] != "" {
		simulated.why += "; nor one of kind: " + why[kindNode]
	}
	return append(possible, simulated), nil
}

// impossible says in a line why there can't be real nodes of a kind here; empty means that there can.
func impossible(ctx context.Context, kind string) string {
	if kind == kindNode {
		return noKind(ctx)
	}
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return fmt.Sprintf("KUBEBUILDER_ASSETS (%s) has no kubelet", assets)
	}
	if err := programs.Need(programs.Node...); err != nil {
		return strings.Join(strings.Fields(err.Error()), " ")
	}
	return ""
}

// start starts the cluster with the nodes that were chosen, or else with the next that may be.
func (d *demo) start(ctx context.Context) error {
	err := d.startWith(ctx)
	for {
		if err == nil || ctx.Err() != nil || len(d.otherNodes) == 0 {
			return err
		}
		d.log.Printf("  that doesn't start: %v", err)
		d.nodes, d.otherNodes = d.otherNodes[0], d.otherNodes[1:]
		d.log.Printf("so pods run on %s", d.nodes)
		if err = d.build(ctx); err == nil {
			err = d.startWith(ctx)
		}
	}
}

func (d *demo) startWith(ctx context.Context) (err error) {
	switch d.nodes.kind {
	case kindNode:
		return d.startKind(ctx)
	case realNode:
		return d.startNode(ctx)
	}
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
	case d.nodes.real():
		return "The pods are real: kubectl get pods -A. Those of hello serve their book here:\n" + d.book.address
	case d.book == (book{}):
		return simulated + fetchIt
	default:
		return simulated + "What those of hello\nwould serve, as examples/inline/markdownview.yaml has it, is served on this machine,\nand follows that file: " + d.book.address
	}
}

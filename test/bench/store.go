package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/zoetrope/markdown-view/test/cluster"
)

// stored are the resources that a view has objects of, its pods and what the cluster makes
// for it among them.
var stored = []string{
	"view.zoetrope.github.io/markdownviews", "/configmaps", "apps/deployments", "/services",
	"apps/replicasets", "/pods", "discovery.k8s.io/endpointslices", "networking.k8s.io/ipaddresses",
}

// clusterCost measures what views cost the API server and etcd. The API server counts once a
// minute, so that one has to have passed.
func (b *bench) clusterCost(ctx context.Context, f *field) error {
	client, err := kubernetes.NewForConfig(f.Cluster.Config)
	if err != nil {
		return err
	}
	content, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return err
	}
	text := string(content)
	objects, bytes := 0.0, 0.0
	var rows []row
	for _, resource := range stored {
		group, name, _ := strings.Cut(resource, "/")
		labels := fmt.Sprintf(`\{group=%q,resource=%q\}`, group, name)
		n, err := sum(text, "apiserver_resource_objects"+labels)
		if err != nil {
			return err
		}
		each, err := sum(text, "apiserver_resource_size_estimate_bytes"+labels)
		if err != nil {
			return err
		}
		objects, bytes = objects+n, bytes+each
		rows = append(rows, f.row("stored of a view: "+name, size(each/float64(f.views)), figure{}, ""))
	}
	database, err := sum(text, `apiserver_storage_size_bytes\{.*\}`)
	if err != nil {
		return err
	}
	b.results.add(f.row("objects a view", number(objects/float64(f.views)), figure{}, ""),
		f.row("stored of a view, events aside", size(bytes/float64(f.views)), figure{}, ""))
	b.results.add(rows...)
	b.results.add(f.row("etcd's file, with what is overwritten", size(database), figure{}, ""))
	for _, name := range []string{cluster.APIServer, cluster.Etcd} {
		component, err := f.Cluster.Component(name)
		if err != nil {
			return err
		}
		peak, err := peakOf(ctx, component)
		if err != nil {
			return err
		}
		b.results.add(f.row("resident memory of "+name+", at most", size(peak), figure{}, ""))
	}
	return nil
}

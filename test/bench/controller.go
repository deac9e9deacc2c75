package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/product"
)

// The client's limits on either side: high enough not to be what is measured.
const clientQPS, clientBurst = 500, 1000

// field is where the controller is measured: a control plane with simulated nodes.
type field struct {
	*product.Product
	views      int
	controller *cluster.Component
	metrics    string
	profiles   string
}

// inCluster measures the controller against a bare loop that applies the same
// objects.
func (b *bench) inCluster() (err error) {
	if b.clusterViews == 0 {
		return nil
	}
	ctx := context.Background()
	ctrllog.SetLogger(logr.Discard()) // the client's, which would ask for one
	c, err := cluster.Start(ctx, cluster.Options{Nodes: 5, Log: build.Stderr()})
	if err != nil {
		return err
	}
	defer func() {
		if stop := c.Stop(); err == nil {
			err = stop
		}
	}()
	f := &field{views: b.clusterViews}
	if f.Product, err = product.Install(ctx, c); err != nil {
		return err
	}
	for _, measure := range []func(context.Context, *field) error{b.throughput, b.controllerMemory, b.repairs, b.restart} {
		if err := measure(ctx, f); err != nil {
			return err
		}
		if err := b.table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// throughput measures how many views a second get their objects. The views are there
// before the controller is, so that making them isn't measured.
func (b *bench) throughput(ctx context.Context, f *field) error {
	if err := f.namespaces(ctx, "bare", "views"); err != nil {
		return err
	}
	bare, err := f.bareLoop(ctx)
	if err != nil {
		return err
	}
	for i := range f.views {
		view, err := viewOf(i, "views")
		if err != nil {
			return err
		}
		if err := f.Client.Create(ctx, view); err != nil {
			return err
		}
	}
	since, err := f.Cluster.Mark(ctx)
	if err != nil {
		return err
	}
	if err := f.start(ctx); err != nil {
		return err
	}
	if err := f.allReady(ctx); err != nil {
		return err
	}
	requests, err := f.Cluster.Requests(ctx, since, cluster.By(product.User), cluster.In("views"), cluster.Writes, cluster.Not(cluster.Events))
	if err != nil {
		return err
	}
	var applies []cluster.Request
	for _, r := range requests {
		if r.Subresource == "" {
			applies = append(applies, r)
		}
	}
	if len(applies) < 3*f.views {
		return fmt.Errorf("the controller applied %d objects, should be %d", len(applies), 3*f.views)
	}
	ours := applies[len(applies)-1].Received.Sub(applies[0].Received)
	rate := func(d time.Duration) float64 { return float64(f.views) / d.Seconds() }
	fmt.Fprintf(b.table, "controller, %d views of 2 KB / a bare loop that applies their objects\t%.1f/s\t%.1f/s\t%.2f\t≥ 0.8\n",
		f.views, rate(ours), rate(bare), rate(ours)/rate(bare))
	fmt.Fprintf(b.table, "controller, requests a view until Ready, events aside / a bare loop\t%.2f\t3\t%.2f\t≤ 2\n",
		float64(len(requests))/float64(f.views), float64(len(requests))/float64(3*f.views))
	return nil
}

// bareLoop applies what the views expand to, one object after the other, and returns
// how long that took.
func (f *field) bareLoop(ctx context.Context) (time.Duration, error) {
	config := rest.CopyConfig(f.Cluster.Config)
	config.QPS, config.Burst = clientQPS, clientBurst
	bare, err := product.NewClient(config)
	if err != nil {
		return 0, err
	}
	var objects []runtime.ApplyConfiguration
	for i := range f.views {
		view, err := viewOf(i, "bare")
		if err != nil {
			return 0, err
		}
		output, err := generator.Generate(view, nil)
		if err != nil {
			return 0, err
		}
		for _, configMap := range output.ConfigMaps {
			objects = append(objects, configMap)
		}
		objects = append(objects, output.Deployment, output.Service)
	}
	began := time.Now()
	for _, object := range objects {
		if err := bare.Apply(ctx, object, client.FieldOwner("bare"), client.ForceOwnership); err != nil {
			return 0, err
		}
	}
	took := time.Since(began)
	// Its pods must be up before the controller's turn, which would share the
	// machine with them.
	return took, f.until(ctx, "the bare loop's Deployments", func() (string, error) {
		var list appsv1.DeploymentList
		if err := f.Client.List(ctx, &list, client.InNamespace("bare")); err != nil {
			return "", err
		}
		for i := range list.Items {
			if list.Items[i].Status.AvailableReplicas == 0 {
				return list.Items[i].Name + " isn't available", nil
			}
		}
		return "", nil
	})
}

func viewOf(i int, namespace string) (*v1.MarkdownView, error) {
	view := &v1.MarkdownView{}
	if err := yaml.UnmarshalStrict([]byte(viewDocument(i)), view); err != nil {
		return nil, err
	}
	view.Namespace = namespace
	return view, nil
}

// controllerMemory measures what a view costs the controller.
func (b *bench) controllerMemory(ctx context.Context, f *field) error {
	full, err := f.heap(ctx)
	if err != nil {
		return err
	}
	view := &v1.MarkdownView{}
	if err := f.Client.Get(ctx, client.ObjectKey{Namespace: "views", Name: "view-0"}, view); err != nil {
		return err
	}
	size, err := json.Marshal(view)
	if err != nil {
		return err
	}
	// What it needs without a view is part of the program, not of the views.
	empty, err := f.emptyHeap(ctx)
	if err != nil {
		return err
	}
	each := (full - empty) / float64(f.views)
	fmt.Fprintf(b.table, "controller, heap a view / the view as JSON\t%.1f kB\t%.1f kB\t%.1f\t\n", each/1e3, float64(len(size))/1e3, each/float64(len(size)))
	return nil
}

// restart measures how long a new process takes until it has looked at all views.
func (b *bench) restart(ctx context.Context, f *field) error {
	since, err := f.Cluster.Mark(ctx)
	if err != nil {
		return err
	}
	if err := f.controller.Stop(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := f.controller.Start(ctx); err != nil {
		return err
	}
	err = cluster.Await(ctx, time.Minute, 50*time.Millisecond, "the controller to look at all views", func(ctx context.Context) (string, error) {
		if n, err := f.scrape(ctx, `controller_runtime_reconcile_total\{.*\}`); err != nil || n < float64(f.views) {
			return fmt.Sprintf("it has looked %.0f times: %v", n, err), nil
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	writes, err := f.Cluster.Requests(ctx, since, cluster.By(product.User), cluster.Writes, cluster.Not(cluster.Events))
	if err != nil {
		return err
	}
	fmt.Fprintf(b.table, "controller, restart until %d views are in sync; writes\t%.1f s\t%d writes\t\t0 writes\n", f.views, took.Seconds(), len(writes))
	return nil
}

func (f *field) namespaces(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := f.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
		if err := f.Cluster.WaitNamespace(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (f *field) start(ctx context.Context) (err error) {
	if err := f.listen(); err != nil {
		return err
	}
	f.controller, err = f.RunController(ctx, "controller", "--metrics-addr="+f.metrics, "--pprof-addr="+f.profiles,
		fmt.Sprintf("--kube-api-qps=%d", clientQPS), fmt.Sprintf("--kube-api-burst=%d", clientBurst))
	return err
}

// listen chooses the addresses of a controller.
func (f *field) listen() (err error) {
	if f.metrics, err = freeAddress(); err != nil {
		return err
	}
	f.profiles, err = freeAddress()
	return err
}

func (f *field) allReady(ctx context.Context) error {
	return f.until(ctx, "all views to be Ready", func() (string, error) {
		var list v1.MarkdownViewList
		if err := f.Client.List(ctx, &list, client.InNamespace("views")); err != nil {
			return "", err
		}
		ready := 0
		for i := range list.Items {
			if conditions.IsTrue(&list.Items[i], meta.ReadyCondition) {
				ready++
			}
		}
		if ready < f.views {
			return fmt.Sprintf("%d of %d are", ready, f.views), nil
		}
		return "", nil
	})
}

// until waits for what takes minutes on a busy machine. It looks seldom: a list of all
// views ten times a second would be what is measured.
func (f *field) until(ctx context.Context, what string, missing func() (string, error)) error {
	return cluster.Await(ctx, 15*time.Minute, 2*time.Second, what, func(context.Context) (string, error) { return missing() })
}

// heap is what the controller's heap holds after a collection, in bytes.
func (f *field) heap(ctx context.Context) (float64, error) {
	// Profiles are taken after a collection.
	if _, err := get(ctx, f.profiles, "/debug/pprof/heap?gc=1"); err != nil {
		return 0, err
	}
	return f.scrape(ctx, `go_memstats_heap_alloc_bytes`)
}

// emptyHeap is that of a controller that looks after no view.
func (f *field) emptyHeap(ctx context.Context) (float64, error) {
	empty := &field{Product: f.Product}
	if err := empty.listen(); err != nil {
		return 0, err
	}
	if err := empty.namespaces(ctx, "empty"); err != nil {
		return 0, err
	}
	component, err := f.RunController(ctx, "empty", "--metrics-addr="+empty.metrics, "--pprof-addr="+empty.profiles, "--namespaces=empty")
	if err != nil {
		return 0, err
	}
	var heap float64
	err = f.until(ctx, "the empty controller", func() (string, error) {
		value, unready := empty.heap(ctx)
		if unready != nil {
			return unready.Error(), nil //nolint:nilerr // it is waited for
		}
		heap = value
		return "", nil
	})
	if err != nil {
		return 0, err
	}
	return heap, component.Kill(ctx)
}

// scrape returns the sum of the series whose name and labels match.
func (f *field) scrape(ctx context.Context, pattern string) (float64, error) {
	text, err := get(ctx, f.metrics, "/metrics")
	if err != nil {
		return 0, err
	}
	sum, found := 0.0, false
	for _, match := range regexp.MustCompile(`(?m)^`+pattern+` (\S+)$`).FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			return 0, err
		}
		sum, found = sum+value, true
	}
	if !found {
		return 0, fmt.Errorf("no series matches %s", pattern)
	}
	return sum, nil
}

func get(ctx context.Context, address, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	var text strings.Builder
	_, err = io.Copy(&text, response.Body)
	return text.String(), err
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String(), nil
}

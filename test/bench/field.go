package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/product"
)

// field is where the controller is measured: a control plane with simulated nodes.
type field struct {
	*product.Product
	views int
	// perNamespace is how many views a namespace has at most: what Kubernetes does about a pod
	// takes longer the more Services its namespace has.
	perNamespace int
	controller   *cluster.Component
	metrics      string
	profiles     string
	// withoutViews is the resident memory of a controller without views; 0 if it wasn't measured.
	withoutViews float64
	loops        bareLoops
}

// controlPlane is what 10,000 views need beyond the tests' cluster.
var controlPlane = map[string][]string{
	// Before the API server has etcd drop what was overwritten, every five minutes, ten
	// thousand views make more than the usual 2 GiB.
	cluster.Etcd: {"--quota-backend-bytes=8589934592"},
	// A rollout of all is what the Deployment controller takes longest for. Nodes don't
	// go away while there is no API server to tell that they are there.
	cluster.ControllerManager: {
		"--concurrent-deployment-syncs=50", "--concurrent-replicaset-syncs=50",
		"--concurrent-endpoint-syncs=20", "--concurrent-service-endpoint-syncs=20",
		"--kube-api-qps=2000", "--kube-api-burst=4000", "--node-monitor-grace-period=30m",
	},
	cluster.Scheduler: {"--kube-api-qps=2000", "--kube-api-burst=4000"},
}

// inCluster measures the controller.
func (b *bench) inCluster() (err error) {
	if b.clusterViews == 0 {
		return nil
	}
	if b.perNamespace < 1 {
		return fmt.Errorf("-per-namespace is %d, must be 1 or more", b.perNamespace)
	}
	ctx := context.Background()
	ctrllog.SetLogger(logr.Discard()) // the client's, which would ask for one
	measures, err := b.selected()
	if err != nil {
		return err
	}
	loops, err := b.bareLoops(ctx)
	if err != nil {
		return err
	}
	c, err := startCluster(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if stop := c.Stop(); err == nil {
			err = stop
		}
	}()
	f := &field{views: b.clusterViews, perNamespace: b.perNamespace, loops: loops}
	if f.Product, err = product.Install(ctx, c); err != nil {
		return err
	}
	if err := buildReleased(ctx, f.Product); err != nil {
		return err
	}
	limit, err := f.memoryLimit()
	if err != nil {
		return err
	}
	f.Env = []string{"GOMEMLIMIT=" + limit}
	if b.profiles != "" {
		f.Env = append(f.Env, heapSamples)
	}
	for _, m := range measures {
		if err := m.run(b, ctx, f); err != nil {
			return err
		}
		if err := b.results.keep(); err != nil {
			return err
		}
	}
	return nil
}

// buildReleased builds the controller by the profile that releases are compiled by.
func buildReleased(ctx context.Context, p *product.Product, args ...string) error {
	profile := filepath.Join(p.Repository, "controller", "controller.pgo")
	return p.Build(ctx, append(args, "-pgo="+profile, "./controller")...)
}

// startCluster starts a control plane with simulated nodes.
func startCluster(ctx context.Context) (*cluster.Cluster, error) {
	return cluster.Start(ctx, cluster.Options{Nodes: 5, Args: controlPlane, Log: build.Stderr()})
}

// measure is one of the controller's. The first makes the views that the others look at.
type measure struct {
	name string
	run  func(*bench, context.Context, *field) error
}

var clusterMeasures = []measure{
	{"converge", (*bench).converge},
	{"memory", (*bench).controllerMemory},
	{"idle", (*bench).idle},
	{"cost", (*bench).clusterCost},
	{"repairs", (*bench).repairs},
	{"restart", (*bench).restart},
	{"outage", (*bench).apiOutage},
	{"neighbours", (*bench).neighbours},
	{"rollout", (*bench).rolloutOfAll},
	{"patched", (*bench).patchedInCluster},
}

func measureNames() []string {
	names := make([]string, 0, len(clusterMeasures))
	for _, m := range clusterMeasures {
		names = append(names, m.name)
	}
	return names
}

// selected are the measures that are asked for, in their order.
func (b *bench) selected() ([]measure, error) {
	if b.only == "" {
		return clusterMeasures, nil
	}
	only := strings.Split(b.only, ",")
	for _, name := range only {
		if !slices.Contains(measureNames(), name) {
			return nil, fmt.Errorf("-only names %q, must be of %s", name, strings.Join(measureNames(), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(clusterMeasures), func(m measure) bool {
		return m.name != clusterMeasures[0].name && !slices.Contains(only, m.name)
	}), nil
}

// row is one about the controller.
func (f *field) row(what string, ours, baseline figure, goal string) row {
	return row{fmt.Sprintf("controller, %d views, %s", f.views, what), ours, baseline, goal}
}

// memoryLimit is what config/manager has GOMEMLIMIT say, in bytes.
func (f *field) memoryLimit() (string, error) {
	content, err := os.ReadFile(filepath.Join(f.Repository, "config", "manager", "deployment.yaml"))
	if err != nil {
		return "", err
	}
	deployment := &appsv1.Deployment{}
	if err := yaml.Unmarshal(content, deployment); err != nil {
		return "", err
	}
	limit := deployment.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]
	if limit.Cmp(resource.Quantity{}) <= 0 {
		return "", fmt.Errorf("config/manager/deployment.yaml has no memory limit")
	}
	return strconv.FormatInt(limit.Value(), 10), nil
}

func viewOf(i int, namespace string) (*v1.MarkdownView, error) {
	view := &v1.MarkdownView{}
	if err := yaml.UnmarshalStrict([]byte(viewDocument(i)), view); err != nil {
		return nil, err
	}
	view.Namespace = namespace
	return view, nil
}

// inParallel does something for each number below n, so many at a time.
func inParallel(atOnce, n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// parallel is how many requests at once a loop makes that somebody would write for speed.
const parallel = 16

// viewsPrefix begins the names of the namespaces of the views that are measured.
const viewsPrefix = "views-"

// namespaceOf is the namespace of the view of a number.
func (f *field) namespaceOf(i int) string {
	return viewsPrefix + strconv.Itoa(i/f.perNamespace)
}

// viewNamespaces are the namespaces of all views.
func (f *field) viewNamespaces() []string {
	var names []string
	for i := 0; i < f.views; i += f.perNamespace {
		names = append(names, f.namespaceOf(i))
	}
	return names
}

// inViews keeps the requests for the views that are measured, and for their objects.
func inViews(r cluster.Request) bool { return strings.HasPrefix(r.Namespace, viewsPrefix) }

// createViews makes views, each in the namespace of its number.
func (f *field) createViews(ctx context.Context, views int, namespaceOf func(i int) string) error {
	return inParallel(parallel, views, func(i int) error {
		view, err := viewOf(i, namespaceOf(i))
		if err != nil {
			return err
		}
		return f.Client.Create(ctx, view)
	})
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

// drop deletes a namespace, and waits until nothing of it is left.
func (f *field) drop(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := f.Client.Delete(ctx, namespace); err != nil {
		return err
	}
	return f.until(ctx, "namespace "+name+" to go", func() (string, error) {
		err := f.Client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		if err == nil {
			return "it is " + string(namespace.Status.Phase), nil
		}
		return "", client.IgnoreNotFound(err)
	})
}

// start starts a controller with its defaults.
func (f *field) start(ctx context.Context, name string, args ...string) (err error) {
	if err := f.listen(); err != nil {
		return err
	}
	f.controller, err = f.RunController(ctx, name, append(args, "--metrics-addr="+f.metrics, "--pprof-addr="+f.profiles)...)
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

// allReady waits until all views are.
func (f *field) allReady(ctx context.Context) error {
	return f.allReadyIn(ctx, f.views, f.viewNamespaces()...)
}

// until waits for what takes minutes on a busy machine. It looks seldom: a list of all
// views ten times a second would be what is measured.
func (f *field) until(ctx context.Context, what string, missing func() (string, error)) error {
	interval := 2*time.Second + time.Duration(f.views)*time.Millisecond
	return cluster.Await(ctx, time.Hour, interval, what, func(context.Context) (string, error) { return missing() })
}

// scrape returns the sum of the controller's series whose name and labels match.
func (f *field) scrape(ctx context.Context, pattern string) (float64, error) {
	text, err := get(ctx, f.metrics, "/metrics")
	if err != nil {
		return 0, err
	}
	return sum(text, pattern)
}

// sum adds up the series whose name and labels match.
func sum(text, pattern string) (float64, error) {
	total, found := 0.0, false
	for _, match := range regexp.MustCompile(`(?m)^`+pattern+` (\S+)$`).FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			return 0, err
		}
		total, found = total+value, true
	}
	if !found {
		return 0, fmt.Errorf("no series matches %s", pattern)
	}
	return total, nil
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

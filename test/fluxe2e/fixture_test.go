package fluxe2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/flux"
	"github.com/zoetrope/markdown-view/test/product"
	"github.com/zoetrope/markdown-view/test/product/producttest"
	"github.com/zoetrope/markdown-view/test/viewer"
)

// patience is how long a test waits for what should take seconds.
const patience = 3 * time.Minute

// fixture is a namespace of a test's own.
type fixture struct {
	*producttest.Fixture
	flux      *flux.Flux
	namespace string
}

// newRealFixture makes one whose pods are real. Such tests measure, and run one
// after the other, before all others.
func newRealFixture(t *testing.T) *fixture {
	t.Helper()
	return fixtureIn(t, shared, clustertest.NamespaceOn(t, shared.product.Cluster, cluster.RealNode))
}

// newFixture makes one whose pods are simulated, for a test that runs beside others.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	return fixtureIn(t, shared, clustertest.NamespaceOn(t, shared.product.Cluster, cluster.SimulatedNode))
}

// newCluster starts a cluster for one test, with the product's manifests. Neither
// Flux nor the controller run.
func newCluster(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Nodes: 1})
	w, err := newWorld(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.flux.Close)
	return fixtureIn(t, w, clustertest.Namespace(t, c))
}

func fixtureIn(t *testing.T, w *world, namespace string) *fixture {
	t.Helper()
	f := &producttest.Fixture{T: t, Product: w.product, Namespace: namespace, Limit: patience}
	f.DescribeFailure("get kustomizations,gitrepositories,externalartifacts,markdownviews,deployments,pods -o wide",
		"get events --sort-by=.lastTimestamp")
	return &fixture{f, w.flux, namespace}
}

// in is the fixture of a subtest, in the same namespace.
func (f *fixture) in(t *testing.T) *fixture { return &fixture{f.For(t), f.flux, f.namespace} }

// The names by which this package's tests call what producttest has.
func (f *fixture) must(err error)                             { f.Helper(); f.Must(err) }
func (f *fixture) create(object client.Object)                { f.Helper(); f.Create(object) }
func (f *fixture) get(object client.Object, name string) bool { f.Helper(); return f.Get(object, name) }
func (f *fixture) patch(object client.Object, name, patch string) {
	f.Helper()
	f.Patch(object, name, patch)
}
func (f *fixture) eventually(what string, missing func() string) {
	f.Helper()
	f.Eventually(what, missing)
}
func (f *fixture) while(limit time.Duration, what string, broken func() string) {
	f.Helper()
	f.While(limit, what, broken)
}
func (f *fixture) status(name string, want metav1.ConditionStatus, reason string, words ...string) *v1.MarkdownView {
	f.Helper()
	return f.Status(name, want, reason, words...)
}
func (f *fixture) ready(name string) *v1.MarkdownView {
	f.Helper()
	return f.status(name, metav1.ConditionTrue, v1.HealthyReason)
}
func (f *fixture) pods(view string) []corev1.Pod { f.Helper(); return f.Pods(view) }
func (f *fixture) kubectl(args ...string) string { f.Helper(); return f.MustKubectl("", args...) }
func (f *fixture) mark() cluster.Mark            { f.Helper(); return f.Mark() }
func (f *fixture) settled(views ...string)       { f.Helper(); f.Settled(views...) }
func (f *fixture) requests(since cluster.Mark, filters ...cluster.Filter) []cluster.Request {
	f.Helper()
	return f.Requests(since, filters...)
}

func lines(requests []cluster.Request) string { return producttest.Lines(requests) }
func differs(got, want string) string         { return producttest.Differs(got, want) }

// example is what an example has one commit.
func example(name string) fs.FS {
	return os.DirFS(filepath.Join("../../examples/flux", name, "repository"))
}

// repository makes a repository, with files as its first commit.
func (f *fixture) repository(files fs.FS) *flux.Repository {
	f.Helper()
	repository, err := f.flux.Git.Repository(f.Context(), f.namespace)
	f.must(err)
	f.must(repository.Copy(files))
	_, err = repository.Push(f.Context(), "Write the handbook")
	f.must(err)
	return repository
}

// apply applies an example's flux.yaml, with the test's repository and namespace in
// it.
func (f *fixture) apply(example string, repository *flux.Repository) {
	f.Helper()
	content, err := os.ReadFile(filepath.Join("../../examples/flux", example, "flux.yaml"))
	f.must(err)
	objects, err := product.Objects(content)
	f.must(err)
	for _, object := range objects {
		object.SetNamespace(f.namespace)
		spec := object.Object["spec"].(map[string]any)
		if spec["url"] != nil {
			spec["url"] = repository.URL
		}
		if spec["targetNamespace"] != nil {
			spec["targetNamespace"] = f.namespace
		}
		f.must(f.Client.Apply(f.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"), client.ForceOwnership))
	}
}

// deployment is that of a view.
func (f *fixture) deployment(view string) *appsv1.Deployment {
	f.Helper()
	return producttest.Live[appsv1.Deployment](f.Fixture, generator.ViewerName(view))
}

func (f *fixture) site(view string) *viewer.Site {
	f.Helper()
	return viewer.NewSite(f, f.Cluster, f.namespace, view)
}

// configMaps are a view's ConfigMaps: resource versions by names.
func (f *fixture) configMaps(view string) map[string]string {
	f.Helper()
	var list corev1.ConfigMapList
	f.must(f.Client.List(f.Context(), &list, client.InNamespace(f.namespace), client.MatchingLabels(generator.Labels(view))))
	versions := map[string]string{}
	for i := range list.Items {
		versions[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	return versions
}

// copyOver copies files into a folder, over what is there.
func copyOver(folder string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(folder, name)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

func (f *fixture) mustRead(path string) string {
	f.Helper()
	content, err := os.ReadFile(path)
	f.must(err)
	return string(content)
}

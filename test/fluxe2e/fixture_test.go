package fluxe2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/flux"
	"github.com/zoetrope/markdown-view/test/product"
	"github.com/zoetrope/markdown-view/test/viewer"
)

// patience is how long a test waits for what should take seconds.
const patience = 3 * time.Minute

// fixture is a namespace of a test's own.
type fixture struct {
	*testing.T
	*world
	namespace string
}

// newRealFixture makes one whose pods are real. Such tests measure, and run one
// after the other, before all others.
func newRealFixture(t *testing.T) *fixture {
	t.Helper()
	return fixtureOn(t, shared, cluster.RealNode)
}

// newFixture makes one whose pods are simulated, for a test that runs beside others.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	return fixtureOn(t, shared, cluster.SimulatedNode)
}

// newCluster starts a cluster for one test, with the product's manifests. Neither
// Flux nor the controller run.
func newCluster(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	w, err := newWorld(t.Context(), clustertest.Start(t, cluster.Options{Nodes: 1}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	f := &fixture{T: t, world: w, namespace: clustertest.Namespace(t, w.Cluster)}
	t.Cleanup(f.describe)
	return f
}

func fixtureOn(t *testing.T, w *world, node string) *fixture {
	t.Helper()
	f := &fixture{T: t, world: w, namespace: clustertest.NamespaceOn(t, w.Cluster, node)}
	t.Cleanup(f.describe)
	return f
}

// describe shows a failed test's objects.
func (f *fixture) describe() {
	if !f.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, args := range [][]string{
		{"get", "kustomizations,gitrepositories,externalartifacts,markdownviews,deployments,pods", "-o", "wide"},
		{"get", "events", "--sort-by=.lastTimestamp"},
	} {
		out, _ := f.kubectlIn(ctx, args...) // the error is in the output
		f.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
}

func (f *fixture) kubectlIn(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(f.Cluster.Programs(), "kubectl"),
		append([]string{"--kubeconfig", f.Cluster.Kubeconfig, "--namespace", f.namespace}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// kubectl runs kubectl in the test's namespace.
func (f *fixture) kubectl(args ...string) string {
	f.Helper()
	out, err := f.kubectlIn(f.Context(), args...)
	if err != nil {
		f.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// eventually waits until a condition holds; it returns what is missing.
func (f *fixture) eventually(what string, missing func() string) {
	f.Helper()
	clustertest.Eventually(f, patience, clustertest.Often, what, missing)
}

// while holds a condition for some time; it returns what breaks it.
func (f *fixture) while(limit time.Duration, what string, broken func() string) {
	f.Helper()
	end := time.After(limit)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		if broken := broken(); broken != "" {
			f.Fatalf("%s: %s", what, broken)
		}
		select {
		case <-end:
			return
		case <-ticker.C:
		}
	}
}

// get reads an object of the test's namespace; false if there is none.
func (f *fixture) get(object client.Object, name string) bool {
	f.Helper()
	err := f.Client.Get(f.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, object)
	if client.IgnoreNotFound(err) != nil {
		f.Fatal(err)
	}
	return err == nil
}

func (f *fixture) create(object client.Object) {
	f.Helper()
	object.SetNamespace(f.namespace)
	f.must(f.Client.Create(f.Context(), object))
}

// patch changes fields of an object, as kubectl patch does.
func (f *fixture) patch(object client.Object, name, patch string) {
	f.Helper()
	object.SetNamespace(f.namespace)
	object.SetName(name)
	f.must(f.Client.Patch(f.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("kubectl-patch")))
}

// example is what an example has one commit.
func example(name string) fs.FS {
	return os.DirFS(filepath.Join("../../examples/flux", name, "repository"))
}

// repository makes a repository, with files as its first commit.
func (f *fixture) repository(files fs.FS) *flux.Repository {
	f.Helper()
	repository, err := f.Git.Repository(f.Context(), f.namespace)
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
	deployment := &appsv1.Deployment{}
	if !f.get(deployment, generator.ViewerName(view)) {
		f.Fatalf("%s has no Deployment", view)
	}
	return deployment
}

// pods are the names of a view's pods, but of those that are being deleted.
func (f *fixture) pods(view string) []corev1.Pod {
	f.Helper()
	var list corev1.PodList
	f.must(f.Client.List(f.Context(), &list, client.InNamespace(f.namespace), client.MatchingLabels(generator.Labels(view))))
	var pods []corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, list.Items[i])
		}
	}
	return pods
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

func (f *fixture) mark() cluster.Mark {
	f.Helper()
	mark, err := f.Cluster.Mark(f.Context())
	f.must(err)
	return mark
}

// requests are those in the test's namespace since a mark.
func (f *fixture) requests(since cluster.Mark, filters ...cluster.Filter) []cluster.Request {
	f.Helper()
	list, err := f.Cluster.Requests(f.Context(), since, append(filters, cluster.In(f.namespace))...)
	f.must(err)
	return list
}

func lines(requests []cluster.Request) string {
	var b strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&b, "  %s\n", r)
	}
	return b.String()
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

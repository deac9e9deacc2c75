// Package clustertest is package cluster for Go tests. A package's tests share
// one cluster, each in a namespace of its own:
//
//	var shared *cluster.Cluster
//
//	func TestMain(m *testing.M) {
//		os.Exit(clustertest.Main(m, cluster.Options{Nodes: 3}, &shared))
//	}
//
//	func TestSomething(t *testing.T) {
//		clustertest.Need(t, shared, cluster.Controllers)
//		namespace := clustertest.Namespace(t, shared)
//		…
//	}
//
// A test that stops components or sets arguments starts a cluster for itself.
package clustertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
)

// Main runs a package's tests with one cluster that they share, and returns
// the exit status. setUp prepares the cluster for them.
func Main(m *testing.M, options cluster.Options, shared **cluster.Cluster, setUp ...func(context.Context) error) (status int) {
	log.SetLogger(logr.Discard()) // or the clients complain that nobody did
	if options.Log == nil {
		options.Log = build.Stderr()
	}
	ctx := context.Background()
	c, err := cluster.Start(ctx, options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := c.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}()
	*shared = c
	for _, prepare := range setUp {
		if err := prepare(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// Start starts a cluster for one test, which ends with it.
func Start(t testing.TB, options cluster.Options) *cluster.Cluster {
	t.Helper()
	if options.Log == nil {
		options.Log = func(line string) { t.Log(line) }
	}
	c, err := cluster.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Need skips a test on a cluster that lacks something it needs.
func Need(t testing.TB, c *cluster.Cluster, features ...cluster.Feature) {
	t.Helper()
	for _, feature := range features {
		if err := c.Supports(feature); err != nil {
			t.Skip(err)
		}
	}
}

// Eventually waits until a condition holds, which it looks at once each interval, and
// fails the test after the limit. missing returns what is missing, "" if nothing is.
func Eventually(t testing.TB, limit, interval time.Duration, what string, missing func() string) {
	t.Helper()
	err := cluster.Await(t.Context(), limit, interval, what, func(context.Context) (string, error) { return missing(), nil })
	if err != nil {
		t.Fatal(err)
	}
}

// Often is the interval for conditions that cost little to look at.
const Often = 50 * time.Millisecond

// Namespace makes a namespace in which pods can be made. It is deleted after
// the test, which doesn't wait for that.
func Namespace(t testing.TB, c *cluster.Cluster) string {
	t.Helper()
	return namespace(t, c, nil)
}

// NamespaceOn makes a namespace whose pods run on one node, in a cluster with the
// API server's admission plugin PodNodeSelector.
func NamespaceOn(t testing.TB, c *cluster.Cluster, node string) string {
	t.Helper()
	return namespace(t, c, map[string]string{"scheduler.alpha.kubernetes.io/node-selector": corev1.LabelHostname + "=" + node})
}

func namespace(t testing.TB, c *cluster.Cluster, annotations map[string]string) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Annotations: annotations}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := client.CoreV1().Namespaces().Delete(ctx, namespace.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting the test's namespace: %v", err)
		}
	})
	if err := c.WaitNamespace(t.Context(), namespace.Name); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// Keep writes a file that outlives the test, into the repository's folder artifacts.
func Keep(t *testing.T, name string, content []byte) {
	t.Helper()
	repository, err := build.Repository()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(repository, "artifacts")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

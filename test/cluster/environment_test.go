package cluster_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

func TestUseExistingCluster(t *testing.T) {
	clustertest.Need(t, shared, cluster.Faults)
	t.Setenv("USE_EXISTING_CLUSTER", "true")
	t.Setenv("KUBECONFIG", shared.Kubeconfig)
	c := clustertest.Start(t, cluster.Options{Nodes: 5})
	if c.Config.Host != shared.Config.Host || c.Kubeconfig != shared.Kubeconfig {
		t.Errorf("it isn't the cluster that KUBECONFIG names: %s, %s", c.Config.Host, c.Kubeconfig)
	}
	user, err := c.User("somebody", "a-group")
	if err != nil {
		t.Fatal(err)
	}
	if self := whoAmI(t, user); self.Username != "somebody" {
		t.Errorf("its user is %s", self.Username)
	}
	if err := c.Supports(cluster.Controllers); err != nil {
		t.Error(err)
	}
	for _, feature := range []cluster.Feature{cluster.SimulatedNodes, cluster.RequestLog, cluster.Faults, cluster.Loopback} {
		if c.Supports(feature) == nil {
			t.Errorf("it has %s", feature)
		}
	}
	if _, err := c.Mark(t.Context()); err == nil {
		t.Error("it has a request log")
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := shared.Ready(t.Context()); err != nil {
		t.Errorf("Stop has stopped it: %v", err)
	}

	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if _, err := cluster.Start(t.Context(), cluster.Options{}); err == nil || !strings.Contains(err.Error(), "KUBECONFIG") {
		t.Errorf("without a KUBECONFIG: %v", err)
	}
}

func TestKubebuilderAssets(t *testing.T) {
	clustertest.Need(t, shared, cluster.Faults)
	assets := t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := os.Symlink(filepath.Join(shared.Programs(), name), filepath.Join(assets, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	c := clustertest.Start(t, cluster.Options{})
	if _, err := clientFor(t, c.Config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	clustertest.Need(t, c, cluster.RequestLog, cluster.Faults, cluster.Loopback)
	for _, feature := range []cluster.Feature{cluster.Controllers, cluster.SimulatedNodes} {
		if err := c.Supports(feature); err == nil || !strings.Contains(err.Error(), "KUBEBUILDER_ASSETS") {
			t.Errorf("%s: %v", feature, err)
		}
	}
	if err := c.AddNodes(t.Context(), 1); err == nil {
		t.Error("it has simulated nodes")
	}
	clustertest.Namespace(t, c) // which doesn't wait for a controller

	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
	if _, err := cluster.Start(t.Context(), cluster.Options{}); err == nil || !strings.Contains(err.Error(), "has no etcd") {
		t.Errorf("with an empty folder: %v", err)
	}
}

func TestKubectl(t *testing.T) {
	clustertest.Need(t, shared, cluster.Faults)
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), filepath.Join(shared.Programs(), "kubectl"),
		"--kubeconfig", shared.Kubeconfig, "get", "nodes", "-o", "name").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := "node/simulated-1\nnode/simulated-2\n"; string(out) != want {
		t.Errorf("kubectl says %q, want %q", out, want)
	}
}

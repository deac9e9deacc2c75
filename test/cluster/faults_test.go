package cluster_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// TestTheClusterSurvivesFaults has a cluster of its own, to which one thing after the
// other happens. After each of them the whole chain from a Deployment to its pods
// works, and at the end all that was written is there.
func TestTheClusterSurvivesFaults(t *testing.T) {
	clustertest.Need(t, shared, cluster.Faults, cluster.Controllers, cluster.SimulatedNodes)
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Nodes: 1})
	client := clientFor(t, c.Config)
	component := func(name string) *cluster.Component {
		found, err := c.Component(name)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	apiServer, etcd := component(cluster.APIServer), component(cluster.Etcd)
	// A client that doesn't wait for an answer that won't come.
	impatient := rest.CopyConfig(c.Config)
	impatient.Timeout = time.Second

	for _, fault := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"api-server-restarted", apiServer.Restart},
		{"api-server-crashed", func(ctx context.Context) error {
			if err := apiServer.Kill(ctx); err != nil {
				return err
			}
			wantNoAnswer(t, impatient)
			return apiServer.Start(ctx)
		}},
		{"api-server-frozen", func(ctx context.Context) error {
			if err := apiServer.Pause(ctx); err != nil {
				return err
			}
			wantNoAnswer(t, impatient)
			return apiServer.Resume(ctx)
		}},
		{"etcd-crashed", func(ctx context.Context) error {
			if err := etcd.Kill(ctx); err != nil {
				return err
			}
			wantNoAnswer(t, impatient)
			return etcd.Start(ctx)
		}},
		{"controllers-restarted", func(ctx context.Context) error {
			for _, name := range []string{cluster.ControllerManager, cluster.Scheduler} {
				if err := component(name).Restart(ctx); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		began := time.Now()
		if err := fault.do(t.Context()); err != nil {
			t.Fatalf("%s: %v", fault.name, err)
		}
		happened := time.Since(began)
		wantAvailable(t, client, metav1.NamespaceDefault, fault.name, 1)
		t.Logf("%s: %.1fs, then %.1fs until a Deployment was Available",
			fault.name, happened.Seconds(), (time.Since(began) - happened).Seconds())
	}
	deployments, err := client.AppsV1().Deployments(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(deployments.Items) != 5 {
		t.Errorf("%d Deployments after the faults, want 5", len(deployments.Items))
	}
	if _, err := c.Component("nothing"); err == nil {
		t.Error("a component that doesn't exist was found")
	}
}

// wantNoAnswer asks for what only etcd can answer, until it can't: a program with several threads
// goes on until the one that takes the signal to stop runs, which takes a while on a busy machine.
func wantNoAnswer(t *testing.T, config *rest.Config) {
	t.Helper()
	configMaps := clientFor(t, config).CoreV1().ConfigMaps(metav1.NamespaceDefault)
	eventually(t, "no answer to a request during the fault", func(context.Context) (bool, error) {
		// Not with the time that eventually gives: an end of that would be no answer, too.
		_, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "never-"}}, metav1.CreateOptions{})
		return err != nil, nil
	})
}

func TestRunTiesAProgramToTheCluster(t *testing.T) {
	clustertest.Need(t, shared, cluster.Faults)
	t.Parallel()
	const name = "tied"
	program, err := shared.Run(t.Context(), supervise.Process{
		Name: name, Path: "/bin/sh", Args: []string{"-c", "echo $WORD; exec sleep 1000"}, Env: []string{"WORD=hello"},
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "its output", func(context.Context) (bool, error) { return readFile(t, program.LogFile()) == "hello\n", nil })
	if err := program.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := program.State(t.Context())
	if err != nil || state.Running || state.Ended != "signal: killed" {
		t.Errorf("after Kill: %+v, %v", state, err)
	}
	if err := program.Start(t.Context()); err != nil {
		t.Errorf("starting it again: %v", err)
	}
	for _, taken := range []string{name, cluster.Etcd} {
		if _, err := shared.Run(t.Context(), supervise.Process{Name: taken, Path: "/bin/true"}); err == nil {
			t.Errorf("a second program was run as %s", taken)
		}
	}
}

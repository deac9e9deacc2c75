package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

func TestTenStartsAndStopsLeaveNothing(t *testing.T) {
	clustertest.Need(t, shared, cluster.Faults)
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	for range 10 {
		c, err := cluster.Start(t.Context(), cluster.Options{Log: func(line string) { t.Log(line) }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := clientFor(t, c.Config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
		wantNothingLeft(t, c.Folder())
	}
}

func TestTwoClustersAtOnceShareNothing(t *testing.T) {
	clustertest.Need(t, shared, cluster.Controllers, cluster.SimulatedNodes, cluster.Faults)
	t.Parallel()
	var clusters [2]*cluster.Cluster
	var group sync.WaitGroup
	for i := range clusters {
		group.Go(func() {
			c, err := cluster.Start(t.Context(), cluster.Options{Nodes: 1})
			if err != nil {
				t.Error(err)
				return
			}
			clusters[i] = c
			t.Cleanup(func() {
				if err := c.Stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	for i, c := range clusters {
		wantAvailable(t, clientFor(t, c.Config), metav1.NamespaceDefault, fmt.Sprint("only-in-", i), 1)
	}
	for i, c := range clusters {
		found, err := clientFor(t, c.Config).AppsV1().Deployments("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Items) != 1 || found.Items[0].Name != fmt.Sprint("only-in-", i) {
			t.Errorf("cluster %d holds %d Deployments, the other's among them", i, len(found.Items))
		}
	}
}

func TestAStartThatFailsLeavesNothing(t *testing.T) {
	clustertest.Need(t, shared, cluster.Faults)
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "cluster")
	_, err := cluster.Start(t.Context(), cluster.Options{
		Folder: folder,
		Args:   map[string][]string{cluster.APIServer: {"--no-such-flag"}},
	})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("the error doesn't have the API server's last words: %v", err)
	}
	wantNothingLeft(t, folder)
}

// ownerVariable makes this test program one that starts a cluster in the folder
// that the variable names, and then waits to be killed; ownerPanics has it panic
// instead.
const (
	ownerVariable = "CLUSTER_TEST_OWNER"
	ownerPanics   = "CLUSTER_TEST_OWNER_PANICS"
)

func owner() {
	folder := os.Getenv(ownerVariable)
	if _, err := cluster.Start(context.Background(), cluster.Options{Folder: folder, Nodes: 1}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(ownerPanics) != "" {
		panic("as the test wants it")
	}
	if err := os.WriteFile(filepath.Join(folder, "started"), nil, 0o600); err != nil {
		panic(err)
	}
	select {}
}

func TestNothingOutlivesATestThatDies(t *testing.T) {
	clustertest.Need(t, shared, cluster.Faults)
	t.Parallel()
	t.Run("dies by", func(t *testing.T) { // returns when all of these have
		for _, death := range []struct {
			how    string
			when   string // the file in the run's folder that tells that it is time
			signal os.Signal
		}{
			{"kill -9 while it starts", "logs/kube-apiserver.log", os.Kill},
			{"kill -9", "started", os.Kill},
			{"Ctrl-C while it starts", "logs/kube-apiserver.log", os.Interrupt},
			{"panic", "", nil},
		} {
			t.Run(death.how, func(t *testing.T) {
				t.Parallel()
				folder := filepath.Join(t.TempDir(), "cluster")
				cmd := startOwner(t, folder, death.signal == nil)
				if death.signal != nil {
					eventually(t, death.when, func(context.Context) (bool, error) {
						return exists(filepath.Join(folder, death.when)), nil
					})
					if err := cmd.Process.Signal(death.signal); err != nil {
						t.Fatal(err)
					}
				}
				if err := cmd.Wait(); err == nil {
					t.Error("the owner ended well, which it shouldn't have")
				}
				// The supervisor is the last to end, after it has removed the folder.
				eventually(t, "the end of the cluster", func(context.Context) (bool, error) {
					return !exists(folder) && len(processesOf(t, folder)) == 0, nil
				})
				wantNothingLeft(t, folder)
			})
		}
	})
	// And whoever starts next isn't bothered.
	next := clustertest.Start(t, cluster.Options{})
	if err := next.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func startOwner(t *testing.T, folder string, panics bool) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), ownerVariable+"="+folder)
	if panics {
		cmd.Env = append(cmd.Env, ownerPanics+"=true")
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// wantNothingLeft looks for the cluster's folder and its processes.
func wantNothingLeft(t *testing.T, folder string) {
	t.Helper()
	if exists(folder) {
		t.Errorf("the folder %s is left", folder)
	}
	for _, process := range processesOf(t, folder) {
		t.Errorf("%s is left", process)
	}
}

// processesOf finds the processes that a folder is known to: by their environment,
// arguments or working folder.
func processesOf(t *testing.T, folder string) []string {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, process := range processes {
		environment, _ := os.ReadFile(filepath.Join(process, "environ"))
		arguments, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		working, _ := os.Readlink(filepath.Join(process, "cwd"))
		if strings.Contains(string(environment)+string(arguments)+working, folder) {
			found = append(found, process+": "+strings.ReplaceAll(string(arguments), "\x00", " "))
		}
	}
	return found
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

package integration

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// servedFile lists the metrics that config/monitoring names, with type and labels as
// the controller serves them. The tests there, in a module of their own, go by it.
const servedFile = "../monitoring/testdata/served.txt"

var updateServed = flag.Bool("update-served", false, "write "+servedFile+" anew")

func TestTheListedMetricsAreServed(t *testing.T) {
	f := newFixture(t)
	address := freeAddress(t)
	f.runController("controller-metrics", "--metrics-addr="+address, "--namespaces="+f.namespace, "--enable-leader-election")
	f.create(f.view("docs"))
	f.ready("docs")
	listed, err := os.ReadFile(servedFile)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	// The controller that all tests share may be quicker, so wait for all of them.
	f.eventually("what "+servedFile+" lists (-update-served writes it anew)", func() string {
		text, err := scrape(address)
		if err != nil {
			return err.Error()
		}
		if !strings.Contains(text, `markdownview_info{name="docs",namespace="`+f.namespace+`",ready="True",reason="Healthy"`) {
			return "the view isn't served as Healthy"
		}
		if !strings.Contains(text, "gotk_reconcile_duration_seconds_count{") || !strings.Contains(text, "leader_election_master_status{") {
			return "this controller hasn't reconciled it yet"
		}
		got = families(text)
		for line := range strings.Lines(string(listed)) {
			if line = strings.TrimSpace(line); !*updateServed && !slices.Contains(got, line) {
				return line + " isn't served"
			}
		}
		return ""
	})
	if *updateServed {
		writeServed(t, got)
	}
}

// writeServed leaves out what nothing names: much of it differs by platform.
func writeServed(t *testing.T, served []string) {
	t.Helper()
	var named []byte
	for _, file := range []string{"prometheusrule.yaml", "dashboard.json"} {
		content, err := os.ReadFile("../../config/monitoring/" + file)
		if err != nil {
			t.Fatal(err)
		}
		named = append(named, content...)
	}
	served = slices.DeleteFunc(slices.Clone(served), func(line string) bool {
		name, _, _ := strings.Cut(line, " ")
		return !bytes.Contains(named, []byte(name))
	})
	if err := os.WriteFile(servedFile, []byte(strings.Join(served, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestProfilesAreNotBesideTheMetrics, which more may reach.
func TestProfilesAreNotBesideTheMetrics(t *testing.T) {
	f := newFixture(t)
	metrics, profiles := freeAddress(t), freeAddress(t)
	f.runController("controller-profiles", "--metrics-addr="+metrics, "--pprof-addr="+profiles, "--namespaces="+f.namespace)
	f.eventually("the profiles", func() string { return differs(get(profiles, "/debug/pprof/cmdline"), "200 OK") })
	f.eventually("the metrics", func() string { return differs(get(metrics, "/metrics"), "200 OK") })
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap"} {
		if got := get(metrics, path); got != "404 Not Found" {
			t.Errorf("%s beside the metrics answers %s", path, got)
		}
	}
}

// get is the status of an answer, or why there is none.
func get(address, path string) string {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return err.Error()
	}
	_ = response.Body.Close() // only the status is looked at
	return response.Status
}

func TestTheSeriesOfAViewGoWithIt(t *testing.T) {
	f := newFixture(t)
	address := freeAddress(t)
	f.runController("controller-series", "--metrics-addr="+address, "--namespaces="+f.namespace, "--view-metrics")
	view := f.view("docs")
	f.create(view)
	f.ready("docs")
	series := func() int {
		text, err := scrape(address)
		if err != nil {
			return -1
		}
		return strings.Count(text, fmt.Sprintf("namespace=%q", f.namespace))
	}
	f.eventually("the view's series", func() string {
		if series() <= 0 {
			return "there are none"
		}
		return ""
	})
	if err := admin.Delete(t.Context(), &v1.MarkdownView{ObjectMeta: view.ObjectMeta}, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	f.eventually("the series to go", func() string {
		if n := series(); n != 0 {
			return fmt.Sprintf("%d are there", n)
		}
		return ""
	})
}

// runController runs one more controller with the same rights.
func (f *fixture) runController(name string, args ...string) {
	f.Helper()
	f.killLater(f.controller(name, args...))
}

// runControllerAs runs one more controller with a user's rights.
func (f *fixture) runControllerAs(user, name string, args ...string) {
	f.Helper()
	controller, err := f.Cluster.Run(f.Context(), supervise.Process{
		Name: name, Path: f.Program("controller"),
		Args: append([]string{"--metrics-addr=0", "--health-addr=127.0.0.1:0"}, args...),
		Env:  []string{"TMPDIR=" + f.Cluster.Folder(), "KUBECONFIG=" + f.kubeconfig(user, "system:serviceaccounts", "system:authenticated")},
	})
	f.must(err)
	f.killLater(controller)
}

func (f *fixture) killLater(controller *cluster.Component) {
	f.Cleanup(func() {
		_ = controller.Kill(context.WithoutCancel(f.Context())) // it ends with the cluster at the latest
	})
}

// kubeconfig is a file with which a program acts as a user.
func (f *fixture) kubeconfig(user string, groups ...string) string {
	f.Helper()
	config, err := shared.User(user, groups...)
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(f.TempDir(), "kubeconfig")
	if err := cluster.WriteKubeconfig(path, config); err != nil {
		f.Fatal(err)
	}
	return path
}

// freeAddress is one at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func scrape(address string) (string, error) {
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? `)
	labelPair  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="(?:[^"\\]|\\.)*"`)
)

// families returns a line for each metric of an exposition: name, type, labels.
func families(text string) []string {
	labels := map[string]map[string]bool{}
	types := map[string]string{}
	var family string
	scanner := bufio.NewScanner(strings.NewReader(text))
	for scanner.Scan() {
		line := scanner.Text()
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			family, types[name], labels[name] = name, kind, map[string]bool{}
		} else if sample := sampleLine.FindStringSubmatch(line); sample != nil && family != "" {
			for _, pair := range labelPair.FindAllStringSubmatch(sample[2], -1) {
				if types[family] != "histogram" || pair[1] != "le" {
					labels[family][pair[1]] = true
				}
			}
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(types)) {
		lines = append(lines, strings.TrimSpace(name+" "+types[name]+" "+strings.Join(slices.Sorted(maps.Keys(labels[name])), ",")))
	}
	return lines
}

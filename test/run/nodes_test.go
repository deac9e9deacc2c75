package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	const notRoot, noEngine = "this is not root", "kind isn't on PATH"
	var (
		kind = nodes{kindNode, "kind and a container engine are here; RUN=node and RUN=simulated need neither"}
		node = nodes{realNode, "this is root on Linux with containerd; RUN=simulated needs neither"}
		rest = nodes{simulatedNodes, "a real one doesn't start here"}
	)
	for name, test := range map[string]struct {
		asked      string
		kind, node string // why there can't be one
		want       []nodes
		err        string
	}{
		"nothing is asked for, and all can be had":           {"", "", "", []nodes{kind, node, rest}, ""},
		"nothing is asked for, and kind can't be had":        {"", noEngine, "", []nodes{node, {simulatedNodes, "a real one doesn't start here; nor one of kind: kind isn't on PATH"}}, ""},
		"nothing is asked for, and only kind can be had":     {"", "", notRoot, []nodes{kind, {simulatedNodes, "a real one can't be had here: this is not root"}}, ""},
		"nothing is asked for, and no real one can be had":   {"", noEngine, notRoot, []nodes{{simulatedNodes, "a real one can't be had here: this is not root; nor one of kind: kind isn't on PATH"}}, ""},
		"simulated nodes, where real ones could be had":      {simulatedNodes, "", "", []nodes{{simulatedNodes, "RUN asks for them"}}, ""},
		"a real node, where it can be had":                   {realNode, "", "", []nodes{{realNode, "RUN asks for it"}}, ""},
		"a real node, where it can't be had":                 {realNode, "", notRoot, nil, "RUN=node can't be had here: this is not root"},
		"a node of kind, where it can be had":                {kindNode, "", notRoot, []nodes{{kindNode, "RUN asks for it"}}, ""},
		"a node of kind, where it can't be had":              {kindNode, noEngine, "", nil, "RUN=kind can't be had here: kind isn't on PATH"},
		"something else, even where everything could be had": {"Node", "", "", nil, "RUN=Node: it may be kind, node or simulated, or unset, which takes the first of these that can be had"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := choose(test.asked, func(kind string) string { return map[string]string{kindNode: test.kind, realNode: test.node}[kind] })
			if !slices.Equal(got, test.want) || err == nil && test.err != "" || err != nil && err.Error() != test.err {
				t.Errorf("got %v, %v; want %v, %q", got, err, test.want, test.err)
			}
		})
	}
}

// TestNoKind: what stands in the way is said in a line, and an engine that hangs isn't waited for.
func TestNoKind(t *testing.T) {
	const kubectl = "exit 1"
	for name, test := range map[string]struct {
		scripts map[string]string
		want    string
	}{
		"an engine that answers": {map[string]string{"kubectl": kubectl, "kind": "exit 0"}, ""},
		"an engine that may not be asked": {map[string]string{"kubectl": kubectl, "kind": "echo permission; echo denied; exit 1"},
			"kind get clusters: exit status 1: permission denied"},
		"an engine that hangs": {map[string]string{"kubectl": kubectl, "kind": "sleep 1000"},
			"its container engine hasn't answered kind get clusters within 10s"},
		"no kubectl": {map[string]string{"kind": "exit 0"}, "kubectl isn't on PATH"},
		"no kind":    {map[string]string{"kubectl": kubectl}, "kind isn't on PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			path, _, _ := strings.Cut(strings.TrimPrefix(pathWith(t, test.scripts), "PATH="), string(os.PathListSeparator))
			sleep, err := exec.LookPath("sleep")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(sleep, filepath.Join(path, "sleep")); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", path)
			if got := noKind(t.Context()); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}

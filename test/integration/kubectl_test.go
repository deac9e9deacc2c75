package integration

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// kubectl runs the real one in the test's namespace, as the administrator, and
// returns what it prints, errors too.
func (f *fixture) kubectl(input string, args ...string) (string, error) {
	f.Helper()
	clustertest.Need(f, shared, cluster.Faults) // or there is no kubectl of that version
	cmd := exec.CommandContext(f.Context(), filepath.Join(shared.Programs(), "kubectl"),
		append([]string{"--kubeconfig", shared.Kubeconfig, "--namespace", f.namespace}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (f *fixture) mustKubectl(input string, args ...string) string {
	f.Helper()
	out, err := f.kubectl(input, args...)
	if err != nil {
		f.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// documents is a file with several objects.
func documents[T client.Object](t *testing.T, objects []T) string {
	t.Helper()
	var file bytes.Buffer
	for _, object := range objects {
		text, err := sigsyaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		file.WriteString("---\n")
		file.Write(text)
	}
	return file.String()
}

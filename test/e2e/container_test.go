package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// TestKustomizeRunsTheFunctionInAContainer has kustomize run this build's image as it
// runs any container function: without network, as nobody. podman stands in for docker.
func TestKustomizeRunsTheFunctionInAContainer(t *testing.T) {
	clustertest.Need(t, shared, cluster.Node) // the image is in its storage; no parallel test may change PATH
	folder := t.TempDir()
	command := strings.Join(storageCommand("podman"), " ")
	script := "#!/bin/sh\nprintf '%s\\n' \"$*\" >>" + folder + "/calls\n" +
		storageEnvironment() + " exec " + command + " \"$@\"\n"
	writeFile(t, filepath.Join(folder, "bin", "docker"), script, 0o755)
	t.Setenv("PATH", filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))

	build := func(name, how string, flags ...string) string {
		t.Helper()
		source := filepath.Join(folder, name)
		writeFile(t, filepath.Join(source, "kustomization.yaml"), "generators: [view.yaml]\nnamePrefix: dev-\n", 0o644)
		writeFile(t, filepath.Join(source, "view.yaml"), viewFor(how), 0o644)
		out, err := output(t.Context(), source, "", append([]string{tool("kustomize"), "build", "--enable-alpha-plugins", "."}, flags...)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	inContainer := build("container", "container: {image: "+images.product+"}")
	asProgram := build("program", "exec: {path: "+tool("fn")+"}", "--enable-exec")
	if !strings.Contains(inContainer, "name: dev-viewer-docs") {
		t.Errorf("the output has no Deployment:\n%s", inContainer)
	}
	if diff := cmp.Diff(asProgram, inContainer); diff != "" {
		t.Errorf("the container's output differs from the program's (-program +container):\n%s", diff)
	}
	calls, err := os.ReadFile(filepath.Join(folder, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--network none", "--user nobody"} {
		if !strings.Contains(string(calls), flag) {
			t.Errorf("the container was started without %s: %s", flag, calls)
		}
	}
}

func viewFor(function string) string {
	return `apiVersion: view.zoetrope.github.io/v1
kind: MarkdownView
metadata:
  name: docs
  annotations:
    config.kubernetes.io/function: |
      ` + function + `
spec:
  markdowns:
    SUMMARY.md: "- [Start](start.md)"
    start.md: "# Start"
`
}

func writeFile(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

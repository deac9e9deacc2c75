package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	containers "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

const version = "v1.2.3"

// project is what a small project of the layout of this one has, so that it is built for
// several platforms in seconds.
var project = map[string]string{
	"go.mod":             "module github.com/zoetrope/markdown-view\n\ngo 1.26.0\n",
	"fn/main.go":         "package main\n\nvar version = \"dev\"\n\nfunc main() { println(\"fn \" + version) }\n",
	"controller/main.go": "package main\n\nvar version = \"dev\"\n\nfunc main() { println(\"controller \" + version) }\n",
	"LICENSE":            "Do as you like.\n",
	"CHANGELOG.md":       "# Changelog\n\n## [Unreleased]\n\n- Next.\n\n## [1.2.3] - 2026-11-28\n\n### Added\n\n- Something.\n\n## [1.2.2] - 2026-01-01\n\n- Before.\n",
	"config/default/kustomization.yaml": `namespace: system
resources:
- ../manager
`,
	"config/manager/kustomization.yaml": "resources: [deployment.yaml]\n",
	"config/manager/deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: manager
spec:
  selector:
    matchLabels: {app: manager}
  template:
    metadata:
      labels: {app: manager}
    spec:
      containers:
      - name: manager
        image: markdown-view
`,
}

// newProject makes a repository of the small project. Its one commit is the same each time.
func newProject(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range project {
		writeFile(t, filepath.Join(folder, name), text)
	}
	writeFile(t, filepath.Join(folder, pgoProfile), readFile(t, filepath.Join("..", ".."), pgoProfile))
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "--message=All"}} {
		command := exec.CommandContext(t.Context(), "git", args...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=W", "GIT_AUTHOR_EMAIL=w@example.com", "GIT_COMMITTER_NAME=W", "GIT_COMMITTER_EMAIL=w@example.com",
			"GIT_AUTHOR_DATE=1790000000 +0900", "GIT_COMMITTER_DATE=1790000000 +0900")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return folder
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// tryBuild runs release build on a project, with further arguments.
func tryBuild(ctx context.Context, source, dist string, args ...string) (string, error) {
	var stderr bytes.Buffer
	err := run(ctx, append([]string{"build", "-source", source, "-dist", dist, "-version", version,
		"-image", "registry.example.com/markdown-view", "-platforms", "linux/amd64 linux/arm64,windows/amd64"}, args...), &stderr)
	return stderr.String(), err
}

func mustBuild(t *testing.T, source string, args ...string) (dist string) {
	t.Helper()
	dist = filepath.Join(t.TempDir(), "dist")
	if stderr, err := tryBuild(t.Context(), source, dist, args...); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	return dist
}

// layoutIn opens what a layout of dist holds: an index with one descriptor.
func layoutIn(t *testing.T, dist, what string) (containers.ImageIndex, containers.Descriptor) {
	t.Helper()
	folder := t.TempDir()
	if err := unpack(filepath.Join(dist, "markdown-view_"+version+"_"+what+".oci.tar"), folder); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v, %d manifests", err, len(manifest.Manifests))
	}
	return index, manifest.Manifests[0]
}

// readAll reads what an opener opens.
func readAll(t *testing.T, open func() (io.ReadCloser, error)) []byte {
	t.Helper()
	in, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	content, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

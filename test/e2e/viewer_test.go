package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zoetrope/markdown-view/generator/mdbook"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// pluginsConfig has both of the preprocessors that docs/viewer.md promises.
const pluginsConfig = `[book]
title = "Plugins"

[preprocessor.toc]
command = "mdbook-toc"

[preprocessor.mermaid]
command = "mdbook-mermaid"
`

// TestTheViewerImage is of make image-viewer: a book with its preprocessors and a file that
// no ConfigMap can hold is served from it, by the pods as they are by default.
func TestTheViewerImage(t *testing.T) {
	clustertest.Need(t, shared, cluster.Node)
	f := newFixture(t)
	f.restrict()
	image := f.viewerImage()
	screenshot := noise(t, 700, 700)
	objects := f.expandProject("project", map[string][]byte{
		"project/book.toml":      []byte(pluginsConfig),
		"project/src/SUMMARY.md": []byte("- [Start](start.md)\n"),
		"project/src/start.md":   []byte("# Start\n\n<!-- toc -->\n\n## A part\n\n```mermaid\ngraph LR; Commit --> Pages\n```\n\n![noise](noise.png)\n"),
		"project/src/noise.png":  screenshot,
	})
	if !strings.Contains(objects, "initContainers") {
		t.Fatalf("the file has %d bytes, and fits into a ConfigMap", len(screenshot))
	}
	objects = strings.ReplaceAll(objects, "peaceiris/mdbook:v"+mdbook.Version, image)
	f.kubectlWith(objects, "apply", "--server-side", "-f", "-")
	f.kubectl("rollout", "status", "deployment/viewer-docs", "--timeout=3m")

	page := f.site().Page("/")
	for what, want := range map[string]string{"mdbook-toc": `<a href="#a-part">A part</a>`, "mdbook-mermaid": `<pre class="mermaid">`} {
		if !strings.Contains(page, want) {
			t.Errorf("%s didn't run: %q isn't on the page\n%s", what, want, page)
		}
	}
	if _, got, err := f.site().Ask(f.Context(), "/noise.png"); err != nil || got != string(screenshot) {
		t.Errorf("the image has %d bytes of %d: %v", len(got), len(screenshot), err)
	}
	if got := f.kubectl("exec", "deployment/viewer-docs", "--", "mdbook", "--version"); strings.TrimSpace(got) != "mdbook v"+mdbook.Version {
		t.Errorf("mdbook --version prints %q", got)
	}
}

// viewerImage builds the image as people do, looks at what is in it, and returns the name
// that the cluster pulls it by.
func (f *fixture) viewerImage() string {
	f.Helper()
	const path = "markdown-view-viewer:e2e"
	b := &builder{command: storageCommand("buildah"), flags: []string{"--isolation=chroot"}}
	if err := b.rust(f.Context()); err != nil {
		f.Skipf("neither the image with Rust nor a Rust of this machine builds it: %v", err)
	}
	_, err := b.run(f.Context(), "../..", "make", "--no-print-directory", "image-viewer", "VIEWER_IMAGE=registry.example.com/"+path,
		"CONTAINER_TOOL="+strings.Join(b.command, " "), "VIEWER_IMAGE_FLAGS="+strings.Join(b.flags, " "))
	f.Must(err)
	_, err = b.run(f.Context(), "", append(b.command, "push", "--quiet", "--tls-verify=false", "registry.example.com/"+path, "docker://"+shared.Registry()+"/"+path)...)
	f.Must(err)

	crane, err := build.Crane(f.Context(), build.Stderr())
	f.Must(err)
	content, err := readImage(f.Context(), crane, shared.Registry()+"/"+path)
	f.Must(err)
	if content.User != "65532:65532" || !slices.Equal(content.Entrypoint, []string{"/usr/bin/mdbook"}) {
		f.Errorf("the image is run as %s with %v", content.User, content.Entrypoint)
	}
	for _, file := range []string{"usr/bin/mdbook-toc", "usr/bin/mdbook-mermaid", "bin/sh", "usr/share/licenses/busybox/COPYING", "usr/share/licenses/mdbook-" + mdbook.Version + "/LICENSE"} {
		if content.Files[file] == "" {
			f.Errorf("the image lacks %s", file)
		}
	}
	for file := range content.Files {
		if folder, name := filepath.Split(file); folder == "bin/" && !slices.Contains([]string{"busybox", "sh", "cp", "cat", "mkdir"}, name) {
			f.Errorf("the image has %s, which nothing needs", file)
		}
	}
	return "registry.example.com/" + path
}

// rust provides what the image is built by and from: what the Dockerfile names, or, where that
// can't be pulled, stages with nothing of their own, into which the machine's Rust and linker
// are mounted.
func (b *builder) rust(ctx context.Context) error {
	content, err := os.ReadFile("../../tools/viewer/Dockerfile")
	if err != nil {
		return err
	}
	pulled := true
	for line := range bytes.Lines(content) {
		if _, image, ok := strings.Cut(string(line), "=docker.io/"); ok && strings.HasPrefix(string(line), "ARG ") {
			_, err := b.run(ctx, "", append(b.command, "pull", "--quiet", "docker.io/"+strings.TrimSpace(image))...)
			pulled = pulled && err == nil
		}
	}
	if pulled {
		return nil
	}
	sysroot, err := exec.CommandContext(ctx, "rustc", "--print", "sysroot").Output()
	if err != nil {
		return err
	}
	cache, err := build.Cache()
	if err != nil {
		return err
	}
	cargo, target := filepath.Join(cache, "viewer", "cargo"), filepath.Join(cache, "viewer", "target")
	for _, folder := range []string{cargo, target} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	for at, folder := range map[string]string{"/usr": "/usr", "/etc/ssl": "/etc/ssl", "/etc/alternatives": "/etc/alternatives", "/rust": strings.TrimSpace(string(sysroot)), "/cargo": cargo, "/target": target} {
		b.flags = append(b.flags, "--volume="+folder+":"+at)
	}
	b.flags = append(b.flags, "--build-arg=BUILDER=localhost/rust", "--build-arg=TOOLS=localhost/tools")
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	root := filepath.Join(shared.Folder(), "rust")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink(filepath.Join("usr", name), filepath.Join(root, name)); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"from", "--name", "tools", "scratch"},
		{"copy", "tools", busybox, "/bin/busybox"},
		{"commit", "--quiet", "tools", "localhost/tools"},
		{"from", "--name", "rust", "scratch"},
		{"copy", "rust", root, "/"},
		{"config", "--env", "PATH=/rust/bin:/usr/bin:/bin", "--env", "CARGO_HOME=/cargo", "--env", "CARGO_TARGET_DIR=/target", "rust"},
		{"commit", "--quiet", "rust", "localhost/rust"},
	} {
		if _, err := b.run(ctx, "", append(b.command, args...)...); err != nil {
			return err
		}
	}
	return nil
}

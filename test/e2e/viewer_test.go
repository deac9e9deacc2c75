package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	if got := f.kubectl("exec", "deployment/viewer-docs", "--container=mdbook", "--", "mdbook", "--version"); strings.TrimSpace(got) != "mdbook v"+mdbook.Version {
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
// can't be pulled, stages into which the machine's own tools are mounted. Its cargo has
// compiled the same crates before, once for all runs; that of the stage takes what it made.
func (b *builder) rust(ctx context.Context) error {
	content, err := os.ReadFile("../../tools/viewer/Dockerfile")
	if err != nil {
		return err
	}
	if b.pulls(ctx, content) {
		return nil
	}
	out, err := b.run(ctx, "", "rustc", "-vV")
	if err != nil {
		return err
	}
	host := regexp.MustCompile(`(?m)^host: (\S+)`).FindStringSubmatch(out)
	cache, err := build.Cache()
	if err != nil || host == nil {
		return errors.Join(err, fmt.Errorf("rustc -vV prints %s", out))
	}
	programs, registry := filepath.Join(cache, "viewer"), filepath.Join(os.Getenv("CARGO_HOME"), "registry")
	if os.Getenv("CARGO_HOME") == "" {
		registry = filepath.Join(os.Getenv("HOME"), ".cargo", "registry")
	}
	args := []string{"env", "RUSTFLAGS=-C target-feature=+crt-static", "cargo", "install", "--locked", "--target", host[1], "--root", programs}
	args = append(args, regexp.MustCompile(`\bmdbook[\w-]*@\S+`).FindAllString(string(content), -1)...)
	if _, err := b.run(ctx, "", args...); err != nil {
		return err
	}
	b.flags = append(b.flags, "--build-arg=BUILDER=localhost/rust", "--build-arg=TOOLS=localhost/tools",
		"--volume=/usr:/usr", "--volume=/etc/alternatives:/etc/alternatives", "--volume="+programs+":/programs", "--volume="+registry+":/cargo/registry")
	return b.rustStages(ctx, host[1])
}

// pulls reports whether all images can be pulled that a Dockerfile has as its arguments.
func (b *builder) pulls(ctx context.Context, dockerfile []byte) bool {
	for _, image := range regexp.MustCompile(`(?m)^ARG \w+=(docker\.io/\S+)`).FindAllStringSubmatch(string(dockerfile), -1) {
		if _, err := b.run(ctx, "", append(b.command, "pull", "--quiet", image[1])...); err != nil {
			return false
		}
	}
	return true
}

// rustStages makes the images that stand in for those that can't be pulled.
func (b *builder) rustStages(ctx context.Context, host string) error {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	root := filepath.Join(shared.Folder(), "rust")
	if err := os.MkdirAll(filepath.Join(root, "rust"), 0o755); err != nil {
		return err
	}
	for name, script := range map[string]string{
		"rustc": "echo 'host: " + host + "'",
		"cargo": `while [ "$1" != --root ]; do shift; done; mkdir -p "$2/bin" && cp /programs/bin/* "$2/bin/" && touch "$2/.crates.toml"`,
	} {
		if err := os.WriteFile(filepath.Join(root, "rust", name), []byte("#!/bin/sh -e\n"+script+"\n"), 0o755); err != nil {
			return err
		}
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
		{"config", "--env", "PATH=/rust:/usr/bin:/bin", "--env", "CARGO_HOME=/cargo", "rust"},
		{"commit", "--quiet", "rust", "localhost/rust"},
	} {
		if _, err := b.run(ctx, "", append(b.command, args...)...); err != nil {
			return err
		}
	}
	return nil
}

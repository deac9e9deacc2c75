package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/viewer/viewerimage"
)

// imageNames are the names that the cluster pulls images by.
type imageNames struct {
	// product is this build's image. next differs in the viewer image that it
	// takes by default, nextViewer, which holds the same mdBook. Empty: there is
	// none.
	product, next, nextViewer string
}

// imageVersion is what this build's images say of themselves.
const imageVersion = "v0.0.0-e2e"

// storageConfig is what buildah and podman need where the machine withholds
// CAP_SYS_RESOURCE or mixes both versions of control groups.
const storageConfig = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
`

// provideImages builds and pushes the images, or takes the names of those that
// an existing cluster can pull from the environment.
func provideImages(ctx context.Context) (imageNames, error) {
	if shared.Supports(cluster.Node) != nil {
		names := imageNames{product: os.Getenv("E2E_IMAGE"), next: os.Getenv("E2E_NEXT_IMAGE"), nextViewer: os.Getenv("E2E_NEXT_VIEWER_IMAGE")}
		if names.product == "" {
			return names, errors.New("set E2E_IMAGE to an image of this build (make image) that the cluster can pull or has loaded")
		}
		return names, nil
	}
	names := imageNames{
		product:    "registry.example.com/markdown-view:e2e",
		next:       "registry.example.com/markdown-view:e2e-next",
		nextViewer: generator.DefaultViewerImage + "-next",
	}
	if err := viewerimage.Push(ctx, shared, tool("mdbook"), generator.DefaultViewerImage, names.nextViewer); err != nil {
		return names, err
	}
	if _, err := os.Stat(tool("nginx")); err == nil {
		if err := viewerimage.PushServer(ctx, shared, tool("nginx"), "library/"+generator.DefaultServerImage); err != nil {
			return names, err
		}
	}
	builder, err := newBuilder(ctx)
	if err != nil {
		return names, err
	}
	if err := builder.build(ctx, "../..", names.product); err != nil {
		return names, err
	}
	sources, err := changedSources(names.nextViewer)
	if err != nil {
		return names, err
	}
	return names, builder.build(ctx, sources, names.next)
}

// changedSources is a copy of what the image is built from, with another default
// viewer.
func changedSources(viewer string) (string, error) {
	target := filepath.Join(shared.Folder(), "next")
	for _, name := range []string{"api", "generator", "fn", "controller", "tools/release/rootfs"} {
		if err := os.CopyFS(filepath.Join(target, name), os.DirFS(filepath.Join("../..", name))); err != nil {
			return "", err
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "Makefile", "Dockerfile", ".dockerignore"} {
		content, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(target, name), content, 0o600); err != nil {
			return "", err
		}
	}
	file := filepath.Join(target, "generator", "names.go")
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	const image = `"peaceiris/mdbook:v" + mdbook.Version`
	changed := strings.Replace(string(content), image, strconv.Quote(viewer), 1)
	if changed == string(content) {
		return "", fmt.Errorf("%s doesn't hold the default viewer image", file)
	}
	changed += "\nconst _ = mdbook.Version // it is imported\n"
	return target, os.WriteFile(file, []byte(changed), 0o600)
}

// builder builds the product's image. Its storage is in the run's folder and
// goes with it.
type builder struct {
	command []string // buildah, with the flags that all of its commands need
	flags   []string // of build
}

func newBuilder(ctx context.Context) (*builder, error) {
	if err := os.WriteFile(storageConfigFile(), []byte(storageConfig), 0o600); err != nil {
		return nil, err
	}
	b := &builder{command: storageCommand("buildah"), flags: []string{"--isolation=chroot"}}
	const base = "docker.io/library/golang:1.26"
	if os.Getenv("E2E_BUILDER") == "" {
		if _, err := b.run(ctx, "", append(b.command, "pull", "--quiet", base)...); err == nil {
			return b, nil
		}
		fmt.Fprintf(os.Stderr, "%s can't be pulled: the machine's own Go builds the image\n", base)
	}
	return b, b.standIn(ctx)
}

// standIn makes an image with nothing but a shell, into which the machine's Go,
// modules and build cache are mounted.
func (b *builder) standIn(ctx context.Context) error {
	name := cmp.Or(os.Getenv("E2E_BUILDER"), "localhost/builder")
	b.flags = append(b.flags, "--build-arg=BUILDER="+name)
	if os.Getenv("E2E_BUILDER") != "" {
		return nil
	}
	if _, err := b.run(ctx, "../..", "go", "mod", "download"); err != nil {
		return err
	}
	out, err := b.run(ctx, "../..", "go", "env", "GOROOT", "GOMODCACHE", "GOCACHE")
	if err != nil {
		return err
	}
	folders := strings.Fields(out)
	for i, target := range []string{"/usr/local/go", "/go/pkg/mod", "/root/.cache/go-build"} {
		b.flags = append(b.flags, "--volume="+folders[i]+":"+target)
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	const container = "builder"
	for _, args := range [][]string{
		{"from", "--name", container, "scratch"},
		{"copy", container, busybox, "/bin/busybox"},
		{"copy", container, busybox, "/bin/sh"},
		{"copy", container, busybox, "/bin/mkdir"},
		{"config", "--env", "PATH=/usr/local/go/bin:/bin", "--env", "TMPDIR=/bin", "--env", "GOPATH=/go", "--env", "GOPROXY=off",
			"--env", "GOTOOLCHAIN=local", "--env", "GOCACHE=/root/.cache/go-build", container},
		{"commit", "--quiet", container, name},
	} {
		if _, err := b.run(ctx, "", append(b.command, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// build runs make image, as people do, and pushes what it made.
func (b *builder) build(ctx context.Context, sources, name string) error {
	_, err := b.run(ctx, sources, "make", "--no-print-directory", "image-markdown-view", "VERSION="+imageVersion, "IMAGE="+name,
		"CONTAINER_TOOL="+strings.Join(b.command, " "), "IMAGE_FLAGS="+strings.Join(b.flags, " "))
	if err != nil {
		return err
	}
	_, path, _ := strings.Cut(name, "/")
	_, err = b.run(ctx, "", append(b.command, "push", "--quiet", "--tls-verify=false", name, "docker://"+shared.Registry()+"/"+path)...)
	return err
}

func (b *builder) run(ctx context.Context, folder string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), storageEnvironment())
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// storageCommand runs buildah or podman in a mount namespace of its own, in
// which the mounts that they leave behind end.
func storageCommand(program string) []string {
	storage := filepath.Join(shared.Folder(), "storage")
	return []string{"unshare", "--mount", program, "--root=" + storage, "--runroot=" + storage + "-run"}
}

func storageConfigFile() string  { return filepath.Join(shared.Folder(), "containers.conf") }
func storageEnvironment() string { return "CONTAINERS_CONF=" + storageConfigFile() }

// pushSleeper pushes a viewer image whose mdbook runs and serves nothing.
func pushSleeper(ctx context.Context, name string) error {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	script := filepath.Join(shared.Folder(), "sleeper")
	if err := os.WriteFile(script, []byte("#!/bin/busybox sh\nexec /bin/busybox sleep 100000\n"), 0o755); err != nil {
		return err
	}
	return shared.PushFiles(ctx, name, map[string]string{"bin/busybox": busybox, "usr/bin/mdbook": script}, "--workdir=/book")
}

// Package viewerimage makes images with real viewers, for nodes that pull from the cluster's
// own registry. It may import no testing: make run gives its node an image, too.
package viewerimage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/zoetrope/markdown-view/test/cluster"
)

// Push pushes images to the node's registry with the real mdBook, in the layout of the published
// one: root by default, in /book, with a shell.
func Push(ctx context.Context, c *cluster.Cluster, mdbook string, names ...string) error {
	folder, err := os.MkdirTemp(c.Folder(), "viewer-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	passwd := filepath.Join(folder, "passwd")
	if err := os.WriteFile(passwd, []byte("root:x:0:0:root:/root:/bin/sh\n"), 0o644); err != nil {
		return err
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	files := map[string]string{
		"usr/bin/mdbook": mdbook, "bin/busybox": busybox, "etc/passwd": passwd, "book": "", "tmp": "",
	}
	for _, name := range []string{"sh", "cat", "cp", "find", "ls", "mkdir", "sleep", "touch"} {
		files["bin/"+name] = "->busybox"
	}
	if err := addLibraries(ctx, files, mdbook); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.PushFiles(ctx, name, files, "--entrypoint=/usr/bin/mdbook", "--workdir=/book"); err != nil {
			return err
		}
	}
	return nil
}

// PushServer pushes an image to the node's registry with the nginx of a Debian
// package that was unpacked into a folder, where the published one has it.
func PushServer(ctx context.Context, c *cluster.Cluster, folder, name string) error {
	nginx := filepath.Join(folder, "usr", "sbin", "nginx")
	files := map[string]string{
		"usr/sbin/nginx": nginx, "etc/nginx/mime.types": filepath.Join(folder, "etc", "nginx", "mime.types"),
		// The program has these compiled in.
		"var/lib/nginx": "", "tmp": "",
	}
	if err := addLibraries(ctx, files, nginx); err != nil {
		return err
	}
	return c.PushFiles(ctx, name, files, "--entrypoint=/usr/sbin/nginx", "--env=PATH=/usr/sbin")
}

// addLibraries adds the libraries that a program is linked with to the files of an image.
func addLibraries(ctx context.Context, files map[string]string, program string) error {
	libraries, err := exec.CommandContext(ctx, "ldd", program).Output()
	if err != nil {
		return fmt.Errorf("the libraries of %s: %w", program, err)
	}
	for _, library := range regexp.MustCompile(`/\S+\.so\S*`).FindAllString(string(libraries), -1) {
		files[strings.TrimPrefix(library, "/")] = library
	}
	return nil
}

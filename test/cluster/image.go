package cluster

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// PushFiles makes an image of files (path in the image: the file that it is a
// copy of, a folder if that is "", a link to what follows "->") and pushes it to
// the node's registry. The further arguments are crane's for what `crane mutate`
// calls the image's configuration.
func (c *Cluster) PushFiles(ctx context.Context, name string, files map[string]string, config ...string) error {
	folder, err := os.MkdirTemp(c.Folder(), "image-") // others may push at the same time
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	layer := filepath.Join(folder, "layer.tar")
	if err := writeLayer(layer, files); err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	target := c.Registry() + "/" + name
	for _, args := range [][]string{
		{"append", "--insecure", "--new_layer=" + layer, "--new_tag=" + target},
		append([]string{"mutate", "--insecure", "--set-platform=linux/" + runtime.GOARCH, "--tag=" + target, target}, config...),
	} {
		if out, err := exec.CommandContext(ctx, c.crane, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("image %s: crane %v: %w: %s", name, args, err, out)
		}
	}
	return nil
}

// linkPrefix begins the value of a link among PushFiles' files.
const linkPrefix = "->"

func writeLayer(file string, files map[string]string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	layer := tar.NewWriter(out)
	folders := map[string]bool{".": true}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFolders(layer, path.Dir(name), folders); err != nil {
			return err
		}
		if err := writeEntry(layer, name, files[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return layer.Close()
}

// writeFolders writes a folder and those above it, once.
func writeFolders(layer *tar.Writer, folder string, written map[string]bool) error {
	if written[folder] {
		return nil
	}
	if err := writeFolders(layer, path.Dir(folder), written); err != nil {
		return err
	}
	written[folder] = true
	return layer.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755})
}

func writeEntry(layer *tar.Writer, name, source string) error {
	if source == "" {
		return layer.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o1777})
	}
	if target, isLink := strings.CutPrefix(source, linkPrefix); isLink {
		return layer.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
	}
	file, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: int64(info.Mode().Perm())}
	if err := layer.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(layer, file)
	return err
}

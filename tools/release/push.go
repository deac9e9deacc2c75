package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	containers "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// manifestsSuffix follows the image's name in that of the manifests.
const manifestsSuffix = "-manifests"

// pushOptions are the command line's.
type pushOptions struct {
	dist string
	// repository is the image's name without a tag; empty: as it was built.
	repository string
	insecure   bool
}

// push pushes the image and the manifests of a release, and prints their names. Nothing is
// built: what is pushed is what the checksums are of.
func push(ctx context.Context, o pushOptions, stderr io.Writer) error {
	if err := verifyChecksums(o.dist); err != nil {
		return err
	}
	for _, what := range []string{imageLayout, manifestsLayout} {
		pushed, err := pushLayout(ctx, o, what)
		if err != nil {
			return fmt.Errorf("push the %s: %w", what, err)
		}
		fmt.Fprintln(stderr, "pushed", pushed)
	}
	return nil
}

func pushLayout(ctx context.Context, o pushOptions, what string) (pushed string, err error) {
	files, err := filepath.Glob(filepath.Join(o.dist, "*_"+what+".oci.tar"))
	if err != nil || len(files) != 1 {
		return "", errors.Join(err, fmt.Errorf("%s holds %d files *_%s.oci.tar, not one", o.dist, len(files), what))
	}
	folder, err := os.MkdirTemp("", "release-push-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := unpack(files[0], folder); err != nil {
		return "", err
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return "", err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return "", err
	}
	descriptor := manifest.Manifests[0]
	tag, err := o.tag(what, descriptor.Annotations)
	if err != nil {
		return "", err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if descriptor.MediaType.IsIndex() {
		var content containers.ImageIndex
		if content, err = index.ImageIndex(descriptor.Digest); err == nil {
			err = remote.WriteIndex(tag, content, options...)
		}
	} else {
		var content containers.Image
		if content, err = index.Image(descriptor.Digest); err == nil {
			err = remote.Write(tag, content, options...)
		}
	}
	return tag.Name() + "@" + descriptor.Digest.String(), err
}

// tag is the name that something is pushed by.
func (o pushOptions) tag(what string, annotations map[string]string) (name.Tag, error) {
	target := annotations["io.containerd.image.name"]
	if o.repository != "" {
		target = o.repository
		if what == manifestsLayout {
			target += manifestsSuffix
		}
		target += ":" + annotations["org.opencontainers.image.ref.name"]
	}
	var options []name.Option
	if o.insecure {
		options = append(options, name.Insecure)
	}
	return name.NewTag(target, options...)
}

// unpack unpacks an archive of ours: folders and files.
func unpack(file, folder string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	archive := tar.NewReader(in)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if header.Typeflag == tar.TypeDir {
			if err := root.MkdirAll(strings.TrimSuffix(header.Name, "/"), 0o755); err != nil {
				return err
			}
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := root.WriteFile(header.Name, content, 0o644); err != nil {
			return err
		}
	}
}

package main

import (
	"bytes"
	"embed"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	containers "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The files in dist that hold OCI layouts, but for the version.
const (
	imageLayout     = "image"
	manifestsLayout = "manifests"
)

// rootfs is what is in the image beside the programs. The Dockerfile copies it, too.
//
//go:embed rootfs
var rootfs embed.FS

// The image's configuration is the Dockerfile's; a test holds them against each other.
const imageUser = "65532:65532"

var imageEntrypoint = []string{"/fn"}

// labels are the image's, and the annotations of what is pushed.
func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "markdown-view",
		"org.opencontainers.image.description": "Turns a MarkdownView into the ConfigMaps, Deployment and Service that serve its pages with mdBook",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.source":      projectURL,
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.revision,
		"org.opencontainers.image.created":     r.created.Format(time.RFC3339),
	}
}

// image makes the image of all platforms with Linux.
func (r *release) image() (containers.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		image, err := r.platformImage(p)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: containers.Descriptor{Platform: &containers.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	return mutate.Annotations(index, r.labels()).(containers.ImageIndex), nil
}

func (r *release) platformImage(p platform) (containers.Image, error) {
	base, err := rootEntries()
	if err != nil {
		return nil, err
	}
	var ours []entry
	for _, program := range programs {
		path, file := r.program(p, program)
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		ours = append(ours, entry{file, content, 0o755})
	}
	image, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		&containers.ConfigFile{
			OS: p.os, Architecture: p.arch, Created: containers.Time{Time: r.created},
			Config: containers.Config{User: imageUser, Entrypoint: imageEntrypoint, Labels: r.labels()},
			RootFS: containers.RootFS{Type: "layers"},
		})
	if err != nil {
		return nil, err
	}
	for _, entries := range [][]entry{base, ours} {
		layer, err := r.layer(entries, types.OCILayer)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{
			Layer: layer, History: containers.History{Created: containers.Time{Time: r.created}, CreatedBy: "make release"},
		})
		if err != nil {
			return nil, err
		}
	}
	return mutate.Annotations(image, r.labels()).(containers.Image), nil
}

// layer packs entries, compressed.
func (r *release) layer(entries []entry, mediaType types.MediaType) (containers.Layer, error) {
	var content bytes.Buffer
	if err := writeTar(&content, r.created, entries); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	}, tarball.WithMediaType(mediaType))
}

// rootEntries are the files of rootfs, and their folders.
func rootEntries() ([]entry, error) {
	files, err := fs.Sub(rootfs, "rootfs")
	if err != nil {
		return nil, err
	}
	return entriesOf(files)
}

// entriesOf are the files below a folder, and the folders, in the order of their names.
func entriesOf(files fs.FS) ([]entry, error) {
	var entries []entry
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || path == ".":
			return err
		case d.IsDir():
			entries = append(entries, entry{path + "/", nil, 0o755})
			return nil
		}
		content, err := fs.ReadFile(files, path)
		entries = append(entries, entry{path, content, 0o644})
		return err
	})
	return entries, err
}

// writeLayout writes an image, or an artifact, to a file of dist that is an OCI layout in
// an archive. The annotations are where container tools look for its name.
func (r *release) writeLayout(what, repository string, content mutate.Appendable) error {
	tag, err := name.NewTag(repository + ":" + r.version)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(r.built, "layout-")
	if err != nil {
		return err
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	annotations := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
		"io.containerd.image.name":          tag.Name(),
	})
	switch content := content.(type) {
	case containers.ImageIndex:
		err = path.AppendIndex(content, annotations)
	case containers.Image:
		err = path.AppendImage(content, annotations)
	}
	if err != nil {
		return err
	}
	entries, err := entriesOf(os.DirFS(folder))
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := writeTar(&archive, r.created, entries); err != nil {
		return err
	}
	return r.write(r.name("markdown-view", "_"+what+".oci.tar"), archive.Bytes())
}

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	containers "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The media types of what `flux push artifact` pushes.
const (
	fluxConfig  = types.MediaType("application/vnd.cncf.flux.config.v1+json")
	fluxContent = types.MediaType("application/vnd.cncf.flux.content.v1.tar+gzip")
)

// installFile holds everything that a cluster needs.
const installFile = "install.yaml"

// installed is the kustomization of installFile, below config.
const installed = "default"

// ofInstance is the kustomization that each instance of the controller comes from, below config.
const ofInstance = "manager"

// What a release adds to these.
const (
	pinnedImage = `images:
- name: markdown-view
  newName: %s
  newTag: %s
  digest: %s
`
	versionLabel = `labels:
- pairs:
    app.kubernetes.io/version: %s
  includeTemplates: true
`
)

// manifests returns the files of config, as they are but for the release's image in each
// instance of the controller, and its version in all that is installed.
func (r *release) manifests(digest string) ([]entry, error) {
	entries, err := entriesOf(os.DirFS(filepath.Join(r.source, "config")))
	if err != nil {
		return nil, err
	}
	label := fmt.Sprintf(versionLabel, r.version)
	for folder, added := range map[string]string{
		ofInstance: fmt.Sprintf(pinnedImage, r.repository, r.version, digest) + label,
		installed:  label,
	} {
		name := path.Join(folder, "kustomization.yaml")
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
		if i < 0 {
			return nil, fmt.Errorf("config/%s: %w", name, fs.ErrNotExist)
		}
		entries[i].content = fmt.Append(entries[i].content, "# Of the release:\n", added)
	}
	return entries, nil
}

// writeManifests writes the manifests in both ways that they are installed: as one file,
// and as the artifact that Flux's OCIRepository takes.
func (r *release) writeManifests(manifests []entry) error {
	files := filesys.MakeFsInMemory()
	for _, e := range manifests {
		if strings.HasSuffix(e.name, "/") {
			continue
		}
		if err := files.WriteFile(e.name, e.content); err != nil {
			return err
		}
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, installed)
	if err != nil {
		return err
	}
	content, err := objects.AsYaml()
	if err != nil {
		return err
	}
	head := fmt.Sprintf("# markdown-view %s, with the image %s.\n# kubectl apply --server-side -f %s\n", r.version, r.repository, installFile)
	if err := r.write(installFile, append([]byte(head), content...)); err != nil {
		return err
	}
	artifact, err := r.artifact(manifests)
	if err != nil {
		return err
	}
	return r.writeLayout(manifestsLayout, r.repository+manifestsSuffix, artifact)
}

// artifact packs manifests as Flux does.
func (r *release) artifact(manifests []entry) (containers.Image, error) {
	layer, err := r.layer(manifests, fluxContent)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), fluxConfig)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer})
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, map[string]string{
		"org.opencontainers.image.title":    "markdown-view's manifests",
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source":   projectURL,
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.version + "@sha1:" + r.revision,
		"org.opencontainers.image.created":  r.created.Format(time.RFC3339),
	}).(containers.Image), nil
}

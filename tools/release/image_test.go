package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	containers "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func TestTheImageIsForAllLinuxPlatforms(t *testing.T) {
	dist := mustBuild(t, newProject(t))
	index, descriptor := layoutIn(t, dist, imageLayout)
	image, err := index.ImageIndex(descriptor.Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		one, err := image.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := one.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if got := config.OS + "/" + config.Architecture; got != m.Platform.String() {
			t.Errorf("the configuration of %s is for %s", m.Platform, got)
		}
		files := filesOf(t, one)
		if diff := cmp.Diff([]string{"controller", "etc/", "etc/group", "etc/passwd", "fn", "licenses/", "licenses/third-party.txt"}, slices.Sorted(maps.Keys(files))); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", m.Platform, diff)
		}
		if files["fn"].mode != 0o755 || files["etc/passwd"].mode != 0o644 {
			t.Errorf("modes are %o and %o", files["fn"].mode, files["etc/passwd"].mode)
		}
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
	if descriptor.Annotations["io.containerd.image.name"] != "registry.example.com/markdown-view:v1.2.3" {
		t.Errorf("the name is %v", descriptor.Annotations)
	}
	want := "image: registry.example.com/markdown-view:v1.2.3@" + descriptor.Digest.String()
	if install := readFile(t, dist, installFile); !strings.Contains(install, want) {
		t.Errorf("install.yaml doesn't have %q:\n%s", want, install)
	}
}

// TestTheDockerfileMakesTheSameImage holds the configuration against the Dockerfile's.
func TestTheDockerfileMakesTheSameImage(t *testing.T) {
	_, final, ok := strings.Cut(readFile(t, "../../Dockerfile"), "\nFROM scratch\n")
	if !ok {
		t.Fatal("the Dockerfile has no final stage FROM scratch")
	}
	r := &release{buildOptions: buildOptions{version: "${VERSION}"}, revision: "${REVISION}"}
	want := r.labels()
	want["org.opencontainers.image.created"] = "${CREATED}"
	got := map[string]string{}
	for _, label := range regexp.MustCompile(`(org\.\S+)="([^"]*)"`).FindAllStringSubmatch(final, -1) {
		got[label[1]] = label[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("labels (-release +Dockerfile):\n%s", diff)
	}
	for _, line := range []string{"USER " + imageUser, `ENTRYPOINT ["` + strings.Join(imageEntrypoint, `","`) + `"]`, "COPY tools/release/rootfs/ /"} {
		if !slices.Contains(strings.Split(final, "\n"), line) {
			t.Errorf("the Dockerfile has no line %q", line)
		}
	}
}

func TestFluxFindsInTheArtifactWhatInstallYAMLInstalls(t *testing.T) {
	dist := mustBuild(t, newProject(t))
	index, descriptor := layoutIn(t, dist, manifestsLayout)
	artifact, err := index.Image(descriptor.Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := artifact.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	// As source-controller wants them.
	got := []types.MediaType{manifest.MediaType, manifest.Config.MediaType, manifest.Layers[0].MediaType}
	if diff := cmp.Diff([]types.MediaType{
		"application/vnd.oci.image.manifest.v1+json", "application/vnd.cncf.flux.config.v1+json", "application/vnd.cncf.flux.content.v1.tar+gzip",
	}, got); diff != "" || len(manifest.Layers) != 1 {
		t.Errorf("%d layers, media types (-want +got):\n%s", len(manifest.Layers), diff)
	}
	if revision := manifest.Annotations["org.opencontainers.image.revision"]; !regexp.MustCompile(`^v1\.2\.3@sha1:[0-9a-f]{40}$`).MatchString(revision) {
		t.Errorf("the revision is %q", revision)
	}

	files := filesys.MakeFsInMemory()
	for name, e := range filesOf(t, artifact) {
		if !strings.HasSuffix(name, "/") {
			if err := files.WriteFile(name, e.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "default")
	if err != nil {
		t.Fatal(err)
	}
	text, err := objects.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	install := readFile(t, dist, installFile)
	if !strings.HasSuffix(install, string(text)) {
		t.Errorf("install.yaml:\n%s\nand the artifact's default:\n%s", install, text)
	}
	if count := strings.Count(install, "app.kubernetes.io/version: v1.2.3"); count != 2 { // the object's and its template's
		t.Errorf("%d labels name the version", count)
	}
	if strings.Contains(install, "matchLabels:\n      app: manager\n      app.kubernetes.io/version") {
		t.Error("the selector has the version: it can't be changed by the next release")
	}
}

// TestWhateverIsInstalledOfAReleaseHasItsImage builds each kustomization of config, as the
// artifact has it.
func TestWhateverIsInstalledOfAReleaseHasItsImage(t *testing.T) {
	const digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	r := &release{buildOptions: buildOptions{source: "../..", version: version, repository: "registry.example.com/markdown-view"}}
	manifests, err := r.manifests(digest)
	if err != nil {
		t.Fatal(err)
	}
	files := filesys.MakeFsInMemory()
	var folders []string
	for _, e := range manifests {
		if strings.HasSuffix(e.name, "/") {
			continue
		}
		if err := files.WriteFile(e.name, e.content); err != nil {
			t.Fatal(err)
		}
		if path.Base(e.name) == "kustomization.yaml" && !bytes.Contains(e.content, []byte("\nkind: Component\n")) {
			folders = append(folders, path.Dir(e.name))
		}
	}
	instances := map[string]int{}
	for _, folder := range folders {
		objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, folder)
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, object := range objects.Resources() {
			if object.GetKind() != "Deployment" {
				continue
			}
			instances[folder]++
			text, err := object.AsYAML()
			if err != nil {
				t.Fatal(err)
			}
			if want := "image: registry.example.com/markdown-view:" + version + "@" + digest + "\n"; strings.Count(string(text), want) != 1 {
				t.Errorf("%s: not once %q:\n%s", folder, want, text)
			}
			if count := strings.Count(string(text), "app.kubernetes.io/version: "+version+"\n"); count != 2 { // the object's and its template's
				t.Errorf("%s: %d labels name the version:\n%s", folder, count, text)
			}
		}
	}
	want := map[string]int{"default": 1, "manager": 1, "shards": 3, "shards/shard1": 1, "shards/shard2": 1}
	if diff := cmp.Diff(want, instances); diff != "" {
		t.Errorf("instances of the controller (-want +got):\n%s", diff)
	}
}

// filesOf are the files of all layers.
func filesOf(t *testing.T, image containers.Image) map[string]entry {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]entry{}
	for _, layer := range layers {
		text, err := gzip.NewReader(bytes.NewReader(readAll(t, layer.Compressed)))
		if err != nil {
			t.Fatal(err)
		}
		archive := tar.NewReader(text)
		for {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.ToSlash(header.Name)] = entry{header.Name, content, header.Mode}
		}
	}
	return files
}

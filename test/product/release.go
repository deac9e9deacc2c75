package product

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/zoetrope/markdown-view/test/cluster/build"
)

// ReleaseImage is the name that a release's install.yaml pulls its image by.
const ReleaseImage = "ghcr.io/zoetrope/markdown-view"

// Release is a release of this source tree, for the machine's own architecture.
type Release struct {
	// Version is a pre-release: what isn't committed is in it.
	Version string
	// Dist is the folder that it is in.
	Dist string

	repository string
}

// MakeRelease runs make release as people do.
func MakeRelease(ctx context.Context, version, dist string) (*Release, error) {
	repository, err := build.Repository()
	if err != nil {
		return nil, err
	}
	return makeRelease(ctx, repository, version, dist)
}

func makeRelease(ctx context.Context, repository, version, dist string) (*Release, error) {
	r := &Release{Version: version, Dist: dist, repository: repository}
	return r, r.make(ctx, "release", "VERSION="+version, "RELEASE_PLATFORMS=linux/"+runtime.GOARCH)
}

// BeforeVersion is the version of what MakeReleaseBefore makes where no tag names one.
const BeforeVersion = "v0.0.0-before"

// MakeReleaseBefore makes the last release again: what RELEASE_BEFORE names, or the last tag
// before this commit. Where there is none, as before the first release and in a clone without
// tags, it is this source tree once more, with a version of its own. The folder is for clone
// and files.
func MakeReleaseBefore(ctx context.Context, folder string) (*Release, error) {
	repository, err := build.Repository()
	if err != nil {
		return nil, err
	}
	dist := filepath.Join(folder, "dist")
	revision, version := os.Getenv("RELEASE_BEFORE"), BeforeVersion
	if revision == "" {
		tag, err := git(ctx, repository, "describe", "--tags", "--abbrev=0", "--match=v[0-9]*", "HEAD^")
		if err != nil {
			return makeRelease(ctx, repository, version, dist)
		}
		revision, version = tag, tag
	}
	commit, err := git(ctx, repository, "rev-parse", "--verify", revision+"^{commit}")
	if err != nil {
		return nil, err
	}
	clone := filepath.Join(folder, "clone")
	for _, args := range [][]string{
		{"clone", "--quiet", "--no-checkout", repository, clone},
		{"-C", clone, "checkout", "--quiet", "--detach", commit},
	} {
		if _, err := git(ctx, repository, args...); err != nil {
			return nil, err
		}
	}
	return makeRelease(ctx, clone, version, dist)
}

func git(ctx context.Context, folder string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = folder
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// Push pushes the image and the manifests to a registry without TLS, below the path that
// they have where install.yaml pulls them.
func (r *Release) Push(ctx context.Context, registry string) error {
	_, path, _ := strings.Cut(ReleaseImage, "/")
	return r.make(ctx, "release-push", "RELEASE_IMAGE="+registry+"/"+path, "RELEASE_PUSH_FLAGS=-insecure")
}

func (r *Release) make(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory", "DIST=" + r.Dist}, args...)...)
	command.Dir = r.repository
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("make %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// InstallYAML is the path of the manifests.
func (r *Release) InstallYAML() string { return filepath.Join(r.Dist, "install.yaml") }

// Image is the image in the manifests, with tag and digest.
func (r *Release) Image() (string, error) {
	content, err := os.ReadFile(r.InstallYAML())
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		if _, image, ok := strings.Cut(line, " image: "); ok {
			return strings.TrimSpace(image), nil
		}
	}
	return "", fmt.Errorf("%s names no image", r.InstallYAML())
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// programs are built from the folders of their names.
var programs = []string{"fn", "controller"}

// projectURL is where the project is.
const projectURL = "https://github.com/zoetrope/markdown-view"

// buildOptions are the command line's.
type buildOptions struct {
	source, dist, version string
	// repository is the image's name without a tag.
	repository string
	platforms  []platform
}

// release is a release while it is made.
type release struct {
	buildOptions
	// folder becomes dist when all is in it.
	folder string
	// built holds the programs, in a folder for each platform.
	built string
	// revision is the commit, and created its time: nothing has a later one.
	revision string
	created  time.Time
}

// checkVersion refuses what can't be in a label, an image's tag and a file's name.
func checkVersion(version string) error {
	switch {
	case version == "":
		return errors.New("the version is missing: set VERSION=v1.2.3")
	case !semver.IsValid(version) || semver.Canonical(version) != version:
		return fmt.Errorf("version %q: must be like v1.2.3 or v1.2.3-rc.1", version)
	}
	return nil
}

// build fills a folder with a release. The folder is replaced as a whole, when all is
// made.
func build(ctx context.Context, o buildOptions, stderr io.Writer) (err error) {
	if err := checkReplaceable(o.dist); err != nil {
		return err
	}
	r := &release{buildOptions: o}
	if err := r.look(ctx, stderr); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(o.dist)), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(filepath.Clean(o.dist)), ".release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	r.folder, r.built = filepath.Join(work, "dist"), filepath.Join(work, "built")
	if err := os.Mkdir(r.folder, 0o755); err != nil {
		return err
	}
	if err := r.make(ctx, stderr); err != nil {
		return err
	}
	if err := os.RemoveAll(o.dist); err != nil {
		return err
	}
	return os.Rename(r.folder, o.dist)
}

// make lists what a release consists of.
func (r *release) make(ctx context.Context, stderr io.Writer) error {
	notes, err := r.notes() // first: it may be missing
	if err != nil {
		return err
	}
	if err := r.write("release-notes.md", notes); err != nil {
		return err
	}
	for _, p := range r.platforms {
		began := time.Now()
		if err := r.compile(ctx, p); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "%s: built in %.0fs\n", p, time.Since(began).Seconds())
		if err := r.archive(p); err != nil {
			return err
		}
	}
	image, err := r.image()
	if err != nil {
		return fmt.Errorf("the image: %w", err)
	}
	if err := r.writeLayout(imageLayout, r.repository, image); err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	manifests, err := r.manifests(digest.String())
	if err != nil {
		return fmt.Errorf("the manifests: %w", err)
	}
	if err := r.writeManifests(manifests); err != nil {
		return fmt.Errorf("the manifests: %w", err)
	}
	if err := r.writeSBOM(digest.String()); err != nil {
		return fmt.Errorf("the SBOM: %w", err)
	}
	return writeChecksums(r.folder)
}

// name is that of a file that names the release.
func (r *release) name(what, suffix string) string {
	return what + "_" + r.version + suffix
}

func (r *release) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(r.folder, name), content, 0o644)
}

// look asks Git what is released. A version that isn't a pre-release is a promise that
// others can make the same, so everything has to be committed.
func (r *release) look(ctx context.Context, stderr io.Writer) error {
	git := func(args ...string) (string, error) {
		out, err := output(ctx, r.source, nil, "git", args...)
		return strings.TrimSpace(out), err
	}
	var err error
	if r.revision, err = git("rev-parse", "HEAD"); err != nil {
		return err
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = git("log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || epoch < 0 {
		return fmt.Errorf("SOURCE_DATE_EPOCH is %q, must be seconds since 1970", seconds)
	}
	r.created = time.Unix(epoch, 0).UTC()
	changes, err := git("status", "--porcelain")
	switch {
	case err != nil:
		return err
	case changes != "" && semver.Prerelease(r.version) == "":
		return fmt.Errorf("what isn't committed can't be %s: commit or remove it, or make a pre-release\n%s", r.version, changes)
	case changes != "":
		fmt.Fprintf(stderr, "warning: nobody else can make this %s, there are changes that aren't committed\n", r.version)
	}
	return nil
}

// pgoProfile is where the profile is that the programs are compiled by.
const pgoProfile = "controller/controller.pgo"

// compile builds the programs for a platform, as the Dockerfile does. What a person's
// settings could change of them is set.
func (r *release) compile(ctx context.Context, p platform) error {
	folder := filepath.Join(r.built, p.file())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=" + r.version, "-o", folder + string(filepath.Separator)}
	if _, err := os.Stat(filepath.Join(r.source, pgoProfile)); err == nil { // earlier releases had none
		args = append(args, "-pgo="+pgoProfile)
	}
	for _, program := range programs {
		args = append(args, "./"+program)
	}
	_, err = output(ctx, r.source, []string{
		"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=",
	}, "go", args...)
	return err
}

// program is the path of a program that was built, and its name.
func (r *release) program(p platform, name string) (path, file string) {
	if p.os == "windows" {
		name += ".exe"
	}
	return filepath.Join(r.built, p.file(), name), name
}

// output runs a program in a folder and returns what it prints.
func output(ctx context.Context, folder string, env []string, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = folder
	command.Env = append(os.Environ(), env...)
	// Killed, Go would leave its compilers and its files behind.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

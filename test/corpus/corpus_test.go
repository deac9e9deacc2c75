//go:build linux

package corpus

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/test/product"
)

// patience is how long a book may take; the slowest takes some seconds of CPU time.
const patience = 3 * time.Minute

// imageFolder is the working directory of the default viewer image.
const imageFolder = "/book"

func TestMain(m *testing.M) {
	if text := os.Getenv(enterVariable); text != "" {
		fmt.Fprintln(os.Stderr, enter(os.Args[1], text))
		os.Exit(125)
	}
	code := m.Run()
	for _, made := range []func() (string, error){image, function} {
		if folder, err := made(); err == nil {
			_ = os.RemoveAll(filepath.Dir(folder))
		}
	}
	os.Exit(code)
}

// mdbook is the real one; empty without MDBOOK, which CI sets.
func mdbook() string { return os.Getenv("MDBOOK") }

// image makes the folder that the containers' own files are in: mdBook, and where there
// is a busybox a shell, as in the default viewer image.
var image = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "corpus-image-")
	if err != nil {
		return "", err
	}
	folder = filepath.Join(folder, "image")
	files := map[string]string{mdbook(): "usr/bin/mdbook"}
	libraries, err := exec.Command("ldd", mdbook()).Output()
	if err == nil { // or it is linked statically
		for _, library := range regexp.MustCompile(`/\S+\.so\S*`).FindAllString(string(libraries), -1) {
			files[library] = library
		}
	}
	busybox, lookErr := exec.LookPath("busybox")
	if lookErr == nil {
		files[busybox] = "bin/busybox"
	}
	for from, to := range files {
		content, err := os.ReadFile(from)
		to = filepath.Join(folder, to)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755)); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, content, 0o755); err != nil {
			return "", err
		}
	}
	if lookErr != nil {
		return folder, nil
	}
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return "", err
	}
	for applet := range strings.FieldsSeq(string(applets)) {
		if err := os.Symlink("busybox", filepath.Join(folder, "bin", applet)); err != nil && !os.IsExist(err) {
			return "", err
		}
	}
	return folder, nil
})

// function builds the function, and returns the path of its program.
var function = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "corpus-fn-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(folder, "fn")
	if out, err := exec.Command("go", "build", "-C", "../..", "-buildvcs=false", "-o", program, "./fn").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
})

func TestEveryBookIsServedAsMDBookBuildsIt(t *testing.T) {
	needsContainers(t)
	for name, b := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.test(t)
		})
	}
}

// needsContainers skips a test where none can be started.
func needsContainers(t *testing.T) {
	t.Helper()
	if mdbook() == "" {
		t.Skip("MDBOOK names no mdbook program")
	}
	if os.Geteuid() != 0 {
		t.Skip("the containers need root")
	}
}

// TestLowerMemoryLimitsKillRealBooks shows that the books of the corpus, which all run
// under the memory limits of their pods, would be killed if these were too low.
func TestLowerMemoryLimitsKillRealBooks(t *testing.T) {
	needsContainers(t)
	if _, err := memoryController(); err != nil {
		t.Skipf("the books of the corpus run without the memory limits of their pods: no control group can be made: %v", err)
	}
	image, err := image()
	if err != nil {
		t.Fatal(err)
	}
	b := worst["two thousand commits"]
	_, log, err := serve(t.Context(), t, b.container(t, image, b.write(t), memoryGroup(t, 96<<20)))
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("it wasn't killed: %v\n%s", err, log)
	}
}

// corpus are the books of all tables, with what they have in common filled in.
func corpus(t *testing.T) map[string]book {
	t.Helper()
	all := map[string]book{}
	for _, table := range []map[string]book{layouts, names, includes, odd, settings, sources, large, refused, worst, realBooks(t)} {
		for name, b := range table {
			if _, twice := all[name]; twice {
				t.Fatalf("there are two books %q", name)
			}
			all[name] = b
		}
	}
	return all
}

func (b book) test(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	image, err := image()
	if err != nil {
		t.Fatal(err)
	}
	tree := b.write(t)
	want, mdbookLog, refusal := b.reference(ctx, t, image, tree)
	objects, stderr, err := b.expand(ctx, t, tree)
	switch {
	case b.Refused == "" && err != nil:
		t.Fatalf("fn: %v\n%s", err, stderr)
	case b.Refused != "":
		if refusal == nil && b.Lives == "" {
			t.Errorf("mdBook doesn't refuse the book:\n%s", mdbookLog)
		}
		if err == nil || !strings.Contains(stderr, b.Refused) {
			t.Errorf("fn doesn't refuse it with %q: %v\n%s", b.Refused, err, stderr)
		}
		return
	case refusal != nil:
		t.Fatalf("mdBook refuses the folder itself: %v\n%s", refusal, mdbookLog)
	}
	b.compareWarnings(t, stderr, mdbookLog)
	got, _ := newPod(t, objects).run(ctx, t, image)
	compareSites(t, without(want, b.Stays), without(got, b.Comes))
}

// reference runs mdBook on the folder itself. It is the command that the pods run, too:
// build makes other pages, for live reload and for the address of a missing page.
func (b book) reference(ctx context.Context, t *testing.T, image, tree string) (site map[string]string, log string, err error) {
	t.Helper()
	if b.Project != nil {
		tree = write(t, b.Project)
	}
	return serve(ctx, t, b.container(t, image, tree, ""))
}

// container runs mdBook on a folder.
func (b book) container(t *testing.T, image, tree, group string) container {
	t.Helper()
	build := newFolder(t, 0o777)
	// As deep as files are written beside the site: those that book.toml names with "..".
	env := []string{"MDBOOK_BUILD__BUILD_DIR=/site/1/2/3", "MDBOOK_BUILD__CREATE_MISSING=false"}
	if b.Src != "" {
		env = append(env, "MDBOOK_BOOK__SRC="+b.Src)
	}
	return container{
		Image: image, Group: group, WorkingDir: filepath.Join("/tree", b.Folder), Env: env,
		Command: []string{"mdbook", "serve", "--hostname", "0.0.0.0"},
		Mounts:  []mount{{tree, "/tree", true}, {build, "/site", false}},
		User:    65532,
	}
}

// expand runs the function.
func (b book) expand(ctx context.Context, t *testing.T, tree string) (objects objectList, stderr string, err error) {
	t.Helper()
	program, err := function()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, program, "-")
	command.Dir = tree
	command.Stdin = strings.NewReader(b.view())
	var errOut bytes.Buffer
	command.Stderr = &errOut
	out, err := command.Output()
	if err != nil {
		return nil, errOut.String(), err
	}
	objects, err = product.Objects(out)
	return objects, errOut.String(), err
}

// compareWarnings holds what the function warns of against what is expected, and
// expects nothing where mdBook logs neither a warning nor an error.
func (b book) compareWarnings(t *testing.T, stderr, log string) {
	t.Helper()
	if b.AnyWarnings {
		return
	}
	var warnings []string
	for line := range strings.Lines(stderr) {
		warnings = append(warnings, strings.TrimSpace(line))
	}
	if len(warnings) != len(b.Warns) {
		t.Errorf("fn warns of %d things, not of %d:\n%s", len(warnings), len(b.Warns), stderr)
	}
	for _, want := range b.Warns {
		if !strings.Contains(stderr, want) {
			t.Errorf("fn doesn't warn of %q:\n%s", want, stderr)
		}
	}
	if logged := regexp.MustCompile(`(?m)^.*\b(WARN|ERROR)\b.*$`).FindAllString(log, -1); len(logged) > 0 && len(b.Warns) == 0 && b.Lives == "" {
		t.Errorf("mdBook warns, fn doesn't:\n%s", strings.Join(logged, "\n"))
	}
}

func compareSites(t *testing.T, want, got map[string]string) {
	t.Helper()
	if got["index.html"] == "" && got["html/index.html"] == "" { // where there are several renderers
		t.Error("there is no index.html")
	}
	if diff := gocmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("files of the site: -mdBook +pod\n%s", diff)
	}
	differ := 0
	for _, file := range slices.Sorted(maps.Keys(want)) {
		content, ok := got[file]
		if !ok || content == want[file] {
			continue
		}
		if differ++; differ <= 3 {
			t.Errorf("%s: -mdBook +pod\n%s", file, firstDifference(want[file], content))
		}
	}
	if differ > 3 {
		t.Errorf("%d files differ", differ)
	}
}

// firstDifference shows where two texts part.
func firstDifference(a, b string) string {
	const around = 120
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string {
		return fmt.Sprintf("%q", s[max(0, min(i-around, len(s))):min(len(s), i+around)])
	}
	return fmt.Sprintf("at byte %d\n-%s\n+%s", i, cut(a), cut(b))
}

func without(site map[string]string, files []string) map[string]string {
	for _, file := range files {
		delete(site, file)
	}
	return site
}

// readFolder reads all files below a folder.
func readFolder(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		rel, relErr := filepath.Rel(folder, file)
		files[rel] = string(content)
		return cmp.Or(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

package build

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// newRecipe makes a module with one small program, and an empty cache.
func newRecipe(t *testing.T) recipe {
	t.Helper()
	// Go's own cache is found by the same variable; a cold one takes a minute.
	goCache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	module := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":           "module example.com/hello\n\ngo 1.26.0\n",
		"go.sum":           "",
		"cmd/main.go":      "package main\n\nfunc main() { println(greeting) }\n",
		"cmd/greeting.go":  "package main\n\nconst greeting = `hello`\n",
		"cmd/main_test.go": "package main\n",
	} {
		write(t, filepath.Join(module, name), content)
	}
	return recipe{
		name:     "hello",
		versions: []string{"hello", "v1"},
		module:   module,
		sources:  []string{"cmd"},
		steps: []step{
			{what: "compiling", packages: []string{"./cmd"}, args: []string{"build", "-v", "-trimpath", "-o", "${BIN}/hello", "./cmd"}, linkTo: "hello", links: []string{"hi"}},
			{what: "describing", args: []string{"list", "./cmd"}, stdout: "list.txt"},
		},
	}
}

func TestCachedBuildsOnce(t *testing.T) {
	r := newRecipe(t)
	var mu sync.Mutex
	var lines []string
	log := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if _, err := r.cached(t.Context(), log); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if built := strings.Count(strings.Join(lines, "\n")+"\n", "hello: compiling\n"); built != 1 {
		t.Errorf("three at once built it %d times:\n%s", built, strings.Join(lines, "\n"))
	}
	bin, err := r.cached(t.Context(), func(line string) { t.Errorf("with a warm cache: %s", line) })
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "hi")).CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Errorf("the program's link says %q, %v", out, err)
	}
	if got, err := os.ReadFile(filepath.Join(bin, "list.txt")); err != nil || string(got) != "example.com/hello/cmd\n" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

func TestKey(t *testing.T) {
	r := newRecipe(t)
	key := func() string {
		t.Helper()
		key, err := r.key()
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	first := key()
	if !strings.HasPrefix(first, "hello-v1-go1.") {
		t.Errorf("the key %q doesn't begin with the versions", first)
	}
	if key() != first {
		t.Error("the key of the same inputs differs")
	}
	write(t, filepath.Join(r.module, "cmd", "main_test.go"), "package main // changed\n")
	if key() != first {
		t.Error("a test's change changes the key")
	}
	seen := map[string]bool{first: true}
	for what, change := range map[string]func(){
		"source": func() {
			write(t, filepath.Join(r.module, "cmd", "greeting.go"), "package main\n\nconst greeting = `hi`\n")
		},
		"file":      func() { write(t, filepath.Join(r.module, "cmd", "more.go"), "package main\n") },
		"go.sum":    func() { write(t, filepath.Join(r.module, "go.sum"), "\n") },
		"arguments": func() { r.steps[0].args = append(r.steps[0].args, "-race") },
	} {
		change()
		if seen[key()] {
			t.Errorf("a change of %s doesn't change the key", what)
		}
		seen[key()] = true
	}
}

func TestAFailedBuildShowsWhyAndLeavesNothing(t *testing.T) {
	r := newRecipe(t)
	write(t, filepath.Join(r.module, "cmd", "greeting.go"), "package main\n\nconst greeting = nonsense\n")
	_, err := r.cached(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("the error lacks the compiler's words: %v", err)
	}
	wantBuilds(t, r, 0)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.cached(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled build: %v", err)
	}
	wantBuilds(t, r, 0)
}

func TestOldBuildsAreRemoved(t *testing.T) {
	r := newRecipe(t)
	root, err := cacheFolder(r.name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, buildingPrefix+"cut-off", "bin", "hello"), "")
	write(t, filepath.Join(root, "recent", "bin", "hello"), "")
	write(t, filepath.Join(root, "unused", "bin", "hello"), "")
	old := time.Now().Add(-keepUnused - time.Hour)
	if err := os.Chtimes(filepath.Join(root, "unused"), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := r.cached(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantBuilds(t, r, 2) // the recent one and the new one
}

func TestControlPlaneRecipe(t *testing.T) {
	clone, err := Repository()
	if err != nil {
		t.Fatal(err)
	}
	r, err := controlPlane(filepath.Join(clone, "test", "controlplane"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := r.key()
	if err != nil {
		t.Fatal(err)
	}
	if want := "kubernetes-v1.37.2-etcd-v3.7.3-kwok-v0.8.0-go1."; !strings.HasPrefix(key, want) {
		t.Errorf("the key %q doesn't begin with %q", key, want)
	}
	compiling := strings.Join(r.steps[0].args, " ")
	for _, variable := range []string{"gitVersion=v1.37.2", "gitMajor=1", "gitMinor=37"} {
		if !strings.Contains(compiling, "-X k8s.io/component-base/version."+variable) {
			t.Errorf("%s isn't set by: go %s", variable, compiling)
		}
	}
}

func wantBuilds(t *testing.T, r recipe, want int) {
	t.Helper()
	root, err := cacheFolder(r.name)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() {
			found = append(found, entry.Name())
		}
	}
	if len(found) != want || strings.Contains(strings.Join(found, " "), buildingPrefix) {
		t.Errorf("the cache holds %v, want %d whole builds", found, want)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

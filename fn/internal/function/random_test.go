package function

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wild makes a working directory with a project in it whose paths go up and down and
// through links at random.
type wild struct {
	*rand.Rand
	files   map[string]string
	project string
	src     string // the project's source folder, as book.toml names it
}

func newWild(seed uint64) *wild {
	w := &wild{Rand: rand.New(rand.NewPCG(seed, 0)), files: map[string]string{}}
	w.project = w.one(".", "a", "a/b", "a/b/c")
	w.src = w.one("src", "src", "src", "x/src", "../text", "../../text", ".", "lib/../src")
	source := path.Join(w.project, w.src)
	if strings.HasPrefix(source, "..") {
		w.src, source = "src", path.Join(w.project, "src")
	}
	for range 3 + w.IntN(6) {
		folder := w.one(".", "a", "a/b", "a/d", w.project, path.Join(w.project, "lib"), source)
		w.files[path.Join(folder, w.one("f", "g", "h.rs"))] = w.text(folder)
	}
	for range w.IntN(4) {
		folder := w.one(".", "a", w.project, source)
		w.files[path.Join(folder, w.one("l", "m"))] = "-> " + w.one("a", "../a", "lib", "../lib", "b/c", "../a/b", "f", "../f", "d", "../a/d")
	}
	var toml strings.Builder
	fmt.Fprintf(&toml, "[book]\nsrc = '%s'\n[output.html]\nedit-url-template = 'https://example.com/{path}'\n", w.src)
	if w.IntN(8) == 0 {
		fmt.Fprintf(&toml, "additional-css = ['%s']\n", w.way(w.project))
	}
	if w.IntN(8) == 0 {
		fmt.Fprintf(&toml, "input-404 = '%s'\n", w.way(source))
	}
	w.files[path.Join(w.project, "book.toml")] = toml.String()
	w.files[path.Join(source, "SUMMARY.md")] = "- [P](p.md)\n- [Q](q/q.md)\n"
	w.files[path.Join(source, "p.md")] = "# P\n\n" + w.text(source)
	w.files[path.Join(source, "q/q.md")] = "# Q\n\n" + w.text(path.Join(source, "q"))
	return w
}

func (w *wild) one(list ...string) string { return list[w.IntN(len(list))] }

// text is that of a file in a folder. It includes files, of which some exist.
func (w *wild) text(folder string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "text %d\n", w.IntN(1000))
	for range w.IntN(4) {
		fmt.Fprintf(&b, "\n{{#include %s}}\n", w.way(folder))
	}
	return b.String()
}

// way leads from a folder to a file, with detours.
func (w *wild) way(folder string) string {
	target := w.one("f", "g", "h.rs")
	if len(w.files) > 0 && w.IntN(4) > 0 {
		target = w.one(slices.Sorted(maps.Keys(w.files))...)
	}
	target, _ = filepath.Rel(folder, target)
	elements := strings.Split(target, "/")
	for range w.IntN(3) {
		detour := w.one("a", "b", "d", "lib", "l", "m", "src", "q", ".", "")
		elements = slices.Insert(elements, w.IntN(len(elements)), w.one(detour, detour, "..")+"/"+w.one("..", "..", "../..", "."))
	}
	return strings.TrimLeft(strings.Join(elements, "/"), "/")
}

// sound reports whether no file is where another needs a folder.
func (w *wild) sound() bool {
	for name := range w.files {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			if _, isFile := w.files[folder]; isFile {
				return false
			}
		}
	}
	return true
}

// TestWildPathsAreServedAsMDBookBuildsThem holds the pod's pages against those that
// mdBook builds in the working directory itself.
func TestWildPathsAreServedAsMDBookBuildsThem(t *testing.T) {
	program := mdbook(t)
	const enough = 30
	built := 0
	for seed := uint64(0); built < enough; seed++ {
		w := newWild(seed)
		if !w.sound() {
			continue
		}
		outside := t.TempDir()
		folder := filepath.Join(outside, "o", "w")
		writeTree(t, folder, w.files)
		got := runIn(t, folder, generatorInput(fmt.Sprintf("{contentFrom: [{directory: {path: %s}}]}", w.project)))

		site := filepath.Join(outside, "1/2/3/4/5/6/7/8/9") // files may be written beside it
		command := exec.CommandContext(t.Context(), program, "build", "--dest-dir", site)
		command.Dir = filepath.Join(folder, w.project)
		out, err := command.CombinedOutput()
		// A link that leads out is refused whether or not there is anything.
		if got.err != nil && err == nil && !strings.Contains(got.errOut, "leads out of") {
			t.Errorf("seed %d: only fn refuses %q: %s", seed, w.files, got.errOut)
		}
		if got.err == nil && err != nil {
			t.Errorf("seed %d: only mdBook refuses %q: %s", seed, w.files, out)
		}
		if got.err != nil || err != nil {
			continue
		}
		built++
		pages := parse(t, got.out).site(t, t.TempDir())
		for name, want := range readTree(t, site) {
			if path.Ext(name) == ".html" && want != pages[name] {
				t.Errorf("seed %d: %s of %q: %s", seed, name, w.files, cmp.Diff(want, pages[name]))
			}
		}
	}
}

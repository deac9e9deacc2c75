package theme

import (
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// program returns the mdBook that MDBOOK names.
func program(t *testing.T) string {
	t.Helper()
	name := os.Getenv("MDBOOK")
	if name == "" {
		t.Skip("MDBOOK names no mdbook program")
	}
	return name
}

// build has mdBook build a book of two pages with a theme and a redirect. It returns
// what mdBook prints, and whether it succeeds.
func build(t *testing.T, theme map[string]string) (string, bool) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"src/SUMMARY.md": "- [A](a.md)\n- [B](b.md)\n", "src/a.md": "# A\n", "src/b.md": "# B\n",
		"book.toml": "[output.html.redirect]\n\"/old.html\" = \"a.html\"\n",
	}
	for name, text := range theme {
		files["theme/"+name] = text
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	output, err := exec.CommandContext(t.Context(), program(t), "build", dir).CombinedOutput()
	return string(output), err == nil
}

// certain returns the faults of a theme with which mdBook doesn't start.
func certain(theme map[string]string) diagnostic.List {
	files := map[string][]byte{}
	for name, text := range theme {
		files[name] = []byte(text)
	}
	return Check(files, true).Of(diagnostic.Error)
}

// defaultIndex returns the template of mdBook's pages, which it writes for a new theme.
func defaultIndex(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if output, err := exec.CommandContext(t.Context(), program(t), "init", "--theme", "--force", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	text, err := os.ReadFile(filepath.Join(dir, "theme", "index.hbs"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDefaultThemeHasNoFault(t *testing.T) {
	index := defaultIndex(t)
	if faults := Check(map[string][]byte{"index.hbs": []byte(index)}, true); len(faults) > 0 {
		t.Error(faults)
	}
}

// With the faults of the table mdBook fails, and with the sound templates it doesn't.
func TestChecksAgainstMDBook(t *testing.T) {
	program(t)
	for name, test := range checks {
		t.Run(name, func(t *testing.T) {
			output, ok := build(t, test.theme)
			if want := len(certain(test.theme)) == 0; ok != want {
				t.Errorf("mdBook succeeds: %v, here: %v\n%s", ok, want, output)
			}
		})
	}
}

// mdBook takes no template that is refused here.
func TestMutationsAgainstMDBook(t *testing.T) {
	program(t)
	seeds := append(slices.Sorted(maps.Values(soundTemplates)), defaultIndex(t))
	r := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 150 {
		theme := map[string]string{"index.hbs": mutate(r, seeds[r.IntN(len(seeds))])}
		faults := certain(theme)
		if len(faults) == 0 {
			continue
		}
		refused++
		if _, ok := build(t, theme); ok {
			t.Errorf("mdBook takes, but here is %v:\n%s", faults, theme)
		}
	}
	if refused < 40 {
		t.Errorf("only %d templates were refused", refused)
	}
}

// mutate changes a template in a few places, most of them in tags.
func mutate(r *rand.Rand, text string) string {
	bits := []string{"{{", "}}", "{{{", "{{#", "{{/", "{{else}}", "{{^", "{{>", "{{!", "--", "~", "(", ")", "[", "]", `"`, "'", `\`, " ", "\n",
		"a", "as |x|", "=", "1", ".", "..", "/", "@", "this", "*", "|", "{", "}", "if", "else", "as", "null", ",", ":", "é", "{{#if x}}", "{{/if}}", "$", "&"}
	for range 1 + r.IntN(4) {
		at := r.IntN(len(text) + 1)
		if i := strings.Index(text[at:], "{{"); i >= 0 && r.IntN(3) > 0 {
			at += i + r.IntN(min(14, len(text)-at-i))
		}
		end := min(len(text), at+r.IntN(5))
		switch r.IntN(3) {
		case 0:
			text = text[:at] + text[end:]
		case 1:
			text = text[:at] + bits[r.IntN(len(bits))] + text[at:]
		case 2:
			text = text[:at] + bits[r.IntN(len(bits))] + text[end:]
		}
	}
	return strings.ToValidUTF8(text, "")
}

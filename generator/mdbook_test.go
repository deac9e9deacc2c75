package generator

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zoetrope/markdown-view/generator/book"
)

// runMDBook has a real mdBook, which MDBOOK names, build a book as it is laid out for
// the pod, and returns what it prints and whether it succeeds.
func runMDBook(t *testing.T, b book.Book) (string, bool) {
	t.Helper()
	program := os.Getenv("MDBOOK")
	if program == "" {
		t.Skip("MDBOOK names no mdbook program")
	}
	config, err := book.ParseConfig(b.Toml)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := arrange(merged{Book: b}, config)
	for _, e := range files.entries {
		file := filepath.Join(dir, strings.TrimPrefix(files.mountPath(), bookRoot), filepath.FromSlash(e.path))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, e.content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), program, "build", filepath.Join(dir, files.root))
	command.Env = os.Environ()
	for _, variable := range environment(files) {
		if value := *variable.Value; strings.HasPrefix(value, buildFolder) {
			command.Env = append(command.Env, *variable.Name+"="+path.Join(t.TempDir(), value))
		} else {
			command.Env = append(command.Env, *variable.Name+"="+value)
		}
	}
	output, err := command.CombinedOutput()
	return string(output), err == nil
}

// fatalBook is a book of three chapters with something that mdBook may fail at.
type fatalBook struct {
	toml  string
	pages map[string]string // beside SUMMARY.md, a.md, guide/README.md and guide/b.md
	files map[string]string
	// want are the problems, or else the warnings, that start with a "?".
	want []string
}

func (b fatalBook) book() book.Book {
	all := book.Book{Pages: map[string][]byte{}, Files: map[string][]byte{}, Toml: []byte(b.toml)}
	for name, text := range map[string]string{
		"SUMMARY.md": "- [A](a.md)\n- [G](guide/README.md)\n  - [B](guide/b.md)\n- [Draft]()\n", "a.md": "# A\n", "guide/README.md": "", "guide/b.md": "",
	} {
		all.Pages[name] = []byte(text)
	}
	for name, text := range b.pages {
		all.Pages[name] = []byte(text)
	}
	for name, text := range b.files {
		all.Files[name] = []byte(text)
	}
	return all
}

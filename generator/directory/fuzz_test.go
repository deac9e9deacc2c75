package directory

import (
	"io/fs"
	"strings"
	"testing"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// FuzzRead makes a tree of the lines "path=content" and reads the folder "d" of it.
// It looks for panics, for endless walks and for what must never be read.
func FuzzRead(f *testing.F) {
	f.Add("d/a.md=x\nd/b=-> ../s\ns/c.md=y\ns/up=-> ..", "*.txt\n!/b/\n**/x/**")
	f.Add("d/book.toml=book.src = 'p'\nd/p/a.md={{#include ../code/x.rs}}\nd/code/x.rs=-> ../../.git/config", "")
	f.Add("d/book.toml=book.src = '.'\nd/theme/a.css=-> /etc/passwd\nd/book/x=\nd/SUMMARY.md=-> SUMMARY.md", "/theme/")
	f.Add("d=-> e\ne=-> d", "[!a-z]\\ ")
	f.Fuzz(func(t *testing.T, lines, ignore string) {
		files := map[string]string{".git/config": "SECRET"}
		for line := range strings.Lines(lines) {
			p, content, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			if fs.ValidPath(p) && p != "." && !strings.HasPrefix(p, ".git") {
				files[p] = content
			}
		}
		limits := Limits{Files: 50, FileBytes: 1000, BookBytes: 5000, Depth: 8}
		got, err := Read(tree(files), "d", Options{Ignore: ignore, Limits: limits})
		if err != nil && (err.Error() == "" || got.Pages != nil || got.Files != nil) {
			t.Errorf("%v with %v", err, got)
		}
		if len(got.Pages)+len(got.Files) > limits.Files {
			t.Errorf("%d files", len(got.Pages)+len(got.Files))
		}
		for _, some := range []map[string][]byte{got.Pages, got.Files} {
			for p, content := range some {
				if err := v1.ValidatePagePath(p); err != nil {
					t.Errorf("%q: %v", p, err)
				}
				if string(content) == "SECRET" && !strings.Contains(lines, "SECRET") {
					t.Errorf("%q shows git's data", p)
				}
			}
		}
	})
}

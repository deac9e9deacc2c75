//go:build unix

package directory

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These tests show that a real folder behaves as the trees of the other tests do.

// realFolder makes the files in a working directory w; a content that starts with
// "-> " is the target of a link.
func realFolder(t *testing.T, files map[string]string) (dir string, root *os.Root) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "w")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for p, content := range files {
		name := filepath.Join(dir, p)
		target, isLink := strings.CutPrefix(content, "-> ")
		if !isLink {
			writeFile(t, name, content)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, root
}

func TestReadRealFolder(t *testing.T) {
	files := map[string]string{
		"p/book.toml":        "output.html.additional-css = ['css/a.css']",
		"p/src/SUMMARY.md":   "s",
		"p/src/はじめに.md":      "やあ",
		"p/src/README.md":    "-> ../../README.md",
		"p/src/shared":       "-> ../../common/pages",
		"p/src/.git":         "gitdir: x",
		"p/css":              "-> ../styles",
		"README.md":          "r",
		"common/pages/b.png": "\x89PNG\x00",
		"styles/a.css":       "a",
		"l0":                 "-> p",
	}
	// An os.Root follows 8 links.
	for i := range 20 {
		files[fmt.Sprintf("l%d", i+1)] = fmt.Sprintf("-> l%d", i)
	}
	_, root := realFolder(t, files)
	for _, p := range []string{"p", "./l0/", "l20"} {
		got, err := Read(root.FS(), p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		pages := map[string]string{"SUMMARY.md": "s", "はじめに.md": "やあ", "README.md": "r", "shared/b.png": "\x89PNG\x00"}
		if diff := cmp.Diff(pages, texts(got.Pages)); diff != "" {
			t.Errorf("%s: pages: %s", p, diff)
		}
		if diff := cmp.Diff(map[string]string{"css/a.css": "a"}, texts(got.Files)); diff != "" {
			t.Errorf("%s: files: %s", p, diff)
		}
	}
}

func TestReadRealFolderErrors(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		make  func(t *testing.T, dir string)
		dir   string
		want  string
	}{
		"a folder outside": {
			make: func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "..", "docs", "a.md"), "") },
			dir:  "../docs",
			want: "../docs: leads out of the working directory: only folders below it can be read",
		},
		"a missing folder": {
			dir:  "docs",
			want: "docs: no such folder in the working directory: add it, or write its path from there",
		},
		"a file": {
			files: map[string]string{"docs": ""},
			dir:   "docs",
			want:  "docs: is a file, not a folder: name the folder that it is in",
		},
		"a link out to what exists": {
			files: map[string]string{"d/a.md": "-> ../../secret"},
			make:  func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "..", "secret"), "s") },
			dir:   "d",
			want:  `d/a.md: the link d/a.md to "../../secret" leads out of the working directory: put the files themselves there, or ignore the link`,
		},
		"a link to nowhere": {
			files: map[string]string{"d/a.md": "-> b.md"},
			dir:   "d",
			want:  `d/a.md: the link d/a.md to "b.md" leads nowhere: put the files themselves there, or ignore the link`,
		},
		"a link to itself": {
			files: map[string]string{"d/a.md": "-> a.md"},
			dir:   "d",
			want:  `d/a.md: the link d/a.md to "a.md" leads back to itself: put the files themselves there, or ignore the link`,
		},
		"a loop of folders": {
			files: map[string]string{"d/x/a.md": "", "d/x/up": "-> ../../d"},
			dir:   "d",
			want:  "d/x/up: is a link to a folder that it is in itself: remove the link, or ignore it",
		},
		"a pipe, which would block": {
			files: map[string]string{"d/b.md": "-> a.md"},
			make: func(t *testing.T, dir string) {
				if err := syscall.Mkfifo(filepath.Join(dir, "d", "a.md"), 0o644); err != nil {
					t.Fatal(err)
				}
			},
			dir: "d",
			want: `d/a.md: is a named pipe, neither a file nor a folder: remove it, or ignore it
d/b.md: is a named pipe, neither a file nor a folder: remove it, or ignore it`,
		},
		"a socket": {
			files: map[string]string{"d/a.md": ""},
			make: func(t *testing.T, dir string) {
				// A socket's path is short, so its folder is entered.
				t.Chdir(filepath.Join(dir, "d"))
				l, err := net.Listen("unix", "s")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
			},
			dir:  "d",
			want: "d/s: is a socket, neither a file nor a folder: remove it, or ignore it",
		},
		"a file of 2 GiB": {
			files: map[string]string{"d/a.mp4": ""},
			make: func(t *testing.T, dir string) {
				if err := os.Truncate(filepath.Join(dir, "d", "a.mp4"), 2<<30); err != nil {
					t.Fatal(err)
				}
			},
			dir:  "d",
			want: "d/a.mp4: has 2147483648 bytes, a file of a book may have at most 16777216: make it smaller, or ignore it",
		},
		"a name that isn't UTF-8": {
			files: map[string]string{"d/a.md": ""},
			make: func(t *testing.T, dir string) {
				if err := os.WriteFile(filepath.Join(dir, "d", "b\xff.md"), nil, 0o644); err != nil {
					t.Skip(err) // not every file system has such names
				}
			},
			dir:  "d",
			want: `d/b\xff.md: the path must be UTF-8: rename the file`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir, root := realFolder(t, test.files)
			if test.make != nil {
				test.make(t, dir)
			}
			_, err := Read(root.FS(), test.dir, Options{})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, told(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

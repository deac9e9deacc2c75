//go:build linux

package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type objectList = []*unstructured.Unstructured

// files are those of a folder by their path. A link is "->" and its target.
type files map[string]string

// book is a folder, a view of it, and what is to come of it.
type book struct {
	// Files are those of the folder that the function runs in.
	Files files
	// Spec is the view's; by default it takes the directory Folder.
	Spec string
	// Others are further documents, such as ConfigMaps.
	Others string

	// Folder is where mdBook runs, below the folder of the files.
	Folder string
	// Project is the folder that mdBook is run on, if it isn't Files: what the sources of
	// the view come to.
	Project files
	// Src is the source folder where no book.toml names it.
	Src string

	// Warns are parts of what the function warns of, one a warning. Without any, mdBook
	// warns of nothing either.
	Warns []string
	// AnyWarnings says that what is warned of isn't compared: real books have real faults.
	AnyWarnings bool
	// Refused is a part of the function's error. mdBook refuses the book too.
	Refused string
	// Lives says why mdBook doesn't refuse a book or warn of it, though it is of no use.
	Lives string
	// Stays are files of mdBook's site that documented rules keep out of the view.
	Stays []string
	// Comes are files that by documented rules are in the pod's site and not in mdBook's.
	Comes []string
}

func (b book) view() string {
	spec := b.Spec
	if spec == "" {
		folder := b.Folder
		if b.Src != "" {
			folder = filepath.Join(folder, b.Src)
		}
		spec = "contentFrom: [{directory: {path: './" + folder + "'}}]\n"
	}
	spec = strings.TrimSuffix(spec, "\n")
	return "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: book}\nspec:\n  " +
		strings.ReplaceAll(spec, "\n", "\n  ") + "\n" + b.Others
}

// write writes the book's folder.
func (b book) write(t *testing.T) string {
	t.Helper()
	return write(t, b.Files)
}

// write writes files into a new folder.
func write(t *testing.T, all files) string {
	t.Helper()
	folder := newFolder(t, 0o755)
	for name, content := range all {
		file := filepath.Join(folder, filepath.FromSlash(name))
		target, isLink := strings.CutPrefix(content, "->")
		if !isLink {
			writeFile(t, file, content)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, file); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// newFolder makes one for a test, of a mode.
func newFolder(t *testing.T, mode os.FileMode) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(folder, mode); err != nil {
		t.Fatal(err)
	}
	return folder
}

func writeFile(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

package directory

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// openBooks opens the folder with the real books, which a checkout may not have.
func openBooks(t testing.TB) *os.Root {
	t.Helper()
	dir := os.Getenv("MARKDOWN_VIEW_BOOKS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "books")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Skipf("no books: %v", err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// filesBelow reads a folder in the simplest way there is, but for git's settings.
func filesBelow(t *testing.T, root *os.Root, dir string) map[string]string {
	t.Helper()
	sub, err := fs.Sub(root.FS(), dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err = fs.WalkDir(sub, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".gitignore" {
			return err
		}
		content, err := fs.ReadFile(sub, p)
		files[p] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestReadRealBooks(t *testing.T) {
	root := openBooks(t)
	for _, name := range []string{"cluster-api-book", "mdbook-guide"} {
		t.Run(name, func(t *testing.T) {
			want := filesBelow(t, root, name+"/src")
			for _, dir := range []string{name + "/src", "./" + name} {
				got, err := Read(root.FS(), dir, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, texts(got.Pages)); diff != "" {
					t.Errorf("%s: %s", dir, diff)
				}
				if len(got.Files) > 0 {
					t.Errorf("%s: files that aren't pages: %v", dir, len(got.Files))
				}
				if (got.Toml != nil) != (dir == "./"+name) {
					t.Errorf("%s: book.toml has %d bytes", dir, len(got.Toml))
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	root := openBooks(b)
	for _, dir := range []string{"cluster-api-book/src", "mdbook-guide"} {
		b.Run(dir, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				book, err := Read(root.FS(), dir, Options{})
				if err != nil {
					b.Fatal(err)
				}
				var size int64
				for _, content := range book.Pages {
					size += int64(len(content))
				}
				b.SetBytes(size)
			}
		})
	}
}

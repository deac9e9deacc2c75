package links

import (
	"cmp"
	"io/fs"
	"os"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/summary"
)

// realBooks reads the books that are beside the repository, by default, or where
// MARKDOWN_VIEW_BOOKS says; none if there are none.
func realBooks(t testing.TB) map[string]map[string][]byte {
	t.Helper()
	root := os.DirFS(cmp.Or(os.Getenv("MARKDOWN_VIEW_BOOKS"), "../../../shared/books"))
	books := map[string]map[string][]byte{}
	for _, name := range []string{"cluster-api-book", "mdbook-guide"} {
		book, err := fs.Sub(root, name)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		err = fs.WalkDir(book, ".", func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			files[file], err = fs.ReadFile(book, file)
			return err
		})
		if err == nil {
			books[name] = files
		}
	}
	return books
}

func TestRealBooks(t *testing.T) {
	want := map[string][]string{
		"cluster-api-book": {
			"src/introduction.md:61: {{#include ../../../README.md:Community}}: ../../README.md is outside the book, so mdBook leaves this text in the page",
			"src/reference/api/crd-api-reference.md:4458: the link to k8s.io/apimachinery/pkg/apis/meta/v1 leads nowhere: the book has no such file",
			"src/reference/api/crd-api-reference-v1beta1.md:3422: the link to k8s.io/apimachinery/pkg/apis/meta/v1 leads nowhere: the book has no such file",
			"src/code-of-conduct.md:1: {{#include ../../../code-of-conduct.md}}: ../../code-of-conduct.md is outside the book, so mdBook leaves this text in the page",
			"src/CONTRIBUTING.md:1: {{#include ../../../CONTRIBUTING.md}}: ../../CONTRIBUTING.md is outside the book, so mdBook leaves this text in the page",
			"src/REVIEWING.md:1: {{#include ../../../REVIEWING.md}}: ../../REVIEWING.md is outside the book, so mdBook leaves this text in the page",
		},
		"mdbook-guide": {
			"src/for_developers/preprocessors.md:42: {{#include ../../../examples/nop-preprocessor.rs}}: ../examples/nop-preprocessor.rs is outside the book, so mdBook leaves this text in the page",
			"src/for_developers/preprocessors.md:69: {{#rustdoc_include ../../../examples/remove-emphasis/mdbook-remove-emphasis/src/main.rs:remove_emphasis}}: " +
				"../examples/remove-emphasis/mdbook-remove-emphasis/src/main.rs is outside the book, so mdBook leaves this text in the page",
		},
	}
	for name, files := range realBooks(t) {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, w := range Check(files, "src", load(t, files), Options{}) {
				got = append(got, w.String())
			}
			if diff := gocmp.Diff(want[name], got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func BenchmarkRealBooks(b *testing.B) {
	for name, files := range realBooks(b) {
		s, err := summary.Load(files, "src")
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			size := 0
			for _, content := range files {
				size += len(content)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				Check(files, "src", s, Options{})
			}
		})
	}
}

func BenchmarkTinyBook(b *testing.B) {
	files := map[string][]byte{"SUMMARY.md": []byte("# S\n\n- [A](a.md)\n- [B](b.md)\n"), "a.md": []byte("# A\n\n[B](b.md)\n"), "b.md": []byte("# B\n\n[A](a.md)\n")}
	b.ReportAllocs()
	for b.Loop() {
		s, err := summary.Load(files, "")
		if err != nil {
			b.Fatal(err)
		}
		Check(files, "", s, Options{})
	}
}

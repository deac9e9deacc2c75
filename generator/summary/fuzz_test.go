package summary

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

func FuzzParse(f *testing.F) {
	f.Add("")
	f.Add("# Summary\n\n[Intro](intro.md)\n\n# Part\n\n- [A](a.md)\n  - [B](<b c.md>)\n- [D]()\n\n---\n\n[End](end%20.md)\n")
	f.Add("- [A][a]\r\n\t- - <https://x.y>\r\n\r\n[a]: b.md 'c'\r\n    \r\n")
	f.Add("> - **x**\n\n<!-- c --> </ a>\n<!d\n```\t\n[![a](b)](c\\)&amp;#&#x41;)\n- x")
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		f.Add(mutate(r, randomSummary(r)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse([]byte(text))
		again, errAgain := Parse([]byte(text))
		if diff := gocmp.Diff(outline(s), outline(again)); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Errorf("two readings differ: %s\n%v\n%v", diff, err, errAgain)
		}
		last := strings.Count(text, "\n") + 1
		for c := range s.Chapters() {
			if c.Line < 1 || c.Line > last {
				t.Errorf("chapter %q is in line %d of %d", c.Name, c.Line, last)
			}
		}
		for _, c := range s.Ignored {
			if c.Line < 1 || c.Line > last || c.Draft() && c.HTML() != "" {
				t.Errorf("ignored link %q is in line %d of %d", c.Name, c.Line, last)
			}
		}
		files := map[string][]byte{"SUMMARY.md": []byte(text), "a.md": nil, "d/b.md": nil}
		_, loadErr := Load(files, "")
		if err != nil && loadErr == nil {
			t.Errorf("Load forgets %v", err)
		}
		faults := diagnostic.FromError(loadErr)
		for i, fault := range faults {
			if fault.Line < 0 || fault.Line > last || fault.Message == "" {
				t.Errorf("fault %d is in line %d of %d: %s", i, fault.Line, last, fault.Message)
			}
		}
	})
}

// readBook reads the src folder of a book beside the repository, by default, or
// where MARKDOWN_VIEW_BOOKS says.
func readBook(t testing.TB, name string) map[string][]byte {
	t.Helper()
	root := filepath.Join(cmp.Or(os.Getenv("MARKDOWN_VIEW_BOOKS"), "../../../shared/books"), name, "src")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no such book")
	}
	files := map[string][]byte{}
	err := filepath.WalkDir(root, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestRealBooks(t *testing.T) {
	for name, want := range map[string]int{"cluster-api-book": 126, "mdbook-guide": 32} {
		t.Run(name, func(t *testing.T) {
			files := readBook(t, name)
			s, err := Load(files, "")
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			for range s.Chapters() {
				got++
			}
			// A link of SUMMARY.md is a line of its own in these books.
			if links := bytes.Count(files[FileName], []byte("](")); got != want || got != links || len(s.Ignored) > 0 {
				t.Errorf("%d chapters of %d links, want %d; ignored: %v", got, links, want, s.Ignored)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	books := map[string]func(testing.TB) map[string][]byte{
		"cluster-api-book": func(t testing.TB) map[string][]byte { return readBook(t, "cluster-api-book") },
		"tiny": func(testing.TB) map[string][]byte {
			return map[string][]byte{FileName: []byte("# Summary\n\n- [A](a.md)\n- [B](b.md)\n"), "a.md": []byte("# A\n"), "b.md": []byte("# B\n")}
		},
	}
	for name, book := range books {
		b.Run(name, func(b *testing.B) {
			files := book(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Load(files, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

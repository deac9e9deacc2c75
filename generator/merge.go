package generator

import (
	"fmt"
	"maps"
	"slices"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// Content is what one entry of a view's contentFrom names.
type Content struct {
	// Field is the path of the field that names it, such as
	// spec.contentFrom[0].directory.
	Field string
	// Book holds its pages, and for an mdBook project its files and book.toml.
	Book book.Book
}

// Fields of a view.
const (
	specField      = "spec"
	markdownsField = "spec.markdowns"
	bookTomlField  = "spec.bookToml"
)

// merged is a view's book, put together from all that it names.
type merged struct {
	book.Book
	// origin are the fields of the view that its parts came from.
	origin origin
	// contents are what it was put together from, beside the view's own.
	contents []Content
}

// origin holds fields of a view.
type origin struct {
	pages, files map[string]string // by the paths of the book's Pages and Files
	toml         string
}

// merge puts a view's book together: a later content wins over an earlier one, what
// stands in the view itself wins over all.
func merge(view *v1.MarkdownView, contents []Content) (merged, diagnostic.List) {
	m := merged{
		Book:     book.Book{Pages: map[string][]byte{}, Files: map[string][]byte{}},
		origin:   origin{pages: map[string]string{}, files: map[string]string{}, toml: specField},
		contents: contents,
	}
	for _, content := range contents {
		m.add(content)
	}
	for path, text := range view.Spec.Markdowns {
		m.Pages[path], m.origin.pages[path] = []byte(text), markdownsField
	}
	if view.Spec.BookToml != "" {
		m.Toml, m.origin.toml = []byte(view.Spec.BookToml), bookTomlField
	}
	return m, checkNames(contents)
}

func (m *merged) add(content Content) {
	for path, text := range content.Book.Pages {
		m.Pages[path], m.origin.pages[path] = text, content.Field
	}
	for path, text := range content.Book.Files {
		m.Files[path], m.origin.files[path] = text, content.Field
	}
	m.Folders = append(m.Folders, content.Book.Folders...)
	if content.Book.Toml != nil {
		m.Toml, m.Root, m.origin.toml = content.Book.Toml, content.Book.Root, content.Field
	}
}

// checkNames finds paths that no file of a book can have. Those of inline pages are
// checked with the view itself.
func checkNames(contents []Content) diagnostic.List {
	var found diagnostic.List
	for _, content := range contents {
		check := func(paths []string, validate func(string) error) {
			for _, path := range paths {
				if err := validate(path); err != nil {
					found = append(found, Problem{Field: content.Field, Message: fmt.Sprintf("file name %.120q: %v", path, err)})
				}
			}
		}
		check(slices.Sorted(maps.Keys(content.Book.Pages)), v1.ValidatePagePath)
		check(slices.Sorted(maps.Keys(content.Book.Files)), book.ValidatePath)
	}
	return found
}

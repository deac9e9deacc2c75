package generator

import (
	"fmt"
	"maps"
	"slices"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
)

// Content is what one entry of a view's contentFrom names.
type Content struct {
	// Field is the path of the field that names it, such as
	// spec.contentFrom[0].directory.
	Field string
	// Book holds its pages, and for an mdBook project its files and book.toml.
	Book book.Book
}

// markdownsField is where inline pages stand.
const markdownsField = "spec.markdowns"

// merge puts a view's pages together: a later content wins over an earlier one,
// inline pages win over all.
func merge(view *v1.MarkdownView, contents []Content) (book.Book, []Problem) {
	merged := book.Book{Pages: map[string][]byte{}, Files: map[string][]byte{}}
	for _, content := range contents {
		maps.Copy(merged.Pages, content.Book.Pages)
		maps.Copy(merged.Files, content.Book.Files)
		merged.Folders = append(merged.Folders, content.Book.Folders...)
		if content.Book.Toml != nil {
			merged.Toml, merged.Root = content.Book.Toml, content.Book.Root
		}
	}
	for path, text := range view.Spec.Markdowns {
		merged.Pages[path] = []byte(text)
	}
	if view.Spec.BookToml != "" {
		merged.Toml = []byte(view.Spec.BookToml)
	}

	// The paths of inline pages are checked with the view itself.
	var problems []Problem
	for _, content := range contents {
		check := func(paths []string, validate func(string) error) {
			for _, path := range paths {
				if err := validate(path); err != nil {
					problems = append(problems, Problem{Field: content.Field, Message: fmt.Sprintf("file name %.120q: %v", path, err)})
				}
			}
		}
		check(slices.Sorted(maps.Keys(content.Book.Pages)), v1.ValidatePagePath)
		check(slices.Sorted(maps.Keys(content.Book.Files)), book.ValidatePath)
	}
	return merged, problems
}

// fieldOf returns the field of the view that a page came from.
func fieldOf(view *v1.MarkdownView, contents []Content, page string) string {
	if _, ok := view.Spec.Markdowns[page]; ok {
		return markdownsField
	}
	for _, content := range slices.Backward(contents) {
		if _, ok := content.Book.Pages[page]; ok {
			return content.Field
		}
		if _, ok := content.Book.Files[page]; ok {
			return content.Field
		}
	}
	return "spec"
}

// tomlFieldOf returns the field of the view that book.toml came from.
func tomlFieldOf(view *v1.MarkdownView, contents []Content) string {
	if view.Spec.BookToml != "" {
		return "spec.bookToml"
	}
	for _, content := range slices.Backward(contents) {
		if content.Book.Toml != nil {
			return content.Field
		}
	}
	return "spec"
}

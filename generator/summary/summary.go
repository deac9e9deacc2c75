// Package summary reads SUMMARY.md, the file that lists a book's chapters, as
// mdBook 0.5.4 reads it, and checks it against the book's files: what passes
// here, mdBook builds; what fails here would fail (or serve nothing) there.
//
// The package is pure: bytes in, chapters and errors out. It may import
// goldmark and the standard library only.
package summary

import (
	"iter"
	"path"
)

// FileName is the file's name in the book's src folder. mdBook knows no other.
const FileName = "SUMMARY.md"

// Summary is a parsed SUMMARY.md, in mdBook's own terms.
type Summary struct {
	// Title is the text of the first heading, if the file begins with one of
	// level 1. mdBook ignores it.
	Title string
	// Prefix holds the chapters before the first list, without numbers.
	Prefix []Item
	// Numbered holds the lists, and the titles of the parts between them.
	Numbered []Item
	// Suffix holds the chapters after the last list, without numbers.
	Suffix []Item
	// Ignored holds the links that mdBook passes over without a word, in the
	// order of their lines: the second link of a list item, links in headings,
	// in quotes, or in a paragraph right after the title of a part.
	Ignored []*Chapter
	// Code is the line in which the first block of code begins; 0 if there is none.
	Code int
}

// Kind tells what an Item is.
type Kind int

// The kinds of items, as in mdBook's SummaryItem.
const (
	Link      Kind = iota // a chapter: Item.Chapter is set
	Separator             // a line between chapters (---)
	PartTitle             // a heading above the following chapters: Item.Title is set
)

// Item is an entry on the top level.
type Item struct {
	Kind    Kind
	Title   string
	Chapter *Chapter
}

// Chapter is a link to a page, or a draft that has no page yet.
type Chapter struct {
	// Name is the link's text without any markup.
	Name string
	// Location is the link's destination as mdBook takes it for a file's path
	// below src: only %20 is decoded. Empty for a draft.
	Location string
	// Line of the link in SUMMARY.md; the first is 1.
	Line int
	// Nested chapters, one level further in.
	Nested []*Chapter
}

// Draft reports whether the chapter is a title without a page: mdBook lists it
// and renders nothing.
func (c *Chapter) Draft() bool {
	return c.Location == ""
}

// Path is the chapter's file relative to src, without `.`, `..` and doubled
// slashes; it begins with `../` or `/` if it leads out of src. Empty for a draft.
func (c *Chapter) Path() string {
	if c.Draft() {
		return ""
	}
	return path.Clean(c.Location)
}

// Chapters yields every chapter, drafts included, in the order in which mdBook
// shows them: prefix, numbered with each one's nested chapters after it, suffix.
func (s *Summary) Chapters() iter.Seq[*Chapter] {
	return func(yield func(*Chapter) bool) {
		for _, items := range [][]Item{s.Prefix, s.Numbered, s.Suffix} {
			for _, item := range items {
				if item.Kind == Link && !item.Chapter.walk(yield) {
					return
				}
			}
		}
	}
}

func (c *Chapter) walk(yield func(*Chapter) bool) bool {
	if !yield(c) {
		return false
	}
	for _, nested := range c.Nested {
		if !nested.walk(yield) {
			return false
		}
	}
	return true
}

// Load finds SUMMARY.md among the book's files, parses and checks it. Files are
// those of Check. On a fault the error is a [diagnostic.List] and holds all of them;
// the Summary is what could be read, and nil only if there is no SUMMARY.md.
func Load(files map[string][]byte, src string) (*Summary, error) {
	name := path.Join(src, FileName)
	text, ok := files[name]
	if !ok {
		return nil, missingSummary(files, src).err()
	}
	s, errs := parse(text)
	t := newTree(files, src)
	chapters := s.checkChapters(t)
	if len(errs) == 0 {
		// A fault may have hidden the chapters; then there being none is no news.
		chapters = append(chapters, s.checkFront()...)
	}
	return s, append(errs, chapters...).err()
}

// Package memory estimates the most memory that mdBook 0.5.4 takes to build a book.
//
// What mdBook holds isn't the text itself but what it makes of it: a tree of HTML nodes
// for every page, and above all the search index, a tree of letters in which each node
// and each place where a word stands costs hundreds of bytes and more. So a list of two
// thousand commits takes more than a novel. All that is counted, in the pages with what
// they include; docs/markdownview.md has what was measured.
//
// The package is pure: bytes in, numbers out. It may import the standard library only.
package memory

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// What each costs, in bytes, as it was measured with the program in the default viewer
// image, which is linked with musl: with glibc it takes up to a tenth less. Each was
// measured in a book of hardly anything else.
const (
	costBase    = 14 << 20
	costByte    = 12   // of the pages
	costBlock   = 330  // a line that may be an element of its own, of a list say
	costMark    = 285  // a character that may begin or end an element
	costLink    = 400  // in addition to its marks
	costImage   = 2600 // likewise
	costNote    = 4000 // an admonition: it has an icon
	costSection = 1500 // a document of the search index
	costPlace   = 900  // a word in a section
	costLetter  = 2600 // a node of the search index
	costWord    = 60   // of the longest section, which is cut into words
	costChapter = 3500 // in the table of contents
	costName    = 150  // of a chapter that another is nested in
	costStatic  = 2    // each byte of a theme, style sheet or script
)

// Counter counts what takes memory in a book. The zero value is an empty book.
type Counter struct {
	// NoIndex says that there is no search index.
	NoIndex bool

	chapters, names, statics            int64
	bytes                               int64
	blocks, marks, links, images, notes int64
	sections, places                    int64
	words, longest                      int64 // of the present section, and of the longest
	// The fields of the search index: the headings, the text, and the titles that lead to
	// it.
	headings, bodies, paths field
}

// field is one of the search index: its words, each with the last section that it was
// counted in.
type field map[string]int64

// Pages returns the bytes of all pages that were counted, with what they include.
func (c *Counter) Pages() int64 { return c.bytes }

// Bytes returns the most memory that mdBook takes for what was counted.
func (c *Counter) Bytes() int64 {
	return costBase + costByte*c.bytes +
		costBlock*c.blocks + costMark*c.marks + costLink*c.links + costImage*c.images + costNote*c.notes +
		costChapter*c.chapters + costName*c.names + costStatic*c.statics +
		c.Index()
}

// Index returns what the search index takes of it.
func (c *Counter) Index() int64 {
	if c.NoIndex {
		return 0
	}
	letters := c.headings.letters() + c.bodies.letters() + c.paths.letters()
	return costSection*c.sections + costPlace*c.places + costLetter*letters + costWord*max(c.longest, c.words)
}

// Chapter counts an entry of the table of contents, a draft perhaps, that is nested in so
// many others.
func (c *Counter) Chapter(depth int) {
	c.chapters++
	c.names += int64(depth)
}

// Chapters returns how many entries the table of contents has.
func (c *Counter) Chapters() int64 { return c.chapters }

// Static counts a file that mdBook reads to change it: one of the theme, a style sheet, a
// script. Others are copied, and take none.
func (c *Counter) Static(bytes int) { c.statics += int64(bytes) }

// letters counts the nodes of the tree of letters that mdBook makes of the words.
func (f field) letters() int64 {
	words := make([]string, 0, len(f))
	for word := range f {
		words = append(words, word)
	}
	slices.Sort(words)
	var letters int64
	last := ""
	for _, word := range words {
		letters += int64(utf8.RuneCountInString(word[shared(last, word):]))
		last = word
	}
	return letters
}

// shared is the length of what two words begin with.
func shared(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// add counts the words of a text in a field, and returns how many the present section
// hadn't yet.
func (c *Counter) add(f field, text string, code bool) int64 {
	var added int64
	for len(text) > 0 {
		var word string
		word, text = cutWord(text, code)
		for part := range indexed(word) {
			if part = strings.TrimFunc(part, isTrimmed); part == "" {
				continue
			}
			c.words++
			if f[part] != c.sections {
				f[part] = c.sections
				added++
			}
		}
	}
	return added
}

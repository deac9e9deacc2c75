// Package book says what a book is to mdBook: the pages of its source folder,
// the files beside it, and book.toml. It is pure: it reads bytes that it is
// given and touches neither file system nor network.
package book

import (
	"fmt"
	"strings"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// SummaryPath is the page that lists a book's chapters.
const SummaryPath = "SUMMARY.md"

// Limits of a book. What exceeds one is an error, never cut off.
const (
	// MaxFileBytes is the most that one page or file may hold, in bytes.
	MaxFileBytes = 16 << 20
	// MaxBookBytes is the most that all files of a book may hold together, in
	// bytes.
	MaxBookBytes = 32 << 20
	// MaxFiles is the most files of a book: each is one entry in the pod's
	// volume, and a Deployment has to fit into one etcd value.
	MaxFiles = 5000
	// MaxAscent is the most folders that a file may be above the book's root.
	MaxAscent = 32
)

// Book is what mdBook reads. The zero value is an empty book.
type Book struct {
	// Pages are the files of the source folder, images included: slash-separated
	// path below that folder → bytes.
	Pages map[string][]byte
	// Files are the files outside of the source folder, such as a theme:
	// slash-separated path from the book's root → bytes. It begins with ../ where
	// the file is beside the root. book.toml isn't among them.
	Files map[string][]byte
	// Included are the paths of those files that are there only because pages include
	// them.
	Included []string
	// Folders have to exist beside those that the files are in, because a path leads
	// through them and out again, as assets/../css/x.css does. Paths are as those of
	// Files.
	Folders []string
	// Root is the path of the book's root below the folder that files may be taken
	// from; "" when they are the same, or when it isn't known.
	Root string
	// Toml is the text of book.toml; nil means that there is none and mdBook's
	// defaults hold.
	Toml []byte
}

// Ascent is how many folders up a clean path begins: 2 for ../../x.css.
func Ascent(p string) int {
	up := 0
	for element := range strings.SplitSeq(p, "/") {
		if element != ".." {
			break
		}
		up++
	}
	return up
}

// ValidatePath reports why a clean path can't be one of [Book.Files], as the end of a
// sentence that begins with the path.
func ValidatePath(p string) error {
	if Ascent(p) > MaxAscent {
		return fmt.Errorf("may lead at most %d folders up: move the file nearer to the book", MaxAscent)
	}
	for strings.HasPrefix(p, "../") {
		p = p[len("../"):]
	}
	return v1.ValidatePagePath(p)
}

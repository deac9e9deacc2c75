package v1

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a page's path, in bytes.
const (
	// MaxPathBytes is the most that a whole path may have.
	MaxPathBytes = 1024
	// MaxPathElementBytes is the most that one element of a path may have. File
	// systems hold 255; mdBook turns page.md into page.html and adds a hash to
	// static files.
	MaxPathElementBytes = 240
)

// ValidatePagePath checks that p can name a file in a book's source folder: relative,
// clean and slash-separated, without "..", as a ConfigMap volume's items demand, and
// printable, so that two names that look the same are the same. It returns nil
// for a good path, and otherwise an error that says what to change; the error
// doesn't repeat the path.
func ValidatePagePath(p string) error {
	switch {
	case p == "":
		return errors.New("must not be empty: name a file such as guide/intro.md")
	case !utf8.ValidString(p):
		return errors.New("must be UTF-8: rename the file")
	case strings.ContainsFunc(p, notPrintable):
		return errors.New("must not contain control or invisible formatting characters: rename the file")
	case strings.Contains(p, `\`):
		return errors.New(`must not contain a backslash: use "/" between folders`)
	case strings.HasPrefix(p, "/"):
		return errors.New(`must be relative: drop the leading "/"`)
	case hasElement(p, ".."):
		return errors.New(`must not contain "..": only files of the book itself can be pages`)
	case path.Clean(p) == ".":
		return errors.New("must name a file such as guide/intro.md, not a folder")
	case path.Clean(p) != p:
		return fmt.Errorf("must be clean: write %q", path.Clean(p))
	case len(p) > MaxPathBytes:
		return fmt.Errorf("must have at most %d bytes, has %d: use fewer folders or shorter names", MaxPathBytes, len(p))
	}
	for element := range strings.SplitSeq(p, "/") {
		if len(element) > MaxPathElementBytes {
			return fmt.Errorf("each file or folder name must have at most %d bytes, %.16q… has %d: shorten it", MaxPathElementBytes, element, len(element))
		}
	}
	return nil
}

// ValidateVolumePath checks that p can be the path of a file in a mounted ConfigMap: as
// [ValidatePagePath], and the first name must not start with "..".
func ValidateVolumePath(p string) error {
	err := ValidatePagePath(p)
	if err == nil && strings.HasPrefix(p, "..") {
		return errors.New(`must not start with "..": Kubernetes keeps such names in a mounted ConfigMap for itself`)
	}
	return err
}

func hasElement(p, element string) bool {
	for e := range strings.SplitSeq(p, "/") {
		if e == element {
			return true
		}
	}
	return false
}

// notPrintable finds control characters and those that change how the text
// around them looks, such as a right-to-left override. The joiners are left
// alone: emoji and several scripts need them.
func notPrintable(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	return r != zeroWidthNonJoiner && r != zeroWidthJoiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

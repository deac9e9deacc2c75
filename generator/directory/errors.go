package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// Fields of a source that a problem may be in.
const (
	pathField   = "path"
	ignoreField = "ignore"
)

const maxFileErrors = 10

// fail notes an error about a path below the folder, "" for the folder itself.
func (r *reader) fail(rel string, line int, message string) {
	if len(r.errs) == maxFileErrors {
		r.more++
		return
	}
	p := r.name
	switch {
	case book.Ascent(rel) > 0:
		p = path.Join(p, rel)
	case rel != "":
		p += "/" + rel
	}
	r.errs = append(r.errs, diagnostic.Problem{Field: pathField, File: printable(p), Line: line, Message: message})
}

func (r *reader) failf(rel, format string, args ...any) {
	r.fail(rel, 0, fmt.Sprintf(format, args...))
}

// failRead notes an error of the file system.
func (r *reader) failRead(rel string, err error) {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	r.failf(rel, "can't be read: %v", err)
}

// err returns the first errors, and how many others there are; more may follow when these
// are fixed.
func (r *reader) err() error {
	all := r.errs
	if r.more > 0 {
		all = append(slices.Clip(all), diagnostic.Problem{Field: pathField, Count: r.more, Message: fmt.Sprintf("%d more files or folders have faults", r.more)})
	}
	return all.Err()
}

// printable escapes a path that would spoil a line of text.
func printable(p string) string {
	if utf8.ValidString(p) && !strings.ContainsFunc(p, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return p
	}
	quoted := strconv.Quote(p)
	return quoted[1 : len(quoted)-1]
}

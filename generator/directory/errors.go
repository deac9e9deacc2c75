package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zoetrope/markdown-view/generator/book"
)

// FileError is what is wrong with one file or folder.
type FileError struct {
	// Path starts with the folder's path as it was given, such as ./docs/a.md. It
	// can be printed: characters that can't are escaped.
	Path string
	// Line of the file, from 1; 0 when it is about the whole file.
	Line int
	// Message says what is wrong and what to do.
	Message string
}

// Error gives the error as path:line: message.
func (e FileError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Message)
	}
	return e.Path + ": " + e.Message
}

// Error is what is wrong with a folder.
type Error struct {
	// Files are the first 10 errors, at least one.
	Files []FileError
	// More is how many others there are; more may follow when these are fixed.
	More int
}

// Error lists the errors, one a line.
func (e *Error) Error() string {
	var b strings.Builder
	for i, f := range e.Files {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.Error())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\nand %d more", e.More)
	}
	return b.String()
}

// IgnoreError says that a pattern of [Options.Ignore] can't be read.
type IgnoreError struct {
	// Line of the pattern, from 1.
	Line int
	// Message says what is wrong.
	Message string
}

// Error gives the error as line n: message.
func (e *IgnoreError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

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
	r.errs = append(r.errs, FileError{Path: printable(p), Line: line, Message: message})
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

func (r *reader) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	return &Error{Files: r.errs, More: r.more}
}

// printable escapes a path that would spoil a line of text.
func printable(p string) string {
	if utf8.ValidString(p) && !strings.ContainsFunc(p, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return p
	}
	quoted := strconv.Quote(p)
	return quoted[1 : len(quoted)-1]
}

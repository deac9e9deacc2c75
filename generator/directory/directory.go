// Package directory reads a book from a folder: one of pages, or a whole mdBook
// project. It knows no file system but the [fs.FS] that it is handed, and trusts
// nothing in it: links are followed only as far as that file system, and limits
// hold before anything is read.
package directory

import (
	"cmp"
	"io/fs"
	"path"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
)

// Options say what is read. The zero value reads all of a folder that fits into a
// book.
type Options struct {
	// Ignore names what to leave out: one pattern a line, read as git reads a
	// .gitignore in the folder, and after [DefaultIgnore], so that "!" brings back
	// what that leaves out. .git is always left out.
	//
	// A .gitignore among the files is a file like any other: mdBook doesn't obey
	// it either, git itself doesn't for what was committed, and which pages a book
	// has must not depend on files outside of the folder.
	Ignore string
	// BookToml is the book.toml that the book is served with, in place of a project's
	// own; nil or empty means that there is none.
	BookToml []byte
	// Base says what the folder's path is relative to, for messages; "" means the
	// working directory.
	Base string
	// Limits of what is read.
	Limits Limits
}

// Limits of a folder. Zero in a field means the default that it names.
type Limits struct {
	// Files is the most files, book.toml aside; [book.MaxFiles].
	Files int
	// FileBytes is the most bytes of one file; [book.MaxFileBytes].
	FileBytes int64
	// BookBytes is the most bytes of all files together; [book.MaxBookBytes].
	BookBytes int64
	// Depth is the most folders that a file may be in; 32.
	Depth int
	// Entries is the most files and folders that are looked at, ignored ones
	// included; 20 times Files.
	Entries int
}

func (l Limits) orDefault() Limits {
	l.Files = cmp.Or(l.Files, book.MaxFiles)
	l.FileBytes = cmp.Or(l.FileBytes, book.MaxFileBytes)
	l.BookBytes = cmp.Or(l.BookBytes, book.MaxBookBytes)
	l.Depth = cmp.Or(l.Depth, 32)
	l.Entries = cmp.Or(l.Entries, 20*l.Files)
	return l
}

// Read returns the book in the folder dir of fsys, a slash-separated path, with the
// bytes of its files as they are.
//
// A folder with a book.toml, unless that is ignored, is a whole mdBook project: the
// files of its source folder are the pages; its theme, the additional style sheets
// and scripts, and what pages include from elsewhere are the files, also those outside
// of the folder; its build folder and anything else stay behind. Any other folder is
// the source folder itself, and what its pages include from outside comes along.
//
// A link is followed to a file or folder in fsys. Only regular files are opened, so
// that nothing blocks. fsys should be that of an [os.Root], which keeps links from
// leading out even when they change meanwhile; for the messages about links it
// implements [fs.ReadLinkFS], as those do.
//
// The error is a [diagnostic.List]. Its fields are those of the source, path and ignore, and
// its files begin with the folder's path as it was given, such as ./docs/a.md; what can't be
// printed of them is escaped.
func Read(fsys fs.FS, dir string, opts Options) (book.Book, error) {
	ignore, err := parseIgnore(opts.Ignore)
	if err != nil {
		return book.Book{}, err
	}
	r := &reader{
		fsys:   fsys,
		name:   strings.TrimRight(dir, "/"),
		base:   cmp.Or(opts.Base, "the working directory"),
		ignore: ignore,
		limits: opts.Limits.orDefault(),
	}
	if !r.openFolder(dir) {
		return book.Book{}, r.err()
	}
	b := r.readBook(opts.BookToml)
	if err := r.err(); err != nil {
		return book.Book{}, err
	}
	return b, nil
}

// openFolder finds the folder to read.
func (r *reader) openFolder(dir string) bool {
	clean := path.Clean(dir)
	switch {
	case dir == "":
		r.name = `""`
		r.failf("", "must name a folder, such as ./docs")
		return false
	case path.IsAbs(dir):
		r.name = dir
		r.failf("", `must be relative to %s: drop the leading "/"`, r.base)
		return false
	case clean == "..", strings.HasPrefix(clean, "../"):
		r.failf("", "leads out of %s: only folders below it can be read", r.base)
		return false
	case strings.Contains(dir, `\`):
		r.failf("", `must not contain a backslash: use "/" between folders`)
		return false
	case !fs.ValidPath(clean), strings.Contains(dir, "\x00"):
		r.failf("", "must be UTF-8 without NUL")
		return false
	}
	real, info, err := r.resolve(".", clean)
	switch {
	case err != nil:
		r.failResolve("", err)
		return false
	case !info.IsDir():
		r.failf("", "is a file, not a folder: name the folder that it is in")
		return false
	}
	r.root = real
	return true
}

// readBook reads the book in the reader's folder. What goes wrong is in the
// reader's errors.
func (r *reader) readBook(finalToml []byte) book.Book {
	text, isProject := r.readToml()
	switch {
	case len(r.errs) > 0:
		return book.Book{}
	case isProject:
		return r.readProject(text, finalToml)
	}
	return r.readPages(finalToml)
}

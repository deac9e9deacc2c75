package directory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/zoetrope/markdown-view/generator/book"
)

// readToml reads the book.toml in the folder; ok reports whether there is one.
func (r *reader) readToml() (text []byte, ok bool) {
	if r.ignore.ignores(book.ConfigPath, false) {
		return nil, false
	}
	real, info, err := r.resolve(r.root, book.ConfigPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		r.failResolve(book.ConfigPath, err)
		return nil, false
	case !info.Mode().IsRegular():
		return nil, false
	case info.Size() > book.MaxConfigBytes:
		r.fail(book.ConfigPath, 0, book.TooLarge(info.Size()))
		return nil, false
	}
	text, err = r.readFile(file{real: real}, book.MaxConfigBytes)
	if err != nil {
		r.failRead(book.ConfigPath, err)
		return nil, false
	}
	return text, true
}

// fit reports whether files can be read: nothing was wrong with them, and together
// they fit into a book.
func (r *reader) fit(files []file) bool {
	var total int64
	for _, f := range files {
		total += f.size
	}
	if total > r.limits.BookBytes {
		r.failf("", "its files have %d bytes together, a book may have at most %d: ignore some, or make several books of it; the largest are %s", total, r.limits.BookBytes, largest(files))
	}
	return len(r.errs) == 0
}

// readFiles reads files, and returns them by their path below the folder top.
func (r *reader) readFiles(files []file, top string) map[string][]byte {
	contents := make(map[string][]byte, len(files))
	for _, f := range files {
		if r.full {
			break
		}
		if content, ok := r.readCounted(f); ok {
			contents[within(top, f.rel)] = content
		}
	}
	return contents
}

// readCounted reads a file unless the book is full.
func (r *reader) readCounted(f file) ([]byte, bool) {
	content, err := r.readFile(f, r.limits.FileBytes)
	if r.bytes += int64(len(content)); err == nil && r.bytes > r.limits.BookBytes {
		r.full = true
		err = fmt.Errorf("with it, the files have more than %d bytes, the most that a book may have: ignore some, or make several books of it", r.limits.BookBytes)
	}
	if err != nil {
		r.failRead(f.rel, err)
		return nil, false
	}
	return content, true
}

var (
	errGrew       = errors.New("it grew while it was read: try again when it is written")
	errNotRegular = errors.New("it is no longer a regular file: try again when it is written")
)

// readFile reads a file of at most limit bytes into as much memory as it takes.
func (r *reader) readFile(f file, limit int64) ([]byte, error) {
	opened, err := r.fsys.Open(f.real)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	// One byte more than its size, so that its end is seen without growing.
	content := make([]byte, 0, min(info.Size(), limit)+1)
	for {
		n, err := opened.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		switch {
		case int64(len(content)) > limit:
			return nil, errGrew
		case errors.Is(err, io.EOF):
			return content, nil
		case err != nil:
			return nil, err
		case len(content) == cap(content):
			content = append(content, 0)[:len(content)]
		}
	}
}

package directory

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// reader reads one folder.
type reader struct {
	fsys   fs.FS
	name   string // the folder's path as it was given
	base   string // what it is relative to
	root   string // its path in fsys, without a link
	ignore patterns
	limits Limits

	files   int   // found
	entries int   // looked at
	bytes   int64 // read

	errs diagnostic.List
	more int
	full bool // a limit that ends the search was exceeded
}

// file is a file that was found.
type file struct {
	rel  string // path below the folder
	real string // path in fsys, without a link
	size int64
	mode fs.FileMode // of one that was looked up by its path
}

// entry is one name in a folder.
type entry struct {
	name string
	mode fs.FileMode
	size int64
}

// walk finds the files below the folder real, whose path below the reader's folder
// is rel, in the order of their names. Their paths are to be good ones below top.
// skip, unless nil, says what else to leave out.
func (r *reader) walk(real, rel, top string, skip func(rel string) bool) []file {
	w := walker{reader: r, top: top, skip: skip}
	w.folder(real, rel, []string{real})
	return w.found
}

type walker struct {
	*reader
	top   string
	skip  func(rel string) bool
	found []file
}

// folder walks one folder; active are the folders, without a link, that the walk is
// in.
func (w *walker) folder(real, rel string, active []string) {
	if len(active)-1 > w.limits.Depth {
		w.failf(rel, "is more than %d folders deep: move it up, or ignore it", w.limits.Depth)
		return
	}
	for _, e := range w.list(real, rel) {
		if w.full {
			return
		}
		below := path.Join(rel, e.name)
		if w.skip != nil && w.skip(below) {
			continue
		}
		if err := book.ValidatePath(within(w.top, below)); err != nil {
			w.failf(below, "the path %v", err)
			continue
		}
		next := file{rel: below, real: path.Join(real, e.name), size: e.size}
		mode := e.mode
		if mode.Type() == fs.ModeSymlink {
			target, info, err := w.resolve(real, e.name)
			if err != nil {
				w.failResolve(below, err)
				continue
			}
			if info.IsDir() && isIn(active, target) {
				w.failf(below, "is a link to a folder that it is in itself: remove the link, or ignore it")
				continue
			}
			next.real, next.size, mode = target, info.Size(), info.Mode()
		}
		if mode.IsDir() {
			w.folder(next.real, below, append(active[:len(active):len(active)], next.real))
		} else if w.accept(next, mode) {
			w.found = append(w.found, next)
		}
	}
}

// within returns the path below the folder top, "" for the reader's own, of a path
// that is in it.
func within(top, rel string) string {
	return strings.TrimPrefix(strings.TrimPrefix(rel, top), "/")
}

// isIn reports whether one of the active folders is target or below it.
func isIn(active []string, target string) bool {
	return target == "." || slices.ContainsFunc(active, func(a string) bool {
		return a == target || strings.HasPrefix(a, target+"/")
	})
}

// accept reports whether a file may be part of the book, and counts it.
func (r *reader) accept(f file, mode fs.FileMode) bool {
	switch {
	case !mode.IsRegular():
		r.failf(f.rel, "is a %s, neither a file nor a folder: remove it, or ignore it", kindOf(mode))
		return false
	case f.size > r.limits.FileBytes:
		r.failTooLarge(f)
		return false
	}
	if r.files++; r.files > r.limits.Files {
		r.failTooMany()
		return false
	}
	return true
}

func kindOf(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeNamedPipe:
		return "named pipe"
	case fs.ModeSocket:
		return "socket"
	default:
		return "device or other special file"
	}
}

func (r *reader) failTooLarge(f file) {
	r.failf(f.rel, "has %d bytes, a file of a book may have at most %d: make it smaller, or ignore it", f.size, r.limits.FileBytes)
}

func (r *reader) failTooMany() {
	r.full = true
	r.failf("", "holds more than %d files, the most that a book may have: ignore some, or make several books of it", r.limits.Files)
}

func (r *reader) failEntries() {
	r.full = true
	r.failf("", "holds more than %d files and folders, ignored ones included: name a folder with less in it", r.limits.Entries)
}

// batch is how many entries of a folder are read at a time, so that a huge folder
// doesn't fill the memory before a limit ends it.
const batch = 512

// list returns what is in a folder and isn't ignored, sorted by name.
func (w *walker) list(real, rel string) []entry {
	opened, err := w.fsys.Open(real)
	if err != nil {
		w.failRead(rel, err)
		return nil
	}
	defer opened.Close()
	folder, ok := opened.(fs.ReadDirFile)
	if !ok {
		w.failRead(rel, errors.New("not a folder"))
		return nil
	}

	var kept []entry
	for {
		read, err := folder.ReadDir(batch)
		for _, d := range read {
			if e, ok := w.consider(d, rel); ok {
				kept = append(kept, e)
			}
		}
		if w.entries += len(read); w.entries > w.limits.Entries {
			w.failEntries()
			return nil
		}
		if errors.Is(err, io.EOF) || err == nil && len(read) == 0 {
			break
		}
		if err != nil {
			w.failRead(rel, err)
			return nil
		}
	}
	slices.SortFunc(kept, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return kept
}

// consider reports whether an entry of the folder rel isn't ignored, and what it is. A
// link is taken for a file and for a folder, because its target may not exist.
func (w *walker) consider(d fs.DirEntry, rel string) (entry, bool) {
	e := entry{name: d.Name(), mode: d.Type()}
	below := path.Join(rel, e.name)
	isLink := e.mode.Type() == fs.ModeSymlink
	if w.ignore.ignores(below, d.IsDir()) || isLink && w.ignore.ignores(below, true) {
		return entry{}, false
	}
	if e.mode.IsRegular() {
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return entry{}, false // removed since
		}
		if err != nil {
			w.failRead(below, err)
			return entry{}, false
		}
		e.mode, e.size = info.Mode(), info.Size()
	}
	return e, true
}

// largest names the files that it would help most to leave out.
func largest(files []file) string {
	const shown = 3
	sorted := slices.SortedStableFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(b.size, a.size) })
	var parts []string
	for _, f := range sorted[:min(shown, len(sorted))] {
		parts = append(parts, fmt.Sprintf("%s (%d bytes)", printable(f.rel), f.size))
	}
	return strings.Join(parts, ", ")
}

package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// faulty is a tree whose files can be made to misbehave.
type faulty struct {
	fstest.MapFS
	open    map[string]error       // by path: Open fails
	read    map[string]error       // by path: Read and ReadDir fail
	size    map[string]int64       // by path: what a folder says of a file's size
	mode    map[string]fs.FileMode // by path: what a file is once it is open
	shuffle *rand.Rand             // in which order a folder has its entries
	opened  map[string]int         // by path: how often
}

func (f *faulty) Open(name string) (fs.File, error) {
	if f.opened != nil {
		f.opened[name]++
	}
	if err := f.open[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	file, err := f.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{ReadDirFile: asReadDirFile(file), fsys: f, name: name}, nil
}

type faultyFile struct {
	fs.ReadDirFile
	fsys *faulty
	name string
}

func asReadDirFile(file fs.File) fs.ReadDirFile {
	if dir, ok := file.(fs.ReadDirFile); ok {
		return dir
	}
	return noDir{file}
}

type noDir struct{ fs.File }

func (noDir) ReadDir(int) ([]fs.DirEntry, error) { return nil, errors.New("not a folder") }

func (f *faultyFile) Stat() (fs.FileInfo, error) {
	info, err := f.ReadDirFile.Stat()
	return changedInfo{info, f.fsys, f.name}, err
}

func (f *faultyFile) Read(b []byte) (int, error) {
	if err := f.fsys.read[f.name]; err != nil {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: err}
	}
	// As few bytes as a reader may give.
	return f.ReadDirFile.Read(b[:min(len(b), 3)])
}

func (f *faultyFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if err := f.fsys.read[f.name]; err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: f.name, Err: err}
	}
	if f.fsys.shuffle == nil && f.fsys.size == nil {
		return f.ReadDirFile.ReadDir(n)
	}
	entries, err := f.ReadDirFile.ReadDir(-1)
	for i, e := range entries {
		entries[i] = changedEntry{e, f.fsys, strings.TrimPrefix(f.name+"/"+e.Name(), "./")}
	}
	if f.fsys.shuffle != nil {
		f.fsys.shuffle.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	}
	return entries, err
}

type changedEntry struct {
	fs.DirEntry
	fsys *faulty
	path string
}

func (e changedEntry) Info() (fs.FileInfo, error) {
	info, err := e.DirEntry.Info()
	if size, ok := e.fsys.size[e.path]; ok {
		return sizedInfo{info, size}, err
	}
	return info, err
}

type sizedInfo struct {
	fs.FileInfo
	size int64
}

func (i sizedInfo) Size() int64 { return i.size }

type changedInfo struct {
	fs.FileInfo
	fsys *faulty
	path string
}

func (i changedInfo) Mode() fs.FileMode {
	if mode, ok := i.fsys.mode[i.path]; ok {
		return mode
	}
	return i.FileInfo.Mode()
}

func TestReadFaults(t *testing.T) {
	files := tree(map[string]string{"d/a.md": "0123456789", "d/b.md": "0123456789", "d/x/c.md": "0"})
	tests := map[string]struct {
		fsys *faulty
		opts Options
		want string
	}{
		"what can't be read, all of it": {
			fsys: &faulty{MapFS: files,
				open: map[string]error{"d/x": fs.ErrPermission},
				read: map[string]error{"d/a.md": errors.New("input/output error")}},
			want: "./d/x: can't be read: permission denied",
		},
		"files that can't be read": {
			fsys: &faulty{MapFS: files,
				open: map[string]error{"d/b.md": fs.ErrPermission},
				read: map[string]error{"d/a.md": errors.New("input/output error")}},
			want: "./d/a.md: can't be read: input/output error\n./d/b.md: can't be read: permission denied",
		},
		"a folder that can't be listed to its end": {
			fsys: &faulty{MapFS: files, read: map[string]error{"d": errors.New("input/output error")}},
			want: "./d: can't be read: input/output error",
		},
		"a file that grew beyond what a file may have": {
			fsys: &faulty{MapFS: files, size: map[string]int64{"d/a.md": 5, "d/b.md": 5}},
			opts: Options{Limits: Limits{FileBytes: 9}},
			want: "./d/a.md: can't be read: it grew while it was read: try again when it is written\n./d/b.md: can't be read: it grew while it was read: try again when it is written",
		},
		"files that grew beyond what a book may have": {
			fsys: &faulty{MapFS: files, size: map[string]int64{"d/a.md": 1, "d/b.md": 1}},
			opts: Options{Limits: Limits{BookBytes: 19}},
			want: "./d/b.md: can't be read: with it, the files have more than 19 bytes, the most that a book may have: ignore some, or make several books of it",
		},
		"a file that became something else": {
			fsys: &faulty{MapFS: files, mode: map[string]fs.FileMode{"d/a.md": fs.ModeNamedPipe}},
			want: "./d/a.md: can't be read: it is no longer a regular file: try again when it is written",
		},
		"a book.toml that can't be read": {
			fsys: &faulty{MapFS: tree(map[string]string{"d/book.toml": "", "d/src/a.md": ""}), open: map[string]error{"d/book.toml": fs.ErrPermission}},
			want: "./d/book.toml: can't be read: permission denied",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read(test.fsys, "./d", test.opts)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, told(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// endless is a folder without an end.
type endless struct{ fstest.MapFS }

func (e endless) Open(name string) (fs.File, error) {
	file, err := e.MapFS.Open(name)
	if err != nil || name != "d" {
		return file, err
	}
	return &endlessDir{File: file}, nil
}

type endlessDir struct {
	fs.File
	n int
}

func (d *endlessDir) ReadDir(n int) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	for range n {
		d.n++
		fsys := fstest.MapFS{fmt.Sprintf("%d.md", d.n): {Mode: 0o644}}
		info, err := fs.Stat(fsys, fmt.Sprintf("%d.md", d.n))
		if err != nil {
			return nil, err
		}
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	return entries, nil
}

func TestReadEndsInAnEndlessFolder(t *testing.T) {
	fsys := endless{tree(map[string]string{"d/a.md": ""})}
	_, err := Read(fsys, "d", Options{Limits: Limits{Files: 1000}})
	if diff := cmp.Diff("d: holds more than 20000 files and folders, ignored ones included: name a folder with less in it", told(err)); diff != "" {
		t.Error(diff)
	}
}

func TestReadIsTheSameInAnyOrderAndReadsOnce(t *testing.T) {
	files := map[string]string{"p/book.toml": "output.html.additional-css = ['theme/3.css', 'a.css']", "p/a.css": "a"}
	for i := range 20 {
		files[fmt.Sprintf("p/src/%d/%d.md", i%3, i)] = fmt.Sprint(i)
		files[fmt.Sprintf("p/theme/%d.css", i)] = fmt.Sprint(i)
	}
	var first book.Book
	var firstErr error
	for seed := range uint64(5) {
		fsys := &faulty{MapFS: tree(files), shuffle: rand.New(rand.NewPCG(seed, 0)), opened: map[string]int{}}
		got, err := Read(fsys, "p", Options{})
		if err != nil {
			t.Fatal(err)
		}
		for p, n := range fsys.opened {
			if n != 1 {
				t.Errorf("%s: opened %d times", p, n)
			}
		}
		_, err = Read(fsys, "p", Options{Limits: Limits{FileBytes: 1}})
		if seed == 0 {
			first, firstErr = got, err
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(diagnostic.FromError(firstErr), diagnostic.FromError(err)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReadTakesLittleMemory(t *testing.T) {
	const size, count = 512 << 10, 40
	files := map[string]string{}
	for i := range count {
		files[fmt.Sprintf("d/%d.md", i)] = strings.Repeat("x", size)
	}
	fsys := tree(files)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := Read(fsys, "d", Options{})
	runtime.ReadMemStats(&after)
	if err != nil || len(got.Pages) != count {
		t.Fatal(err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > size*count*11/10 {
		t.Errorf("%d bytes allocated for %d bytes of pages", allocated, size*count)
	}
}

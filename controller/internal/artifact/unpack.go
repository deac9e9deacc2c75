package artifact

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/fluxcd/pkg/tar"
)

// unpack unpacks an archive into a folder, and returns what it takes of the disk. Once it
// is too large, or the context ends, nothing more of it is read.
func unpack(ctx context.Context, archive io.Reader, dir string, limits Limits) (int64, error) {
	uncompressed, err := gzip.NewReader(archive)
	if err != nil {
		return 0, fmt.Errorf("it is no archive that gzip has compressed: %w", err)
	}
	used := &usage{limits: limits, folders: map[string]bool{}}
	err = tar.Untar(&boundedReader{
		ctx: ctx, reader: uncompressed, used: used,
		// Each entry has headers, and is filled up to a block of the archive's.
		left: limits.Bytes + int64(limits.Entries+1)*block,
	}, dir, tar.WithSkipGzip(), tar.WithSkipSymlinks(), tar.WithMaxUntarSize(int(limits.Bytes)), tar.WithFilter(used.add))
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case used.tooMuch() != nil: // by what came last, after which nothing was read
		return 0, used.tooMuch()
	}
	return used.bytes, err
}

// boundedReader ends when what was read so far is too much.
type boundedReader struct {
	ctx    context.Context
	reader io.Reader
	used   *usage
	left   int64
}

var errTooLong = errors.New("it is longer than its files: leave out of the source what isn't needed (spec.ignore)")

// Read implements io.Reader.
func (r *boundedReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if err := r.used.tooMuch(); err != nil {
		return 0, err
	}
	if r.left <= 0 {
		return 0, errTooLong
	}
	n, err := r.reader.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// block is what a file takes of the disk at least, in bytes.
const block = 4096

// usage counts what an archive takes of the disk.
type usage struct {
	limits  Limits
	folders map[string]bool
	// headers are the archive's own entries, which may name the same file again and again.
	headers int
	entries int
	bytes   int64
}

// tooMuch says which limit is exceeded; nil if none is.
func (u *usage) tooMuch() error {
	switch {
	case max(u.headers, u.entries) > u.limits.Entries:
		return fmt.Errorf("it has more than %d files and folders: leave out of the source what isn't needed (spec.ignore)", u.limits.Entries)
	case u.bytes > u.limits.Bytes:
		return fmt.Errorf("it takes more than %d bytes of the disk: leave out of the source what isn't needed (spec.ignore)", u.limits.Bytes)
	}
	return nil
}

// add counts an entry, and the folders that are made for it. It reports whether it is to
// be left out.
func (u *usage) add(name string, info fs.FileInfo) bool {
	u.headers++
	name = path.Clean(name)
	for i := 0; i < len(name) && u.tooMuch() == nil; i++ {
		if name[i] == '/' {
			u.addFolder(name[:i])
		}
	}
	if info.IsDir() {
		u.addFolder(name)
	} else {
		u.entries++
		u.bytes += max(1, (info.Size()+block-1)/block) * block
	}
	return u.tooMuch() != nil
}

func (u *usage) addFolder(name string) {
	if u.folders[name] {
		return
	}
	u.folders[name] = true
	u.entries++
	u.bytes += block
}

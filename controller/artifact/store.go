// Package artifact fetches the artifacts of Flux's sources and keeps them, unpacked,
// by digest: however many views read from one, it is fetched once.
//
// An artifact is somebody else's archive: it is verified before it is unpacked, and
// unpacked under limits.
package artifact

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/http/fetch"
	"github.com/fluxcd/pkg/tar"
)

// Limits bound what is fetched and kept. Zero in a field means its default.
type Limits struct {
	// DownloadBytes is the most bytes of an archive; 128 MiB.
	DownloadBytes int64
	// Bytes is the most bytes of all files of an archive; 512 MiB.
	Bytes int64
	// Entries is the most files and folders of an archive; 50,000.
	Entries int
	// KeptBytes is the most bytes of all unpacked archives that are kept; 1 GiB.
	// What was used last stays, and what is being read.
	KeptBytes int64
}

func (l Limits) orDefault() Limits {
	if l.DownloadBytes == 0 {
		l.DownloadBytes = 128 << 20
	}
	if l.Bytes == 0 {
		l.Bytes = 512 << 20
	}
	if l.Entries == 0 {
		l.Entries = 50_000
	}
	if l.KeptBytes == 0 {
		l.KeptBytes = 1 << 30
	}
	return l
}

// maxFetches is how many artifacts are fetched at once: what they take of the disk
// beside what is kept is bounded too.
const maxFetches = 2

// ErrNotFound says that the source's server has no such artifact: it is gone, or not
// there yet.
var ErrNotFound = errors.New("the source's server doesn't have it")

// Store fetches artifacts and keeps them in a folder. Its methods may be called by
// several goroutines at once.
type Store struct {
	dir    string
	host   string
	limits Limits
	// slots are held while fetching.
	slots chan struct{}

	mu      sync.Mutex
	byKey   map[string]*entry
	recent  *list.List // of *entry, the one used last in front
	kept    int64
	fetches int
}

// entry is an artifact that is kept, or being fetched.
type entry struct {
	key     string
	dir     string
	bytes   int64
	readers int
	place   *list.Element
	// fetched is closed once err is known, which the lock guards until then.
	fetched chan struct{}
	err     error
}

// NewStore returns a store that keeps artifacts below dir, which must exist. host
// overrides that of artifacts' addresses; empty means not to.
func NewStore(dir, host string, limits Limits) *Store {
	return &Store{dir: dir, host: host, limits: limits.orDefault(), slots: make(chan struct{}, maxFetches), byKey: map[string]*entry{}, recent: list.New()}
}

// Read calls read with the files of an artifact, which it fetches if it isn't kept.
// The files are there until read returns. An error of fetching wraps ErrNotFound if
// the artifact isn't there.
func (s *Store) Read(ctx context.Context, artifact *meta.Artifact, read func(fs.FS) error) error {
	e, mine := s.acquire(artifact.Digest)
	defer s.release(e)
	if mine {
		bytes, err := s.fetch(ctx, artifact, e.dir)
		s.settle(e, bytes, err)
		close(e.fetched)
	}
	select {
	case <-e.fetched:
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.err != nil {
		return e.err
	}
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return read(root.FS())
}

// acquire finds the entry of a digest, and says whether the caller is to fetch it.
func (s *Store) acquire(digest string) (e *entry, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.byKey[digest]
	if !ok {
		s.fetches++
		e = &entry{key: digest, dir: filepath.Join(s.dir, fmt.Sprint(s.fetches)), fetched: make(chan struct{})}
		e.place = s.recent.PushFront(e)
		s.byKey[digest] = e
	}
	s.recent.MoveToFront(e.place)
	e.readers++
	return e, !ok
}

// settle counts what was fetched, or forgets what could not be.
func (s *Store) settle(e *entry, bytes int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.bytes, e.err = bytes, err
	if err != nil {
		delete(s.byKey, e.key)
		s.recent.Remove(e.place)
		return
	}
	s.kept += e.bytes
}

// release ends a reader's use, and removes what is too much.
func (s *Store) release(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.readers--
	if e.err != nil && e.readers == 0 {
		_ = os.RemoveAll(e.dir)
	}
	for place := s.recent.Back(); place != nil && s.kept > s.limits.KeptBytes; {
		oldest := place.Value.(*entry)
		place = place.Prev()
		if oldest.readers > 0 {
			continue
		}
		s.kept -= oldest.bytes
		delete(s.byKey, oldest.key)
		s.recent.Remove(oldest.place)
		_ = os.RemoveAll(oldest.dir)
	}
}

// fetch downloads, verifies and unpacks an artifact, and returns its size. Nothing is
// tried again here: the view's queue does, and no worker waits.
func (s *Store) fetch(ctx context.Context, artifact *meta.Artifact, dir string) (int64, error) {
	if artifact.Size != nil && *artifact.Size > s.limits.DownloadBytes {
		return 0, fmt.Errorf("it is %d bytes large, may be %d: leave out of the source what isn't needed (spec.ignore)", *artifact.Size, s.limits.DownloadBytes)
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	var bytes int64
	entries := 0
	fetcher := fetch.New(
		fetch.WithMaxDownloadSize(int(s.limits.DownloadBytes)),
		fetch.WithHostnameOverwrite(s.host),
		fetch.WithLogger(nil),
		fetch.WithUntar(tar.WithMaxUntarSize(int(s.limits.Bytes)), tar.WithFilter(func(_ string, info fs.FileInfo) bool {
			bytes += info.Size()
			entries++
			return entries > s.limits.Entries
		})),
	)
	err := fetcher.FetchWithContext(ctx, artifact.URL, artifact.Digest, dir)
	switch {
	case errors.Is(err, fetch.ErrFileNotFound):
		return 0, ErrNotFound
	case err != nil:
		return 0, err
	case entries > s.limits.Entries:
		return 0, fmt.Errorf("it has %d files and folders, may have %d: leave out of the source what isn't needed (spec.ignore)", entries, s.limits.Entries)
	}
	return bytes, nil
}

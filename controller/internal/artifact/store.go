// Package artifact fetches the artifacts of Flux's sources and keeps them, unpacked,
// by digest: however many views read from one, it is fetched once.
//
// An artifact is not trusted: it is verified before it is unpacked, and
// unpacked under limits.
package artifact

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/http/fetch"
	"github.com/fluxcd/pkg/tar"
)

// Limits bound what is fetched and kept. Zero in a field means its default.
type Limits struct {
	// DownloadBytes is the most bytes of an archive; 128 MiB.
	DownloadBytes int64
	// Bytes is the most bytes that all of an archive may take of the disk, in blocks of
	// 4 KiB; 512 MiB.
	Bytes int64
	// Entries is the most files and folders of an archive; 50,000.
	Entries int
	// KeptBytes is the most bytes of all unpacked archives that are kept; 1 GiB.
	// What was used last stays, and what is being read.
	KeptBytes int64
	// Timeout is how long a fetch may take; 30 seconds.
	Timeout time.Duration
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
	if l.Timeout == 0 {
		l.Timeout = 30 * time.Second
	}
	return l
}

const (
	// waitTimeout bounds the wait for a fetch that another reader began, counted from its
	// beginning, and the wait for a slot: a worker has other views to look after.
	waitTimeout = time.Second
	// failureTTLFactor times the duration of a failed fetch is for how long the failure is
	// remembered: all who wait would ask a server that hangs without a pause. A failure
	// that took less than waitTimeout isn't remembered.
	failureTTLFactor = 4
)

// maxFetches is how many artifacts are fetched at once: what they take of the disk
// beside what is kept is bounded too.
const maxFetches = 2

// ErrNotFound means that the source's server has no such artifact: it is gone, or not
// there yet.
var ErrNotFound = errors.New("the source's server doesn't have it")

// ErrBusy means that the artifact is being fetched, or has to wait until others have been.
var ErrBusy = errors.New("it is being fetched")

// Store fetches artifacts and keeps them in a folder. Its methods may be called by
// several goroutines at once.
type Store struct {
	dir    string
	host   string
	limits Limits
	clock  clock.PassiveClock
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
	key string
	// version differs for an artifact that its server has stored again.
	version string
	began   time.Time
	// until is when a failure is forgotten.
	until   time.Time
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
	return &Store{dir: dir, host: host, limits: limits.orDefault(), clock: clock.RealClock{}, slots: make(chan struct{}, maxFetches), byKey: map[string]*entry{}, recent: list.New()}
}

// Read calls read with the files of an artifact, which it fetches if it isn't kept.
// The files are there until read returns. An error of fetching wraps ErrNotFound if
// the artifact isn't there, and is ErrBusy if it isn't there yet. It may be that of a
// fetch that failed a while ago.
func (s *Store) Read(ctx context.Context, artifact *meta.Artifact, read func(fs.FS) error) error {
	e, mine := s.acquire(artifact)
	defer s.release(e)
	if mine {
		bytes, err := s.fetch(ctx, artifact, e.dir)
		if err != nil {
			_ = os.RemoveAll(e.dir)
		}
		s.finish(e, bytes, err)
		close(e.fetched)
	} else if err := s.wait(ctx, e); err != nil {
		return err
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

// wait waits for a fetch that another reader began, which may have ended long ago.
func (s *Store) wait(ctx context.Context, e *entry) error {
	select {
	case <-e.fetched:
		return nil
	default:
	}
	select {
	case <-e.fetched:
		return nil
	case <-time.After(waitTimeout - s.clock.Since(e.began)):
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

// acquire finds the entry of an artifact, and reports whether the caller is to fetch it.
func (s *Store) acquire(artifact *meta.Artifact) (e *entry, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, version := s.clock.Now(), artifact.URL+" "+artifact.LastUpdateTime.String()
	for _, other := range s.byKey {
		if other.err != nil && (!now.Before(other.until) || other.key == artifact.Digest && other.version != version) {
			s.forget(other)
		}
	}
	e, ok := s.byKey[artifact.Digest]
	if !ok {
		s.fetches++
		e = &entry{
			key: artifact.Digest, version: version, began: now,
			dir: filepath.Join(s.dir, fmt.Sprint(s.fetches)), fetched: make(chan struct{}),
		}
		e.place = s.recent.PushFront(e)
		s.byKey[e.key] = e
	}
	s.recent.MoveToFront(e.place)
	e.readers++
	return e, !ok
}

// finish counts what was fetched, or remembers for a while that it could not be.
func (s *Store) finish(e *entry, bytes int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.bytes, e.err = bytes, err
	if err == nil {
		s.kept += e.bytes
		return
	}
	took := s.clock.Since(e.began)
	if took < waitTimeout || errors.Is(err, ErrBusy) || errors.Is(err, context.Canceled) {
		s.forget(e)
		return
	}
	e.until = s.clock.Now().Add(failureTTLFactor * took)
}

// forget drops an entry. The lock is held.
func (s *Store) forget(e *entry) {
	s.kept -= e.bytes
	delete(s.byKey, e.key)
	s.recent.Remove(e.place)
}

// release ends a reader's use, and removes what exceeds KeptBytes.
func (s *Store) release(e *entry) {
	for _, dir := range s.evictable(e) {
		_ = os.RemoveAll(dir) // takes its time, without the lock
	}
}

// evictable ends a reader's use, forgets what exceeds KeptBytes, and returns its folders.
func (s *Store) evictable(e *entry) (dirs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.readers--
	for place := s.recent.Back(); place != nil && s.kept > s.limits.KeptBytes; {
		oldest := place.Value.(*entry)
		place = place.Prev()
		if oldest.readers > 0 {
			continue
		}
		s.forget(oldest)
		dirs = append(dirs, oldest.dir)
	}
	return dirs
}

// fetch downloads, verifies and unpacks an artifact, and returns what it takes of the
// disk. Nothing is tried again here: the view's queue does, and no worker waits.
func (s *Store) fetch(ctx context.Context, artifact *meta.Artifact, dir string) (int64, error) {
	if artifact.Size != nil && *artifact.Size > s.limits.DownloadBytes {
		return 0, fmt.Errorf("it is %d bytes large, may be %d: leave out of the source what isn't needed (spec.ignore)", *artifact.Size, s.limits.DownloadBytes)
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-time.After(waitTimeout):
		return 0, ErrBusy
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	fetching, cancel := context.WithTimeout(ctx, s.limits.Timeout)
	defer cancel()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	unpacked := usage{limits: s.limits, folders: map[string]bool{}}
	fetcher := fetch.New(
		fetch.WithMaxDownloadSize(int(s.limits.DownloadBytes)),
		fetch.WithHostnameOverwrite(s.host),
		fetch.WithLogger(nil),
		fetch.WithUntar(tar.WithMaxUntarSize(int(s.limits.Bytes)), tar.WithFilter(func(name string, info fs.FileInfo) bool {
			unpacked.add(name, info)
			// The rest is skipped: nothing stops it otherwise.
			return unpacked.tooMuch() || fetching.Err() != nil
		})),
	)
	err := fetcher.FetchWithContext(fetching, artifact.URL, artifact.Digest, dir)
	switch {
	case errors.Is(err, fetch.ErrFileNotFound):
		return 0, ErrNotFound
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case fetching.Err() != nil:
		return 0, fmt.Errorf("it takes longer than %s", s.limits.Timeout)
	case err != nil:
		return 0, err
	case unpacked.entries > s.limits.Entries:
		return 0, fmt.Errorf("it has more than %d files and folders: leave out of the source what isn't needed (spec.ignore)", s.limits.Entries)
	case unpacked.bytes > s.limits.Bytes:
		return 0, fmt.Errorf("it takes more than %d bytes of the disk: leave out of the source what isn't needed (spec.ignore)", s.limits.Bytes)
	}
	return unpacked.bytes, nil
}

// block is what a file takes of the disk at least, in bytes.
const block = 4096

// usage counts what an archive takes of the disk.
type usage struct {
	limits  Limits
	folders map[string]bool
	entries int
	bytes   int64
}

func (u *usage) tooMuch() bool {
	return u.entries > u.limits.Entries || u.bytes > u.limits.Bytes
}

// add counts an entry, and the folders that are made for it.
func (u *usage) add(name string, info fs.FileInfo) {
	name = path.Clean(name)
	for i := 0; i < len(name) && !u.tooMuch(); i++ {
		if name[i] == '/' {
			u.addFolder(name[:i])
		}
	}
	if info.IsDir() {
		u.addFolder(name)
		return
	}
	u.entries++
	u.bytes += max(1, (info.Size()+block-1)/block) * block
}

func (u *usage) addFolder(name string) {
	if u.folders[name] {
		return
	}
	u.folders[name] = true
	u.entries++
	u.bytes += block
}

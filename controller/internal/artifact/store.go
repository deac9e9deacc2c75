// Package artifact fetches the artifacts of Flux's sources and keeps them, unpacked:
// however many views read from one, it is fetched once. It is fetched beside the queue of
// views, whose workers never wait for it.
//
// An artifact is not trusted: it is fetched from known hosts only, verified before it is
// unpacked, and unpacked under limits.
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
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/fluxcd/pkg/apis/meta"
)

// Source is what an artifact is of.
type Source struct{ Kind, Namespace, Name string }

// Failures are tried again after firstRetry at the soonest, then after twice as long each
// time, up to lastRetry.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// BusyError means that an artifact is being fetched, or waits for its turn. The reader is
// woken when that is over.
type BusyError struct {
	// For is for how long it has been so.
	For time.Duration
}

// Error implements error.
func (e *BusyError) Error() string { return "it is being fetched" }

// FailedError means that an artifact couldn't be fetched. It is tried again when it is
// read again, but not before Retry is over. The reader is woken if the outcome changes.
type FailedError struct {
	// Message says what is wrong with it, as far as it is for anybody to know: of what is
	// in the network, only the log tells more than that it failed.
	Message string
	Retry   time.Duration
}

// Error implements error.
func (e *FailedError) Error() string { return e.Message }

// Store fetches artifacts and keeps them in a folder. Its methods may be called by
// several goroutines at once.
type Store struct {
	dir     string
	hosts   Hosts
	limits  Limits
	fetcher *fetcher
	clock   clock.PassiveClock
	log     logr.Logger
	// changed says that there may be something to fetch.
	changed chan struct{}

	mu     sync.Mutex
	byKey  map[string]*entry
	recent *list.List // of *entry, the one used last in front
	// quick are the sources that have served their last artifact quickly.
	quick   *lru.Cache
	queue   *queue
	kept    int64
	fetches int
	wake    func(types.NamespacedName)
}

// maxQuick is of how many sources it is remembered that they are quick.
const maxQuick = 8192

// NewStore returns a store that keeps artifacts from some hosts below dir, which must
// exist. How fetches fail is written to the log.
func NewStore(dir string, hosts Hosts, limits Limits, log logr.Logger) *Store {
	limits = limits.orDefault()
	return &Store{
		dir: dir, hosts: hosts, limits: limits, fetcher: newFetcher(limits), clock: clock.RealClock{}, log: log,
		changed: make(chan struct{}, 1),
		byKey:   map[string]*entry{}, recent: list.New(), quick: lru.New(maxQuick), queue: newQueue(limits.Fetches, limits.FetchesOfNamespace),
		wake: func(types.NamespacedName) {},
	}
}

// OnFetched names the function that wakes readers.
func (s *Store) OnFetched(wake func(types.NamespacedName)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake = wake
}

// Start fetches what is read, until the context ends.
func (s *Store) Start(ctx context.Context) error {
	var fetches sync.WaitGroup
	defer fetches.Wait()
	for {
		for e := s.next(); e != nil; e = s.next() {
			fetches.Go(func() { s.fetch(ctx, e) })
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// Check says why an artifact may not be fetched from its address, on behalf of its source.
func (s *Store) Check(of Source, artifact *meta.Artifact) error {
	return s.hosts.Check(of, artifact.URL)
}

// Read calls read with the files of an artifact if it is kept. They are there until read
// returns. If it isn't, Read has it fetched and returns a *BusyError or, if that failed
// before, a *FailedError.
func (s *Store) Read(reader types.NamespacedName, of Source, artifact *meta.Artifact, read func(fs.FS) error) error {
	e, err := s.acquire(reader, of, artifact)
	if err != nil {
		return err
	}
	defer s.release(e)
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return read(root.FS())
}

// Bytes is what an artifact takes of the disk; 0 if it isn't kept.
func (s *Store) Bytes(of Source, artifact *meta.Artifact) int64 {
	address, err := s.hosts.resolve(of, artifact.URL)
	if err != nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byKey[keyOf(of, address, artifact)]; ok {
		return e.bytes
	}
	return 0
}

func keyOf(of Source, address string, artifact *meta.Artifact) string {
	return fmt.Sprintf("%q %q %q", of, address, artifact.Digest)
}

// acquire finds an artifact that is kept, or has it fetched. What is kept for a source is
// for those who name the same source, address and digest: who knows a digest hasn't
// thereby the right to read what it is of.
func (s *Store) acquire(reader types.NamespacedName, of Source, artifact *meta.Artifact) (*entry, error) {
	address, err := s.hosts.resolve(of, artifact.URL)
	if err != nil {
		return nil, &FailedError{Message: err.Error(), Retry: lastRetry}
	}
	if artifact.Size != nil && *artifact.Size > s.limits.DownloadBytes {
		return nil, &FailedError{Message: tooLarge(s.limits), Retry: lastRetry}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(of, address, artifact)
	e, ok := s.byKey[key]
	if !ok {
		e = s.add(key, of, address, artifact)
	}
	s.recent.MoveToFront(e.place)
	now, version := s.clock.Now(), artifact.LastUpdateTime.String()
	switch {
	case e.state == ready:
		e.readers++
		return e, nil
	case e.state == failed && e.version != version:
		e.version, e.artifact, e.err, e.failures, e.since = version, artifact.DeepCopy(), nil, 0, now
		s.enqueue(e)
	case e.state == failed && !now.Before(e.until):
		s.enqueue(e)
	}
	e.waiters[reader] = true
	if e.err == nil {
		return nil, &BusyError{For: now.Sub(e.since)}
	}
	retry := lastRetry // the reader is woken before
	if e.state == failed {
		retry = e.until.Sub(now)
	}
	message := "it couldn't be fetched; the controller's log says why"
	if public, ok := errors.AsType[archiveError](e.err); ok {
		message = public.Error()
	}
	return nil, &FailedError{Message: message, Retry: retry}
}

// add has an artifact fetched for the first time. An earlier one of the same source that
// couldn't be fetched, or hasn't been, is of no use any more. The lock is held.
func (s *Store) add(key string, of Source, address string, artifact *meta.Artifact) *entry {
	for _, other := range s.byKey {
		if other.of == of && (other.state == waiting || other.state == failed) {
			s.forget(other)
		}
	}
	s.fetches++
	e := &entry{
		key: key, of: of, address: address, version: artifact.LastUpdateTime.String(), artifact: artifact.DeepCopy(),
		since: s.clock.Now(), dir: filepath.Join(s.dir, fmt.Sprint(s.fetches)), waiters: map[types.NamespacedName]bool{},
	}
	if _, isQuick := s.quick.Get(of); isQuick {
		e.pace = quick
	}
	e.unpack.namespace, e.unpack.quick = of.Namespace, e.pace == quick
	e.place = s.recent.PushFront(e)
	s.byKey[key] = e
	s.enqueue(e)
	return e
}

// enqueue has an artifact fetched in its turn. The lock is held.
func (s *Store) enqueue(e *entry) {
	e.state = waiting
	s.queue.add(e)
	s.notify()
}

func (s *Store) notify() {
	select {
	case s.changed <- struct{}{}:
	default: // it is said already
	}
}

// next returns what is to be fetched now; nil if nothing is.
func (s *Store) next() *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.queue.next()
	if e != nil {
		e.state = fetching
	}
	return e
}

// errTurnOver ends a fetch that takes long while enough others do. It has not failed.
var errTurnOver = errors.New("it takes long, and so do others: it is fetched in its next turn")

// fetch fetches an artifact, and wakes its readers.
func (s *Store) fetch(ctx context.Context, e *entry) {
	fetchCtx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	patience := s.limits.Probe
	if e.unpack.quick {
		patience = s.limits.Quick
	}
	timer := time.AfterFunc(patience, func() {
		if !s.takesLong(e) {
			giveUp(errTurnOver)
		}
	})
	bytes, err := s.fetcher.fetch(fetchCtx, &e.unpack, e.address, e.artifact, e.dir)
	timer.Stop()
	if err != nil {
		_ = os.RemoveAll(e.dir)
		if errors.Is(err, errTurnOver) {
			s.again(e)
			return
		}
		if ctx.Err() == nil {
			s.log.Error(err, "fetch an artifact", "kind", e.of.Kind, "namespace", e.of.Namespace, "name", e.of.Name,
				"url", e.artifact.URL, "revision", e.artifact.Revision)
		}
	}
	remove, waiters, wake := s.finish(e, bytes, err)
	for reader := range waiters {
		wake(reader)
	}
	s.notify()
	for _, dir := range remove {
		_ = os.RemoveAll(dir)
	}
}

// takesLong notes that of what is being fetched, and reports whether it may go on.
func (s *Store) takesLong(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// It may have ended meanwhile.
	if e.state != fetching {
		return true
	}
	defer s.notify()
	return s.queue.takesLong(e) && s.fetcher.unpacking.takesLong(&e.unpack)
}

// again has an artifact fetched in its next turn, as one that takes long.
func (s *Store) again(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.done(e)
	s.enqueue(e)
}

// finish notes what came of a fetch, and returns what has to go for it and who is to be
// woken.
func (s *Store) finish(e *entry, bytes int64, err error) (remove []string, waiters map[types.NamespacedName]bool, wake func(types.NamespacedName)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.done(e)
	waiters, e.waiters = e.waiters, map[types.NamespacedName]bool{}
	if err != nil {
		e.state, e.err = failed, err
		e.until = s.clock.Now().Add(min(lastRetry, firstRetry<<min(e.failures, 10)))
		e.failures++
		s.quick.Remove(e.of)
	} else {
		e.state, e.err, e.bytes = ready, nil, bytes
		s.kept += e.bytes
		if e.pace != slow {
			s.quick.Add(e.of, nil)
		}
	}
	return s.evict(e), waiters, s.wake
}

// forget drops an entry that isn't being fetched. The lock is held.
func (s *Store) forget(e *entry) {
	if e.state == waiting {
		s.queue.remove(e)
	}
	s.kept -= e.bytes
	delete(s.byKey, e.key)
	s.recent.Remove(e.place)
}

// release ends a reader's use.
func (s *Store) release(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.readers--
}

// forgetAfter is how long it is remembered that an artifact couldn't be fetched that
// nobody has read since.
const forgetAfter = 15 * time.Minute

// evict forgets what exceeds KeptBytes or Kept, but for what was just fetched and is being read,
// and failures that nobody asks about any more. It returns the folders that have to go.
// The lock is held.
func (s *Store) evict(fetched *entry) (remove []string) {
	now := s.clock.Now()
	for place := s.recent.Back(); place != nil; {
		oldest := place.Value.(*entry)
		place = place.Prev()
		switch {
		case oldest.state == failed && now.Sub(oldest.until) > forgetAfter:
			s.forget(oldest)
		case oldest.state == ready && (s.kept > s.limits.KeptBytes || len(s.byKey) > s.limits.Kept) && oldest.readers == 0 && oldest != fetched:
			s.forget(oldest)
			remove = append(remove, oldest.dir)
		}
	}
	return remove
}

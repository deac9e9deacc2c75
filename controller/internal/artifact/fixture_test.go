package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/fluxcd/pkg/apis/meta"
)

// server serves archives by path, and counts what it is asked for.
type server struct {
	*httptest.Server
	archives sync.Map // from path to []byte
	asked    atomic.Int64
	answer   atomic.Pointer[http.HandlerFunc]
}

func newServer(t *testing.T, stores ...*testStore) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		if answer := s.answer.Load(); answer != nil {
			(*answer)(w, r)
			return
		}
		s.serve(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections() // those that hang
		s.Close()
	})
	for _, store := range stores {
		store.allow(s.URL)
	}
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	archive, ok := s.archives.Load(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(archive.([]byte)) // the client notices what it doesn't get
}

// answers has requests answered so; nil: with the archives.
func (s *server) answers(answer http.HandlerFunc) {
	if answer == nil {
		s.answer.Store(nil)
		return
	}
	s.answer.Store(&answer)
}

// hangs has requests for paths that hold part never answered.
func (s *server) hangs(part string) {
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, part) {
			<-r.Context().Done()
			return
		}
		s.serve(w, r)
	})
}

// add serves an archive and returns the artifact that names it.
func (s *server) add(name string, archive []byte) *meta.Artifact {
	s.archives.Store("/"+name, archive)
	return &meta.Artifact{URL: s.URL + "/" + name, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(archive))}
}

// pack makes an archive.
func pack(t *testing.T, write func(*tar.Writer) error) []byte {
	t.Helper()
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(compressed)
	if err := errors.Join(write(archive), archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func file(name, content string) func(*tar.Writer) error {
	return func(w *tar.Writer) error {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err := io.WriteString(w, content)
		return err
	}
}

// start is an archive with the page that tests read.
func start(t *testing.T, content string) []byte {
	t.Helper()
	return pack(t, file("docs/start.md", content))
}

func header(h tar.Header) func(*tar.Writer) error {
	return func(w *tar.Writer) error { return w.WriteHeader(&h) }
}

// own is the source that artifacts are of, unless it matters.
var own = Source{Kind: "GitRepository", Namespace: "docs", Name: "handbook"}

// testStore is a store that runs until the test ends.
type testStore struct {
	*Store
	t     *testing.T
	above string // the folder above its own, where nothing may stay
	woken chan types.NamespacedName
	log   *testLog
}

// newTestStore returns a store that may ask this machine. Its clock is set by adjust,
// which may be nil.
func newTestStore(t *testing.T, limits Limits, adjust func(*Store)) *testStore {
	t.Helper()
	above := t.TempDir()
	dir := filepath.Join(above, "store")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log := &testLog{}
	s := &testStore{Store: NewStore(dir, Hosts{}, limits, funcr.New(log.add, funcr.Options{})), t: t, above: above, woken: make(chan types.NamespacedName, 1000), log: log}
	s.OnFetched(func(reader types.NamespacedName) { s.woken <- reader })
	if adjust != nil {
		adjust(s.Store)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// allow has the store ask a server.
func (s *testStore) allow(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.hosts.addresses = map[string]bool{net.JoinHostPort(host, port): true}
}

// start reads a page of an artifact once.
func (s *testStore) start(of Source, artifact *meta.Artifact) (content string, err error) {
	err = s.Read(types.NamespacedName{Namespace: of.Namespace, Name: "view"}, of, artifact, func(files fs.FS) error {
		bytes, err := fs.ReadFile(files, "docs/start.md")
		content = string(bytes)
		return err
	})
	return content, err
}

// fetched reads a page of an artifact as a view does: again when it is woken.
func (s *testStore) fetched(of Source, artifact *meta.Artifact) (content string, err error) {
	s.t.Helper()
	for {
		content, err = s.start(of, artifact)
		if _, busy := errors.AsType[*BusyError](err); !busy {
			return content, err
		}
		select {
		case <-s.woken:
		case <-time.After(time.Minute):
			s.t.Fatal("the reader wasn't woken")
		}
	}
}

// testLog is what a store has logged.
type testLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *testLog) add(_, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *testLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// withClock has a store go by a clock that stands still.
func withClock(clock *testclock.FakePassiveClock) func(*Store) {
	return func(s *Store) { s.clock = clock }
}

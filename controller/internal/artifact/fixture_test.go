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
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/fluxcd/pkg/apis/meta"
)

// server serves archives by path, and counts what it is asked for.
type server struct {
	*httptest.Server
	archives map[string][]byte
	asked    atomic.Int64
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{archives: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		archive, ok := s.archives[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(archive) // the client notices what it doesn't get
	}))
	t.Cleanup(s.Close)
	return s
}

// add serves an archive and returns the artifact that names it.
func (s *server) add(name string, archive []byte) *meta.Artifact {
	s.archives["/"+name] = archive
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

func header(h tar.Header) func(*tar.Writer) error {
	return func(w *tar.Writer) error { return w.WriteHeader(&h) }
}

// newTestStore returns a store in a folder of its own, above which nothing may
// appear.
func newTestStore(t *testing.T, limits Limits) (store *Store, above string) {
	t.Helper()
	above = t.TempDir()
	dir := filepath.Join(above, "store")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return NewStore(dir, "", limits), above
}

// newClockedStore returns a store with a clock that stands still.
func newClockedStore(t *testing.T) (*Store, *testclock.FakePassiveClock) {
	t.Helper()
	store, _ := newTestStore(t, Limits{})
	now := testclock.NewFakePassiveClock(time.Now())
	store.clock = now
	return store, now
}

func readStart(store *Store, artifact *meta.Artifact) (content string, err error) {
	for {
		err = store.Read(context.Background(), artifact, func(files fs.FS) error {
			bytes, err := fs.ReadFile(files, "docs/start.md")
			content = string(bytes)
			return err
		})
		if !errors.Is(err, ErrBusy) { // which it is on a machine that is
			return content, err
		}
	}
}

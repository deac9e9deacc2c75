package artifact

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fluxcd/pkg/apis/meta"
)

func TestArtifactIsFetchedOnceForAllReaders(t *testing.T) {
	s := newServer(t)
	store, _ := newTestStore(t, Limits{})
	artifact := s.add("a.tar.gz", pack(t, file("docs/start.md", "# Start\n")))
	var readers sync.WaitGroup
	for range 20 {
		readers.Go(func() {
			if content, err := readStart(store, artifact); err != nil || content != "# Start\n" {
				t.Errorf("got %q, %v", content, err)
			}
		})
	}
	readers.Wait()
	if got := s.asked.Load(); got != 1 {
		t.Errorf("the server was asked %d times", got)
	}
}

func TestHostileArtifactIsRefused(t *testing.T) {
	tests := map[string]struct {
		limits Limits
		write  func(*tar.Writer) error
		spoil  func(*meta.Artifact)
		want   string
	}{
		"a path that leads out":     {write: file("../../out.md", "x"), want: "invalid name"},
		"an absolute path":          {write: file("/out.md", "x"), want: "invalid name"},
		"a link":                    {write: header(tar.Header{Typeflag: tar.TypeSymlink, Name: "docs/start.md", Linkname: "/etc/passwd"}), want: "start.md"},
		"a device":                  {write: header(tar.Header{Typeflag: tar.TypeChar, Name: "docs/start.md"}), want: "unsupported file type"},
		"another digest":            {write: file("docs/start.md", "x"), spoil: func(a *meta.Artifact) { a.Digest = "sha256:" + strings.Repeat("0", 64) }, want: "doesn't match"},
		"no digest":                 {write: file("docs/start.md", "x"), spoil: func(a *meta.Artifact) { a.Digest = "" }, want: "empty digest"},
		"an artifact that is gone":  {write: file("docs/start.md", "x"), spoil: func(a *meta.Artifact) { a.URL += "-gone" }, want: ErrNotFound.Error()},
		"one that says it is large": {write: file("docs/start.md", "x"), spoil: func(a *meta.Artifact) { a.Size = new(int64(1 << 40)) }, want: "leave out of the source"},
		"a large download":          {limits: Limits{DownloadBytes: 10}, write: file("docs/start.md", "x"), want: "max download size"},
		"little that unpacks to much": {limits: Limits{Bytes: 1 << 20}, write: func(w *tar.Writer) error {
			const size = 64 << 20
			if err := w.WriteHeader(&tar.Header{Name: "docs/start.md", Mode: 0o644, Size: size}); err != nil {
				return err
			}
			_, err := io.CopyN(w, zeros{}, size)
			return err
		}, want: "bigger than max archive size"},
		"more files than a book can have": {limits: Limits{Entries: 1000}, write: func(w *tar.Writer) error {
			for i := range 100_000 {
				if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("docs/%d.md", i), Mode: 0o644}); err != nil {
					return err
				}
			}
			return nil
		}, want: "has more than 1000 files and folders"},
		"folders in folders": {limits: Limits{Entries: 1000}, write: func(w *tar.Writer) error {
			for i := range 10 {
				if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%d/", i) + strings.Repeat("a/", 500) + "x.md", Mode: 0o644}); err != nil {
					return err
				}
			}
			return nil
		}, want: "has more than 1000 files and folders"},
		"small files that take much of the disk": {limits: Limits{Bytes: 1 << 20}, write: func(w *tar.Writer) error {
			for i := range 1000 {
				if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("docs/%d.md", i), Mode: 0o644}); err != nil {
					return err
				}
			}
			return nil
		}, want: "takes more than 1048576 bytes of the disk"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			store, above := newTestStore(t, test.limits)
			artifact := s.add("a.tar.gz", pack(t, test.write))
			if test.spoil != nil {
				test.spoil(artifact)
			}
			_, err := readStart(store, artifact)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("the error is %v, should say %q", err, test.want)
			}
			entries, err := os.ReadDir(above)
			if err != nil || len(entries) != 1 {
				t.Errorf("something is beside the store: %v, %v", entries, err)
			}
			if kept, err := filepath.Glob(filepath.Join(store.dir, "*", "*")); err != nil || len(kept) != 0 {
				t.Errorf("something of it is kept: %v, %v", kept, err)
			}
		})
	}
}

func TestHardLinkIsLeftOut(t *testing.T) {
	s := newServer(t)
	store, _ := newTestStore(t, Limits{})
	artifact := s.add("a.tar.gz", pack(t, header(tar.Header{Typeflag: tar.TypeLink, Name: "docs/start.md", Linkname: "/etc/passwd"})))
	if content, err := readStart(store, artifact); err != nil || content != "" {
		t.Errorf("got %q, %v; it should be an empty file", content, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestFailedFetchIsRetried(t *testing.T) {
	s := newServer(t)
	store, _ := newTestStore(t, Limits{})
	archive := pack(t, file("docs/start.md", "# Start\n"))
	artifact := s.add("a.tar.gz", archive)
	delete(s.archives, "/a.tar.gz")
	if _, err := readStart(store, artifact); !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	s.add("a.tar.gz", archive)
	if content, err := readStart(store, artifact); err != nil || content != "# Start\n" {
		t.Errorf("got %q, %v", content, err)
	}
}

func TestKeptBytesAreBounded(t *testing.T) {
	s := newServer(t)
	store, _ := newTestStore(t, Limits{KeptBytes: 5 * block})
	var artifacts []*meta.Artifact
	for i := range 5 {
		artifact := s.add(fmt.Sprintf("%d.tar.gz", i), pack(t, file("docs/start.md", strings.Repeat(fmt.Sprint(i), 1000))))
		artifacts = append(artifacts, artifact)
		if _, err := readStart(store, artifact); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadDir(store.dir)
	if err != nil || len(kept) != 2 {
		t.Errorf("%d artifacts are kept, %v", len(kept), err)
	}
	before := s.asked.Load()
	if _, err := readStart(store, artifacts[4]); err != nil || s.asked.Load() != before {
		t.Errorf("the last one was fetched again: %v", err)
	}
	if _, err := readStart(store, artifacts[0]); err != nil || s.asked.Load() == before {
		t.Errorf("the first one was not fetched again: %v", err)
	}
}

func TestArtifactBeingReadIsNotEvicted(t *testing.T) {
	s := newServer(t)
	store, _ := newTestStore(t, Limits{KeptBytes: 1})
	first := s.add("1.tar.gz", pack(t, file("docs/start.md", "first")))
	second := s.add("2.tar.gz", pack(t, file("docs/start.md", "second")))
	err := store.Read(t.Context(), first, func(files fs.FS) error {
		if _, err := readStart(store, second); err != nil {
			return err
		}
		content, err := fs.ReadFile(files, "docs/start.md")
		if string(content) != "first" {
			t.Errorf("got %q", content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCanceledWaiterLeavesFetchRunning cancels a reader that waits for another reader's fetch.
func TestCanceledWaiterLeavesFetchRunning(t *testing.T) {
	s := newServer(t)
	store, _ := newTestStore(t, Limits{})
	artifact := s.add("a.tar.gz", pack(t, file("docs/start.md", "# Start\n")))
	asked, answer := make(chan struct{}), make(chan struct{})
	s.Config.Handler = waiting(s.Config.Handler, asked, answer)
	fetched := make(chan error)
	go func() {
		_, err := readStart(store, artifact)
		fetched <- err
	}()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.Read(ctx, artifact, func(fs.FS) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(answer)
	if err := <-fetched; err != nil {
		t.Error(err)
	}
}

// TestReadersDontWaitForHangingServer holds all slots: other readers are told at once that
// they have to come back.
func TestReadersDontWaitForHangingServer(t *testing.T) {
	s := newServer(t)
	store, _ := newTestStore(t, Limits{})
	answer := make(chan struct{})
	next := s.Config.Handler
	asked := make(chan struct{}, maxFetches)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-answer
		next.ServeHTTP(w, r)
	})
	var fetches sync.WaitGroup
	var artifacts []*meta.Artifact
	for i := range maxFetches + 1 {
		artifacts = append(artifacts, s.add(fmt.Sprintf("%d.tar.gz", i), pack(t, file("docs/start.md", fmt.Sprint(i)))))
	}
	for _, artifact := range artifacts[:maxFetches] {
		fetches.Go(func() {
			if _, err := readStart(store, artifact); err != nil {
				t.Error(err)
			}
		})
		<-asked
	}
	for what, artifact := range map[string]*meta.Artifact{"the same artifact": artifacts[0], "another artifact": artifacts[maxFetches]} {
		if err := store.Read(t.Context(), artifact, func(fs.FS) error { return nil }); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	close(answer)
	fetches.Wait()
	if _, err := readStart(store, artifacts[maxFetches]); err != nil {
		t.Error(err)
	}
}

func TestFetchTimeout(t *testing.T) {
	s := newServer(t)
	store, _ := newTestStore(t, Limits{Timeout: time.Millisecond})
	artifact := s.add("a.tar.gz", pack(t, file("docs/start.md", "# Start\n")))
	s.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if _, err := readStart(store, artifact); err == nil || !strings.Contains(err.Error(), "takes longer than 1ms") {
		t.Errorf("got %v", err)
	}
}

// TestFetchedArtifactIsNeverBusy asks often: a choice at random would be right often.
func TestFetchedArtifactIsNeverBusy(t *testing.T) {
	s := newServer(t)
	store, now := newClockedStore(t)
	artifact := s.add("a.tar.gz", pack(t, file("docs/start.md", "# Start\n")))
	for range 100 {
		if err := store.Read(t.Context(), artifact, func(fs.FS) error { return nil }); err != nil {
			t.Fatal(err)
		}
		now.SetTime(now.Now().Add(time.Hour))
	}
}

// TestSlowFailureIsRemembered is done again after a while only, or when the server has
// something new.
func TestSlowFailureIsRemembered(t *testing.T) {
	s := newServer(t)
	store, now := newClockedStore(t)
	artifact := s.add("a.tar.gz", pack(t, file("docs/start.md", "# Start\n")))
	working := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.asked.Add(1)
		now.SetTime(now.Now().Add(10 * time.Second))
		http.Error(w, "overloaded", http.StatusInternalServerError)
	})
	for range 3 {
		if _, err := readStart(store, artifact); err == nil || !strings.Contains(err.Error(), "giving up") {
			t.Errorf("got %v", err)
		}
	}
	if got := s.asked.Load(); got != 1 {
		t.Errorf("the server was asked %d times", got)
	}
	now.SetTime(now.Now().Add(failureTTLFactor * 10 * time.Second))
	if _, err := readStart(store, artifact); err == nil || s.asked.Load() != 2 {
		t.Errorf("after a while the server was asked %d times: %v", s.asked.Load(), err)
	}
	s.Config.Handler = working
	artifact.LastUpdateTime = metav1.NewTime(now.Now())
	if content, err := readStart(store, artifact); err != nil || content != "# Start\n" {
		t.Errorf("stored again: got %q, %v", content, err)
	}
}

// waiting answers when it is told to.
func waiting(next http.Handler, asked, answer chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-answer
		next.ServeHTTP(w, r)
	})
}

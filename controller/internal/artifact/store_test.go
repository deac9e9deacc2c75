package artifact

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/fluxcd/pkg/apis/meta"
)

func TestHostileArtifactIsRefused(t *testing.T) {
	tests := map[string]struct {
		limits Limits
		write  func(*tar.Writer) error
		spoil  func(*meta.Artifact)
		want   string // of the error
		logged string
	}{
		"a path that leads out":                 {write: file("../../out.md", "x"), want: "invalid name"},
		"an absolute path":                      {write: file("/out.md", "x"), want: "invalid name"},
		"a link":                                {write: header(tar.Header{Typeflag: tar.TypeSymlink, Name: "docs/start.md", Linkname: "/etc/passwd"}), want: "start.md"},
		"a device":                              {write: header(tar.Header{Typeflag: tar.TypeChar, Name: "docs/start.md"}), want: "unsupported file type"},
		"another digest":                        {write: file("docs/start.md", "x"), spoil: func(a *meta.Artifact) { a.Digest = "sha256:" + strings.Repeat("0", 64) }, want: unsaid, logged: "doesn't match"},
		"no digest":                             {write: file("docs/start.md", "x"), spoil: func(a *meta.Artifact) { a.Digest = "" }, want: unsaid, logged: "digest"},
		"an artifact that is gone":              {write: file("docs/start.md", "x"), spoil: func(a *meta.Artifact) { a.URL += "-gone" }, want: unsaid, logged: "404"},
		"one that says it is large":             {write: file("docs/start.md", "x"), spoil: func(a *meta.Artifact) { a.Size = new(int64(1 << 40)) }, want: "leave out of the source"},
		"a large download":                      {limits: Limits{DownloadBytes: 10}, write: file("docs/start.md", "x"), want: unsaid, logged: "larger than 10 bytes"},
		"one file, again and again":             {limits: Limits{Entries: 1000}, write: again(100_000, tar.Header{Name: "docs/start.md", Mode: 0o644}), want: "has more than 1000 files and folders"},
		"one folder, again and again":           {limits: Limits{Entries: 1000}, write: again(100_000, tar.Header{Typeflag: tar.TypeDir, Name: "docs/", Mode: 0o755}), want: "has more than 1000 files and folders"},
		"links that are left out":               {limits: Limits{Entries: 1000}, write: again(100_000, tar.Header{Typeflag: tar.TypeSymlink, Name: "docs/start.md", Linkname: "x"}), want: "has more than 1000 files and folders"},
		"an archive that goes on after its end": {limits: Limits{Entries: 1, Bytes: block}, write: again(100, tar.Header{Name: "docs/start.md", Mode: 0o644, PAXRecords: map[string]string{"TEST.x": strings.Repeat("x", 1<<19)}}), want: "longer than its files"},
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
			store := newTestStore(t, test.limits, nil)
			s := newServer(t, store)
			artifact := s.add("a.tar.gz", pack(t, test.write))
			if test.spoil != nil {
				test.spoil(artifact)
			}
			_, err := store.fetched(own, artifact)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("the error is %v, should say %q", err, test.want)
			}
			if log := store.log.String(); !strings.Contains(log, test.logged) {
				t.Errorf("the log is %q, should say %q", log, test.logged)
			}
			entries, err := os.ReadDir(store.above)
			if err != nil || len(entries) != 1 {
				t.Errorf("something is beside the store: %v, %v", entries, err)
			}
			if kept, err := filepath.Glob(filepath.Join(store.dir, "*", "*")); err != nil || len(kept) != 0 {
				t.Errorf("something of it is kept: %v, %v", kept, err)
			}
		})
	}
}

func TestArtifactIsFetchedOnceForAllReaders(t *testing.T) {
	store := newTestStore(t, Limits{}, nil)
	s := newServer(t, store)
	artifact := s.add("a.tar.gz", start(t, "# Start\n"))
	woken := make(chan types.NamespacedName, 20)
	store.OnFetched(func(reader types.NamespacedName) { woken <- reader })
	answer := make(chan struct{})
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		<-answer
		s.serve(w, r)
	})
	want := map[types.NamespacedName]bool{}
	for i := range 20 {
		reader := types.NamespacedName{Namespace: "docs", Name: fmt.Sprint(i)}
		want[reader] = true
		if err := store.Read(reader, own, artifact, nil); !isBusy(err) {
			t.Fatalf("got %v", err)
		}
	}
	close(answer)
	got := map[types.NamespacedName]bool{}
	for range want {
		got[<-woken] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other readers were woken than those who waited:\n%s", diff)
	}
	if content, err := store.start(own, artifact); err != nil || content != "# Start\n" {
		t.Errorf("got %q, %v", content, err)
	}
	if got := s.asked.Load(); got != 1 {
		t.Errorf("the server was asked %d times", got)
	}
}

// TestUnpackingEndsInTime has an archive that is never read to its end: as large as it may
// be, and as slow.
func TestUnpackingEndsInTime(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("it takes too long")
	endless, writer := io.Pipe()
	go func() {
		compressed := gzip.NewWriter(writer)
		archive := tar.NewWriter(compressed)
		for i := 0; ; i++ {
			if i == 10 {
				cancel(late)
			}
			err := errors.Join(archive.WriteHeader(&tar.Header{Name: fmt.Sprintf("%d.md", i), Mode: 0o644}), archive.Flush(), compressed.Flush())
			if err != nil {
				return // nobody reads any more
			}
		}
	}()
	_, err := unpack(ctx, endless, t.TempDir(), Limits{Entries: 1 << 40, Bytes: 1 << 60})
	_ = endless.Close()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestKnownDigestIsNoRight has a source say that it has what another source has.
func TestKnownDigestIsNoRight(t *testing.T) {
	store := newTestStore(t, Limits{}, nil)
	s := newServer(t, store)
	known := s.add("a.tar.gz", start(t, "# Secret\n"))
	if _, err := store.fetched(own, known); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		of  Source
		url string
	}{
		"at an address where it isn't":                   {own, s.URL + "/dead.tar.gz"},
		"in another namespace, at a dead address":        {Source{Kind: own.Kind, Namespace: "other", Name: own.Name}, s.URL + "/dead.tar.gz"},
		"another source, which its server knows no more": {Source{Kind: own.Kind, Namespace: own.Namespace, Name: "other"}, known.URL},
	} {
		t.Run(name, func(t *testing.T) {
			s.answers(http.NotFound)
			copied := *known
			copied.URL = test.url
			if content, err := store.fetched(test.of, &copied); err == nil || content != "" {
				t.Errorf("got %q, %v", content, err)
			}
		})
	}
}

// TestFailureTellsNothingOfTheNetwork: whatever is at an address, its author learns only that
// it failed.
func TestFailureTellsNothingOfTheNetwork(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		url    string
		logged string
	}{
		"nothing":      {url: closed.URL, logged: "connection refused"},
		"another word": {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, logged: "418"},
		"no TLS":       {url: "https", logged: "HTTP response to HTTPS client"},
		"a web page":   {answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, logged: "doesn't match"},
		"a way on": {answer: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/elsewhere" {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
			}
		}, logged: "302"},
	} {
		t.Run(name, func(t *testing.T) {
			store := newTestStore(t, Limits{}, nil)
			s := newServer(t, store)
			artifact := s.add("a.tar.gz", start(t, "# Start\n"))
			s.answers(test.answer)
			switch test.url {
			case "":
			case "https":
				artifact.URL = strings.Replace(artifact.URL, "http:", "https:", 1)
			default:
				store.allow(test.url)
				artifact.URL = test.url + "/a.tar.gz"
			}
			_, err := store.fetched(own, artifact)
			if err == nil || err.Error() != unsaid {
				t.Errorf("the error is %v, should be %q", err, unsaid)
			}
			if log := store.log.String(); !strings.Contains(log, test.logged) {
				t.Errorf("the log is %q, should say %q", log, test.logged)
			}
		})
	}
}

// unsaid is all that whoever may write a source's status learns.
const unsaid = "it couldn't be fetched; the controller's log says why"

func isBusy(err error) bool {
	_, ok := errors.AsType[*BusyError](err)
	return ok
}

// again writes the same header many times.
func again(times int, h tar.Header) func(*tar.Writer) error {
	return func(w *tar.Writer) error {
		for range times {
			if err := w.WriteHeader(&h); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestHardLinkIsLeftOut(t *testing.T) {
	store := newTestStore(t, Limits{}, nil)
	s := newServer(t, store)
	artifact := s.add("a.tar.gz", pack(t, header(tar.Header{Typeflag: tar.TypeLink, Name: "docs/start.md", Linkname: "/etc/passwd"})))
	if content, err := store.fetched(own, artifact); err != nil || content != "" {
		t.Errorf("got %q, %v; it should be an empty file", content, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestFetchTimeout(t *testing.T) {
	store := newTestStore(t, Limits{Timeout: time.Millisecond}, nil)
	s := newServer(t, store)
	artifact := s.add("a.tar.gz", start(t, "# Start\n"))
	s.hangs("")
	if _, err := store.fetched(own, artifact); err == nil || !strings.Contains(store.log.String(), "takes longer than 1ms") {
		t.Errorf("got %v, logged %s", err, store.log)
	}
}

// TestFailedFetchIsTriedAgain after a while, which is longer each time; at once if the
// server has stored the artifact again. Until then it is what it was: failed.
func TestFailedFetchIsTriedAgain(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Now())
	store := newTestStore(t, Limits{}, withClock(clock))
	s := newServer(t, store)
	artifact := s.add("a.tar.gz", start(t, "# Start\n"))
	s.answers(http.NotFound)
	for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if i > 0 {
			if _, err := store.start(own, artifact); err == nil || isBusy(err) { // and has it fetched again
				t.Fatalf("got %v", err)
			}
			<-store.woken
		}
		_, err := store.fetched(own, artifact)
		if failed, ok := errors.AsType[*FailedError](err); !ok || failed.Retry != want {
			t.Fatalf("after %d failures: got %v, want it to be tried again after %s", i+1, err, want)
		}
		if got := s.asked.Load(); got != int64(i+1) {
			t.Errorf("the server was asked %d times, want %d", got, i+1)
		}
		clock.SetTime(clock.Now().Add(want))
	}
	clock.SetTime(clock.Now().Add(-time.Millisecond))
	if _, err := store.start(own, artifact); err == nil || s.asked.Load() != 3 {
		t.Errorf("it was tried again too early: %v", err)
	}
	s.answers(nil)
	artifact.LastUpdateTime = metav1.NewTime(clock.Now())
	if content, err := store.fetched(own, artifact); err != nil || content != "# Start\n" {
		t.Errorf("stored again: got %q, %v", content, err)
	}
}

// TestNewerArtifactReplacesOneThatWaits: what nobody wants any more isn't fetched.
func TestNewerArtifactReplacesOneThatWaits(t *testing.T) {
	store := NewStore(t.TempDir(), Hosts{addresses: map[string]bool{"docs:80": true}}, Limits{}, logr.Discard())
	for i := range 100 {
		_ = store.Read(types.NamespacedName{Name: "reader"}, own, &meta.Artifact{URL: "http://docs/a", Digest: fmt.Sprint(i)}, nil)
	}
	if len(store.byKey) != 1 || store.recent.Len() != 1 || len(store.queue.waiting[own.Namespace]) != 1 {
		t.Errorf("%d artifacts are remembered, %d wait", len(store.byKey), len(store.queue.waiting[own.Namespace]))
	}
}

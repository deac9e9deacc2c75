package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// memoryLimit is that of config/manager.
const memoryLimit = 1 << 30

// TestNoTenantEndsTheController has as many large books as LARGE_BOOKS says, in several
// namespaces, made at once and then changed at once. None of them is lost or starves, small
// views of others are as quick as ever, and the controller stays within its memory.
func TestNoTenantEndsTheController(t *testing.T) {
	f, served := newSourcesCluster(t)
	served.setUp()
	views := 10
	if more, err := strconv.Atoi(os.Getenv("LARGE_BOOKS")); err == nil {
		views = more
	}
	f.Env = append(f.Env, fmt.Sprint("GOMEMLIMIT=", memoryLimit))
	tenants := []*fixture{f, fixtureIn(t, f.Product), fixtureIn(t, f.Product)}
	other := fixtureIn(t, f.Product)
	revision := served.offerLarge(tenants, "First")
	f.controller("memory")
	other.create(other.view("docs"))
	other.ready("docs")

	began := time.Now()
	for i := range views {
		tenant := tenants[i%len(tenants)]
		view := sourceView(tenant.namespace, fmt.Sprint("large-", i))
		view.Spec.ContentFrom[0].SourceRef.Name = "large"
		tenant.create(view)
	}
	other.isQuick("while-made", "large books are made")
	f.largeBooksServe(revision, views)
	t.Logf("%d books of 31 MiB were made within %s", views, time.Since(began).Round(time.Second))

	began = time.Now()
	revision = served.offerLarge(tenants, "Second")
	other.isQuick("while-changed", "large books are changed")
	f.largeBooksServe(revision, views)
	t.Logf("they were changed within %s", time.Since(began).Round(time.Second))
	peak := peakOf(f, "memory")
	t.Logf("at most %d MiB resident", peak>>20)
	if peak > memoryLimit {
		t.Errorf("that is more than %d MiB", memoryLimit>>20)
	}
}

// offerLarge has a source of each namespace offer the same large book, with a page of its
// own, and returns the revision.
func (s *sources) offerLarge(tenants []*fixture, page string) string {
	tenants[0].Helper()
	archive := largeArchive(tenants[0].T, 31<<20, page)
	sum := fmt.Sprintf("%x", sha256.Sum256(archive))
	revision := "latest@sha256:" + sum
	for _, f := range tenants {
		artifact := &meta.Artifact{URL: s.url(f, "large", sum), Digest: "sha256:" + sum, Revision: revision}
		s.mu.Lock()
		s.archives[strings.SplitN(artifact.URL, ".local.", 2)[1]] = archive
		s.mu.Unlock()
		s.set(f, "large", artifact)
	}
	return revision
}

// isQuick measures edits and repairs of a small view, which it makes.
func (f *fixture) isQuick(view, while string) {
	f.Helper()
	edits, repairs := f.latencies(view)
	f.Logf("while %s: edits of a small view %v, repairs %v", while, edits, repairs)
	for what, took := range map[string][]time.Duration{"edit": edits, "repair": repairs} {
		// The machine is busy with books; what waits for them waits much longer.
		if most := median(took); most > 10*time.Second {
			f.Errorf("the %s took %s", what, most)
		}
	}
}

// largeBooksServe waits until all large books serve a revision.
func (f *fixture) largeBooksServe(revision string, views int) {
	f.Helper()
	var left []string
	allServe := func(ctx context.Context) (bool, error) {
		var list v1.MarkdownViewList
		if err := f.Client.List(ctx, &list); err != nil {
			left = []string{err.Error()}
			return false, nil //nolint:nilerr // it is busy, and asked again
		}
		left = nil
		for i := range list.Items {
			view := &list.Items[i]
			if strings.HasPrefix(view.Name, "large-") && (view.Status.LastAppliedRevision != revision || !conditions.IsReady(view)) {
				left = append(left, fmt.Sprintf("%s/%s: %s", view.Namespace, view.Name, readyMessage(view)))
			}
		}
		return len(left) == 0, nil
	}
	if err := wait.PollUntilContextTimeout(f.Context(), time.Second, time.Duration(views)*time.Minute, true, allServe); err != nil {
		f.Fatalf("at most %d MiB are resident; of %d large books %d don't serve what they should: %v:\n%s",
			peakOf(f, "memory")>>20, views, len(left), err, strings.Join(left, "\n"))
	}
}

// TestCachesHoldNoPages looks for a page's bytes in the heap, and counts what ConfigMaps
// cost that anyone labels.
func TestCachesHoldNoPages(t *testing.T) {
	f := newCluster(t)
	pprof := freeAddress(t)
	f.controller("digests", "--pprof-addr="+pprof)
	f.create(f.view("docs"))
	f.ready("docs")
	before := heapOf(t, pprof)
	const labelled = 100
	for i := range labelled {
		f.create(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprint("labelled-", i), Labels: generator.Labels("nobody")},
			Data:       map[string]string{"page.md": strings.Repeat("x", 1000<<10)},
		})
	}
	f.create(f.view("after")) // by when the cache has them
	f.ready("after")
	cost := heapOf(t, pprof) - before
	t.Logf("%d ConfigMaps of 1,000 KiB cost %d KiB of heap", labelled, cost>>10)
	if cost > labelled*100<<10 {
		t.Error("the cache holds them")
	}
	t.Logf("at most %d MiB resident", peakOf(f, "digests")>>20)
}

// TestBooksDontStayInMemory has views with large books, written in the view itself and in
// ConfigMaps that they name, and looks at the heap once all of them are applied.
func TestBooksDontStayInMemory(t *testing.T) {
	f := newCluster(t)
	pprof := freeAddress(t)
	f.controller("books", "--pprof-addr="+pprof)
	f.create(f.view("before"))
	f.ready("before")
	before := heapOf(t, pprof)
	const books, page = 20, 900 << 10
	text := strings.Repeat("x", page)
	for i := range books {
		inline := f.view(fmt.Sprint("inline-", i))
		inline.Spec.Markdowns["large.md"] = text
		f.create(inline)
		named := f.view(fmt.Sprint("named-", i))
		named.Spec.ContentFrom = []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: named.Name}}}
		f.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: named.Name}, Data: map[string]string{"large.md": text}})
		f.create(named)
	}
	for i := range books {
		f.ready(fmt.Sprint("inline-", i))
		f.ready(fmt.Sprint("named-", i))
	}
	// What was read last of ConfigMaps is kept, up to 8 MiB.
	cost := heapOf(t, pprof) - before - 8<<20
	t.Logf("%d books of %d KiB cost %d KiB of heap", 2*books, page>>10, cost>>10)
	// Either half of them would be much more.
	if cost > 2*books*page/5 {
		t.Error("they are held")
	}
}

// heapOf is how many bytes of a program's heap are in use once collections free nothing more:
// what a sync.Pool keeps lives through one, and what is worked on through as many as that takes.
func heapOf(t *testing.T, address string) int64 {
	t.Helper()
	const rest = 64 << 10
	last := collectedHeap(t, address)
	settled := func(context.Context) (bool, error) {
		before := last
		last = collectedHeap(t, address)
		return last > before-rest && last < before+rest, nil
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 500*time.Millisecond, time.Minute, false, settled); err != nil {
		t.Fatalf("the heap doesn't come to rest: %d bytes last: %v", last, err)
	}
	return last
}

// collectedHeap is how many bytes of a program's heap are in use right after a collection.
func collectedHeap(t *testing.T, address string) int64 {
	t.Helper()
	response, err := http.Get("http://" + address + "/debug/pprof/heap?gc=1&debug=1") //nolint:noctx // it answers at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(text.String(), "# HeapAlloc = ")
	line, _, _ := strings.Cut(after, "\n")
	bytes, err := strconv.ParseInt(line, 10, 64)
	if !found || err != nil {
		t.Fatalf("the profile has no HeapAlloc: %v", err)
	}
	return bytes
}

// peakOf is the most memory that a program of the test's cluster had resident: others run it,
// too.
func peakOf(f *fixture, program string) int64 {
	f.Helper()
	state, err := f.component(program).State(f.Context())
	f.must(err)
	if !state.Running {
		f.Fatalf("%s doesn't run: it has ended", program)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", state.PID))
	if err != nil {
		f.Skip("only Linux tells")
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	f.must(err)
	return kib << 10
}

// largeArchive is an archive of a book of many pages, the first of which has a title.
func largeArchive(t *testing.T, size int, title string) []byte {
	t.Helper()
	const page = 250 << 10
	words := rand.New(rand.NewPCG(1, 2))
	var buffer bytes.Buffer
	compressed, _ := gzip.NewWriterLevel(&buffer, gzip.BestSpeed)
	archive := tar.NewWriter(compressed)
	var failed error
	write := func(name, text string) {
		failed = errors.Join(failed, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := archive.Write([]byte(text))
		failed = errors.Join(failed, err)
	}
	var summary strings.Builder
	for i := range size / page {
		fmt.Fprintf(&summary, "- [Page %d](page-%d.md)\n", i, i)
		text := strings.Builder{}
		if i == 0 {
			fmt.Fprintf(&text, "# %s\n", title)
		}
		for text.Len() < page-40 {
			fmt.Fprintf(&text, "some words of %x and %x\n", words.Uint32()%4096, words.Uint32()%4096)
		}
		write(fmt.Sprintf("page-%d.md", i), text.String())
	}
	write("SUMMARY.md", summary.String())
	if err := errors.Join(failed, archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

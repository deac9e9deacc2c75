package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster/build"
)

// sources are those of Flux without Flux: ExternalArtifacts, and a server in the place of
// source-watcher's.
type sources struct {
	server *httptest.Server
	asked  atomic.Int64

	mu       sync.Mutex
	archives map[string][]byte
	answers  map[string]http.HandlerFunc // by what the path holds
}

// newSourcesCluster starts a cluster for one test that knows Flux's sources. Its
// controllers ask the server, whatever host an address names.
func newSourcesCluster(t *testing.T) (*fixture, *sources) {
	t.Helper()
	f := newCluster(t)
	folders, err := build.FluxDefinitions(t.Context())
	f.must(err)
	for _, folder := range folders {
		_, err := f.Cluster.Kubectl(t.Context(), "", "apply", "--server-side", "--filename", folder)
		f.must(err)
	}
	f.must(sourcev1.AddToScheme(f.Client.Scheme()))
	f.eventually("sources to be known", func() string {
		if err := f.Client.List(t.Context(), &sourcev1.ExternalArtifactList{}); err != nil {
			return err.Error()
		}
		return ""
	})
	s := &sources{}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	f.Env = []string{"SOURCE_CONTROLLER_LOCALHOST=" + s.server.Listener.Addr().String()}
	return f, s
}

// setUp forgets what was served before.
func (s *sources) setUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.archives, s.answers = map[string][]byte{}, map[string]http.HandlerFunc{}
	s.asked.Store(0)
}

func (s *sources) serve(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	s.mu.Lock()
	archive, ok := s.archives[r.URL.Path]
	var answer http.HandlerFunc
	for part, handler := range s.answers {
		if strings.Contains(r.URL.Path, part) {
			answer = handler
		}
	}
	s.mu.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
	case ok:
		_, _ = w.Write(archive) // the client notices what it doesn't get
	default:
		http.NotFound(w, r)
	}
}

// answer has requests for a namespace's artifacts answered so; nil: with the artifacts.
func (s *sources) answer(namespace string, answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer == nil {
		delete(s.answers, namespace)
		return
	}
	s.answers[namespace] = answer
}

// hang has requests for a namespace's artifacts wait until the returned function is called.
func (s *sources) hang(namespace string) (goOn func()) {
	waiting := make(chan struct{})
	s.answer(namespace, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server doesn't notice that the client has left
		select {
		case <-waiting:
			s.serve(w, r)
		case <-r.Context().Done():
		}
	})
	return func() {
		s.answer(namespace, nil)
		close(waiting)
	}
}

// url is an artifact's address, as source-watcher gives it.
func (*sources) url(f *fixture, name, file string) string {
	return fmt.Sprintf("http://source-watcher.flux-system.svc.cluster.local./externalartifact/%s/%s/%s.tar.gz", f.namespace, name, file)
}

// offer has a source offer a book of one page, and returns the revision.
func (s *sources) offer(f *fixture, name, page string) string {
	f.Helper()
	archive := book(f.T, page)
	sum := fmt.Sprintf("%x", sha256.Sum256(archive))
	artifact := &meta.Artifact{URL: s.url(f, name, sum), Digest: "sha256:" + sum, Revision: "latest@sha256:" + sum}
	s.mu.Lock()
	s.archives[strings.SplitN(artifact.URL, ".local.", 2)[1]] = archive
	s.mu.Unlock()
	s.set(f, name, artifact)
	return artifact.Revision
}

// set writes the status of a source, which it makes if there is none.
func (*sources) set(f *fixture, name string, artifact *meta.Artifact) {
	f.Helper()
	source := &sourcev1.ExternalArtifact{}
	if !f.get(source, name) {
		source = &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
		f.create(source)
	}
	now := metav1.NewTime(time.Now())
	before := source.DeepCopy()
	source.Status.Artifact = artifact.DeepCopy()
	source.Status.Artifact.LastUpdateTime = now
	source.Status.Artifact.Path = "unused"
	source.Status.Conditions = []metav1.Condition{{Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: "Succeeded", LastTransitionTime: now}}
	f.must(f.Client.Status().Patch(f.Context(), source, client.MergeFrom(before)))
}

// artifact is what a source offers.
func (*sources) artifact(f *fixture, name string) meta.Artifact {
	f.Helper()
	source := &sourcev1.ExternalArtifact{}
	f.get(source, name)
	return *source.Status.Artifact
}

// sourceView takes its pages from the source of its own name.
func sourceView(namespace, name string) *v1.MarkdownView {
	return &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1.MarkdownViewSpec{ContentFrom: []v1.ContentSource{{SourceRef: &v1.SourceReference{Kind: v1.ExternalArtifactKind, Name: name}}}},
	}
}

// book is an archive of a book of one page.
func book(t *testing.T, page string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(compressed)
	var failed error
	for name, text := range map[string]string{"SUMMARY.md": "- [Start](start.md)\n", "start.md": page} {
		failed = errors.Join(failed, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := archive.Write([]byte(text))
		failed = errors.Join(failed, err)
	}
	if err := errors.Join(failed, archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

package pages

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

func TestMissingInputsAreNamed(t *testing.T) {
	noArtifact := gitRepository("docs", map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "False", "message": "authentication failed"},
	}})
	tests := map[string]struct {
		content v1.ContentSource
		objects []client.Object
		set     func(*fixture)
		state   outcome.State
		reason  string
		message string
		retry   time.Duration
	}{
		"a folder": {
			content: v1.ContentSource{Directory: &v1.DirectorySource{Path: "docs"}},
			state:   outcome.Stalled, reason: v1.InvalidReason, message: "spec.contentFrom[0].directory is for build time",
		},
		"a ConfigMap that doesn't exist": {
			content: fromConfigMap(false),
			state:   outcome.Retrying, reason: v1.PagesNotFoundReason, message: "spec.contentFrom[0].configMapRef: ConfigMap more doesn't exist",
		},
		"a ConfigMap that a view generated": {
			content: fromConfigMap(false),
			objects: []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "more", Labels: generator.Labels("other")}}},
			state:   outcome.Stalled, reason: v1.InvalidReason, message: "generated from a view",
		},
		"a source that doesn't exist": {
			content: fromGit("", ""),
			state:   outcome.Retrying, reason: v1.SourceNotFoundReason, message: "GitRepository docs/handbook doesn't exist",
		},
		"a source of a kind that isn't installed": {
			content: v1.ContentSource{SourceRef: &v1.SourceReference{Kind: v1.BucketKind, Name: "handbook"}},
			state:   outcome.Retrying, reason: v1.SourceNotFoundReason, message: "the cluster has no Bucket", retry: unknownKindRecheck,
		},
		"a source without an artifact tells why": {
			content: fromGit("", ""), objects: []client.Object{noArtifact},
			state: outcome.Retrying, reason: v1.ArtifactFailedReason, message: "has no artifact yet: authentication failed", retry: progressRecheck,
		},
		"a source whose artifact is at another host": {
			content: fromGit("", ""),
			objects: []client.Object{gitRepository("docs", map[string]any{"artifact": map[string]any{
				"url": "http://169.254.169.254/", "digest": "d", "revision": "r", "path": "p", "lastUpdateTime": "2026-01-01T00:00:00Z",
			}})},
			state: outcome.Stalled, reason: v1.AccessDeniedReason, message: `GitRepository docs/handbook: its artifact is at the host "169.254.169.254"`,
		},
		"a source in another namespace, which isn't allowed": {
			content: fromGit("flux-system", ""), objects: []client.Object{gitRepository("flux-system", nil)},
			set:   func(f *fixture) { f.Sources.NoCrossNamespaceRefs = true },
			state: outcome.Stalled, reason: v1.AccessDeniedReason, message: "GitRepository flux-system/handbook is in another namespace",
		},
		"a source in a namespace that isn't watched": {
			content: fromGit("flux-system", ""), objects: []client.Object{gitRepository("flux-system", nil)},
			set:   func(f *fixture) { f.Sources.Namespaces = []string{"docs", "more"} },
			state: outcome.Stalled, reason: v1.AccessDeniedReason, message: "add the namespace to --namespaces",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.objects...)
			if test.set != nil {
				test.set(f)
			}
			f.view.Spec.ContentFrom = []v1.ContentSource{test.content}
			inputs, err := f.Find(t.Context(), f.view)
			got, ok := errors.AsType[*outcome.Error](err)
			if !ok {
				t.Fatalf("got %v, %v", inputs, err)
			}
			if got.State != test.state || got.Reason != test.reason || got.Retry != test.retry || !strings.Contains(got.Error(), test.message) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestOptionalConfigMapIsLeftOut(t *testing.T) {
	f := newFixture(t)
	f.view.Spec.ContentFrom = []v1.ContentSource{fromConfigMap(true)}
	if inputs, err := f.Find(t.Context(), f.view); err != nil || len(inputs) > 0 {
		t.Errorf("got %v, %v", inputs, err)
	}
}

func TestConfigMapIsReadOnceForEachVersion(t *testing.T) {
	f := newFixture(t, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "more"},
		Data:       map[string]string{"start.md": "# Start\n"}, BinaryData: map[string][]byte{"logo.png": {1}},
	})
	counting := &counter{Reader: f.Admin}
	f.APIReader = counting
	f.view.Spec.ContentFrom = []v1.ContentSource{fromConfigMap(false)}
	read := func() (version string, pages map[string][]byte) {
		t.Helper()
		inputs, err := f.Find(t.Context(), f.view)
		f.Must(err)
		book, err := inputs[0].Read(t.Context())
		f.Must(err)
		return inputs[0].Version, book.Pages
	}
	first, pages := read()
	if diff := cmp.Diff(map[string][]byte{"start.md": []byte("# Start\n"), "logo.png": {1}}, pages); diff != "" {
		t.Error(diff)
	}
	if again, _ := read(); again != first || counting.reads != 1 {
		t.Errorf("versions %q and %q, read %d times", first, again, counting.reads)
	}
	fakecluster.Edit(f.Cluster, "user", &corev1.ConfigMap{}, "docs", "more", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Changed\n" })
	if changed, pages := read(); changed == first || string(pages["start.md"]) != "# Changed\n" || counting.reads != 2 {
		t.Errorf("version %q, read %d times: %s", changed, counting.reads, pages)
	}
}

func TestKindOfSourcesIsWatchedFromTheFirstViewThatNamesIt(t *testing.T) {
	f := newFixture(t, gitRepository("docs", nil))
	if len(f.watcher.watched) > 0 {
		t.Error("it is watched before")
	}
	f.view.Spec.ContentFrom = []v1.ContentSource{fromGit("", "")}
	for range 2 {
		if _, err := f.Find(t.Context(), f.view); err == nil {
			t.Error("a source without an artifact gives pages")
		}
	}
	if len(f.watcher.watched) != 1 {
		t.Errorf("%d watches", len(f.watcher.watched))
	}
}

func TestArtifactIsRead(t *testing.T) {
	files := map[string]string{"docs/start.md": "# Start\n", "docs/SUMMARY.md": "- [Start](start.md)\n", "code.go": ""}
	for i := range 12 {
		files[fmt.Sprintf("bad/%02d\u200b.md", i)] = "" // a character that can't be seen
	}
	archive := archiveOf(t, files)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a.tar.gz" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(archive) // the client notices what it doesn't get
	}))
	t.Cleanup(server.Close)
	status := func(path string) map[string]any {
		return map[string]any{"artifact": map[string]any{
			"url": server.URL + path, "digest": fmt.Sprintf("sha256:%x", sha256.Sum256(archive)), "revision": "main@sha1:1",
			"path": "a", "lastUpdateTime": "2026-01-01T00:00:00Z",
		}}
	}
	tests := map[string]struct {
		status map[string]any
		path   string
		reason string // of the outcome; empty if it is read
		ends   string // how its message does
	}{
		"its folder":                  {status("/a.tar.gz"), "docs", "", ""},
		"an archive that is gone":     {status("/gone"), "docs", v1.ArtifactFailedReason, ""},
		"a folder that doesn't exist": {status("/a.tar.gz"), "none", v1.InvalidReason, ""},
		"a folder of twelve faults":   {status("/a.tar.gz"), "bad", v1.InvalidReason, "rename the file; and 9 more"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, gitRepository("docs", test.status))
			f.fetchFrom(server.Listener.Addr().String())
			f.view.Spec.ContentFrom = []v1.ContentSource{fromGit("", test.path)}
			inputs, err := f.Find(t.Context(), f.view)
			f.Must(err)
			if got := Revision(inputs); got != "main@sha1:1" {
				t.Errorf("the revision is %q", got)
			}
			if _, err := inputs[0].Read(t.Context()); err == nil {
				t.Fatal("it is there before it was fetched")
			}
			if woken := <-f.woken; woken != client.ObjectKeyFromObject(f.view) {
				t.Errorf("%s is woken", woken)
			}
			book, err := inputs[0].Read(t.Context())
			if test.reason == "" {
				f.Must(err)
				if diff := cmp.Diff(map[string][]byte{"start.md": []byte("# Start\n"), "SUMMARY.md": []byte("- [Start](start.md)\n")}, book.Pages); diff != "" {
					t.Error(diff)
				}
				return
			}
			if got, ok := errors.AsType[*outcome.Error](err); !ok || got.Reason != test.reason || !strings.HasSuffix(got.Message, test.ends) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestArtifactChanged(t *testing.T) {
	with := func(change func(map[string]any)) *unstructured.Unstructured {
		artifact := map[string]any{"url": "u", "digest": "d", "revision": "r", "path": "p", "lastUpdateTime": "2026-01-01T00:00:00Z"}
		if change != nil {
			change(artifact)
		}
		return gitRepository("docs", map[string]any{"artifact": artifact})
	}
	tests := map[string]struct {
		old, now *unstructured.Unstructured
		want     bool
	}{
		"the same artifact":              {with(nil), with(nil), false},
		"another revision":               {with(nil), with(func(a map[string]any) { a["revision"] = "r2" }), true},
		"another digest":                 {with(nil), with(func(a map[string]any) { a["digest"] = "d2" }), true},
		"another address":                {with(nil), with(func(a map[string]any) { a["url"] = "u2" }), true},
		"the same one, stored again":     {with(nil), with(func(a map[string]any) { a["lastUpdateTime"] = "2026-01-02T00:00:00Z" }), true},
		"there is none, and it may tell": {gitRepository("docs", nil), gitRepository("docs", nil), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := artifactChanged().Update(event.UpdateEvent{ObjectOld: test.old, ObjectNew: test.now}); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestIndexOfSources(t *testing.T) {
	view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: "docs"}}
	view.Spec.ContentFrom = []v1.ContentSource{fromConfigMap(false), fromGit("", ""), fromGit("flux-system", "")}
	want := []string{IndexKey(gitRepository("docs", nil)), IndexKey(gitRepository("flux-system", nil))}
	if diff := cmp.Diff(want, SourcesOf(view)); diff != "" {
		t.Error(diff)
	}
}

// TestCacheKeepsOfSourcesWhatIsRead strips a source as large as there may be.
func TestCacheKeepsOfSourcesWhatIsRead(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	source := gitRepository("docs", map[string]any{
		"artifact": map[string]any{
			"url": "http://source/a.tar.gz", "revision": "main@sha1:1", "digest": "sha256:1", "lastUpdateTime": "2026-01-02T03:04:05Z",
			"size": int64(7), "path": large, "metadata": map[string]any{"large": large},
		},
		"conditions": []any{
			map[string]any{"type": "Other", "status": "True", "message": large},
			map[string]any{"type": "Ready", "status": "False", "message": large},
		},
		"large": large,
	})
	source.SetAnnotations(map[string]string{"large": large})
	source.SetResourceVersion("5")
	source.Object["spec"] = map[string]any{"suspend": true, "ignore": large}
	before := artifactOf(source)
	stripped, err := StripSource(source)
	if err != nil {
		t.Fatal(err)
	}
	kept := stripped.(*unstructured.Unstructured)
	raw, err := kept.MarshalJSON()
	if err != nil || len(raw) > 2*maxSourceText {
		t.Errorf("%d bytes are left: %v", len(raw), err)
	}
	before.Path, before.Metadata = "", nil
	if diff := cmp.Diff(before, artifactOf(kept)); diff != "" {
		t.Error(diff)
	}
	if status, message := readyOf(kept); status != "False" || len(message) != maxSourceText {
		t.Errorf("Ready is %q, with %d bytes", status, len(message))
	}
	suspended, _, _ := unstructured.NestedBool(kept.Object, "spec", "suspend")
	if !suspended || IndexKey(kept) != IndexKey(source) || kept.GetResourceVersion() != "5" || kept.GroupVersionKind() != source.GroupVersionKind() {
		t.Errorf("another source is left: %s", raw)
	}
	if _, err := StripSource(cache.DeletedFinalStateUnknown{}); err != nil {
		t.Errorf("a tombstone: %v", err)
	}
}

// TestAConfigMapThatGoesIsLookedForAgain reads one that went, and one that may not be read.
func TestAConfigMapThatGoesIsLookedForAgain(t *testing.T) {
	resource := corev1.Resource("configmaps")
	gone, ok := errors.AsType[*outcome.Error](notRead("spec.contentFrom[0].configMapRef", "guide", apierrors.NewNotFound(resource, "guide")))
	if !ok || gone.State != outcome.Unreported {
		t.Errorf("got %v", gone)
	}
	err := notRead("spec.contentFrom[0].configMapRef", "guide", apierrors.NewForbidden(resource, "guide", nil))
	if !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), "spec.contentFrom[0].configMapRef: read ConfigMap guide: ") {
		t.Errorf("got %v", err)
	}
}

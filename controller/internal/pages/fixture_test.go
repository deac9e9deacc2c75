package pages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/artifact"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// watcher is a controller that notes what it is told to watch.
type watcher struct {
	controller.Controller
	watched []source.Source
}

func (w *watcher) Watch(s source.Source) error {
	w.watched = append(w.watched, s)
	return nil
}

// informers are a cache whose informers have seen what there is, or haven't.
type informers struct {
	cache.Cache
	unsynced bool
}

func (i *informers) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return informer{synced: !i.unsynced}, nil
}

type informer struct {
	cache.Informer
	synced bool
}

func (i informer) HasSynced() bool { return i.synced }

// fixture is a finder in a cluster in memory.
type fixture struct {
	*testing.T
	*fakecluster.Cluster
	*Finder
	watcher   *watcher
	informers *informers
	// woken are views of which an artifact was fetched.
	woken chan types.NamespacedName
	view  *v1.MarkdownView
}

// newFixture returns a finder in a cluster that knows GitRepositories.
func newFixture(t *testing.T, objects ...client.Object) *fixture {
	t.Helper()
	f := &fixture{T: t, watcher: &watcher{}, informers: &informers{}, woken: make(chan types.NamespacedName, 100)}
	kinds := apimeta.NewDefaultRESTMapper(nil)
	kinds.Add(sourceGroup.WithKind(v1.GitRepositoryKind), apimeta.RESTScopeNamespace)
	f.Cluster = fakecluster.New(t, "app.kubernetes.io/created-by", generator.FieldManager, nil, objects...)
	f.Finder = &Finder{Metadata: f.Others, Client: f.Cached, APIReader: f.Admin, Sources: &Sources{Reader: f.Cached}}
	f.fetchFrom()
	f.Sources.SetUp(f.watcher, f.informers, kinds, func(context.Context, client.Object) []reconcile.Request { return nil })
	f.view = &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: "docs"},
		Spec:       v1.MarkdownViewSpec{Markdowns: map[string]string{"SUMMARY.md": "- [Start](start.md)\n"}},
	}
	f.view.Default()
	return f
}

// fetchFrom has artifacts fetched from some hosts, until the test ends.
func (f *fixture) fetchFrom(list ...string) {
	f.Helper()
	hosts, err := artifact.NewHosts(list, "")
	f.Must(err)
	store := artifact.NewStore(f.TempDir(), hosts, artifact.Limits{}, logr.Discard())
	store.OnFetched(func(view types.NamespacedName) { f.woken <- view })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- store.Start(ctx) }()
	f.Cleanup(func() {
		cancel()
		f.Must(<-ended)
	})
	f.Sources.Artifacts = store
}

func gitRepository(namespace string, status map[string]any) *unstructured.Unstructured {
	object := newSource(v1.GitRepositoryKind)
	object.SetNamespace(namespace)
	object.SetName("handbook")
	if status != nil {
		object.Object["status"] = status
	}
	return object
}

func fromGit(namespace, path string) v1.ContentSource {
	return v1.ContentSource{SourceRef: &v1.SourceReference{Kind: v1.GitRepositoryKind, Name: "handbook", Namespace: namespace, Path: path}}
}

func fromConfigMap(optional bool) v1.ContentSource {
	return v1.ContentSource{ConfigMapRef: &v1.ConfigMapSource{Name: "more", Optional: optional}}
}

// counter counts what is read.
type counter struct {
	client.Reader
	reads int
}

func (c *counter) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	c.reads++
	return c.Reader.Get(ctx, key, object, options...)
}

// archiveOf packs files.
func archiveOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(compressed)
	for name, content := range files {
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
		_, writeErr := archive.Write([]byte(content))
		if err := errors.Join(err, writeErr); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

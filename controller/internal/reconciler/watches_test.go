package reconciler

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/event"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// informers are a cache whose events come from the test.
type informers struct {
	informertest.FakeInformers
	mu     sync.Mutex
	byKind map[schema.GroupVersionKind]*informer
}

// informer tells when its events are handled.
type informer struct {
	*controllertest.FakeInformer
	once    sync.Once
	handled chan struct{}
}

func (i *informer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	defer i.once.Do(func() { close(i.handled) })
	return i.FakeInformer.AddEventHandlerWithOptions(handler, options)
}

// GetInformer implements cache.Cache, for metadata too.
func (i *informers) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	gvk, err := apiutil.GVKForObject(object, i.Scheme)
	return i.of(gvk), err
}

func (i *informers) of(gvk schema.GroupVersionKind) *informer {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byKind[gvk] == nil {
		i.byKind[gvk] = &informer{FakeInformer: controllertest.NewFakeInformer(controllertest.Synced), handled: make(chan struct{})}
	}
	return i.byKind[gvk]
}

func newInformers(scheme *runtime.Scheme) *informers {
	return &informers{FakeInformers: informertest.FakeInformers{Scheme: scheme}, byKind: map[schema.GroupVersionKind]*informer{}}
}

// watching runs the reconciler in a manager whose events come from the test.
type watching struct {
	*fixture
	objects, metadata *informers
	// eager means that a reconciliation's logger has encoded what it may never say.
	eager atomic.Bool
}

// eagerSink tells whether a reconciliation's logger encodes at once.
type eagerSink struct {
	logr.LogSink
	eager *atomic.Bool
}

func (s eagerSink) WithValues(values ...any) logr.LogSink {
	if len(values) > 0 && values[0] == "reconcileID" { // what controller-runtime adds last
		s.eager.Store(true)
	}
	return eagerSink{s.LogSink.WithValues(values...), s.eager}
}

func startWatching(t *testing.T, options Options, objects ...client.Object) *watching {
	t.Helper()
	w := &watching{fixture: newFixture(t, objects...)}
	scheme := fakecluster.Scheme()
	w.objects, w.metadata = newInformers(scheme), newInformers(scheme)
	mgr, err := ctrl.NewManager(&rest.Config{}, ctrl.Options{
		Scheme:  scheme,
		Logger:  logr.New(eagerSink{funcr.New(func(string, string) {}, funcr.Options{}).GetSink(), &w.eager}),
		Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
			return testrestmapper.TestOnlyStaticRESTMapper(scheme), nil
		},
		NewCache:   func(*rest.Config, cache.Options) (cache.Cache, error) { return w.objects, nil },
		NewClient:  func(*rest.Config, client.Options) (client.Client, error) { return w.Cached, nil },
		Controller: config.Controller{SkipNameValidation: new(true)}, // each test has one of the name
	})
	w.Must(err)
	options.Metadata = w.metadata
	w.Must(w.SetupWithManager(t.Context(), mgr, options))
	stopped := make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	go func() { stopped <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return w
}

// informer is that of an object's kind, once its events are handled: of the object, or of
// its metadata.
func (w *watching) informer(object client.Object) *informer {
	w.Helper()
	all := w.objects
	if _, ok := object.(*metav1.PartialObjectMetadata); ok {
		all = w.metadata
	}
	gvk, err := apiutil.GVKForObject(object, all.Scheme)
	w.Must(err)
	found := all.of(gvk)
	select {
	case <-found.handled:
	case <-time.After(10 * time.Second):
		w.Fatalf("nothing handles the events of %T %s", object, gvk.Kind)
	}
	return found
}

// eventually waits until the Ready condition of the view docs has a reason.
func (w *watching) eventually(reason string) {
	w.Helper()
	var got string
	err := wait.PollUntilContextTimeout(w.Context(), time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		view := &v1.MarkdownView{}
		err := w.Admin.Get(ctx, types.NamespacedName{Namespace: "docs", Name: "docs"}, view)
		got = conditions.GetReason(view, meta.ReadyCondition)
		return got == reason, err
	})
	if err != nil {
		w.Fatalf("docs is %q, want %q: %v", got, reason, err)
	}
}

func partial(kind, name string) *metav1.PartialObjectMetadata {
	object := metadataOf(kind)
	object.Namespace, object.Name = "docs", name
	return object
}

// TestViewIsWokenWhenNameIsFree: what has the name of a view's object isn't in the cache
// of what is ours.
func TestViewIsWokenWhenNameIsFree(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "docs", Name: name} }
	for kind, foreign := range map[string]client.Object{
		"Service":    &corev1.Service{ObjectMeta: meta("viewer-docs")},
		"Deployment": &appsv1.Deployment{ObjectMeta: meta("viewer-docs")},
		"ConfigMap":  &corev1.ConfigMap{ObjectMeta: meta("markdowns-docs")},
	} {
		t.Run(kind, func(t *testing.T) {
			w := startWatching(t, Options{}, foreign)
			w.informer(&v1.MarkdownView{}).Add(w.view("docs"))
			w.eventually(v1.ConflictReason)
			w.Must(w.Admin.Delete(t.Context(), foreign))
			w.informer(metadataOf(kind)).Delete(partial(kind, foreign.GetName()))
			w.eventually(v1.ProgressingReason)
		})
	}
}

func TestViewIsWokenByItsObjects(t *testing.T) {
	w := startWatching(t, Options{})
	w.informer(&v1.MarkdownView{}).Add(w.view("docs"))
	w.eventually(v1.ProgressingReason)
	if w.eager.Load() {
		t.Error("what a reconciliation's logger may say is encoded before it says something")
	}
	w.rollOut("docs")
	deployment := fakecluster.Get(w.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
	w.informer(deployment).Update(deployment, deployment)
	w.eventually(v1.HealthyReason)
	// Each kind that it wants, and its pods.
	for _, kind := range []client.Object{&corev1.ConfigMap{}, &appsv1.Deployment{}, &corev1.Service{}, &corev1.Pod{}} {
		fakecluster.Edit(w.Cluster, "user", &v1.MarkdownView{}, "docs", "docs", func(v *v1.MarkdownView) {
			v.Generation++
			v.Spec.Markdowns["SUMMARY.md"] = map[bool]string{true: "- [Start](start.md)\n", false: "- [None](none.md)\n"}[strings.Contains(v.Spec.Markdowns["SUMMARY.md"], "none")]
		})
		view := fakecluster.Get(w.Cluster, &v1.MarkdownView{}, "docs", "docs")
		want := v1.InvalidReason
		if strings.Contains(view.Spec.Markdowns["SUMMARY.md"], "start") {
			want = v1.HealthyReason
		}
		kind.SetNamespace("docs")
		kind.SetLabels(deployment.Labels)
		w.informer(kind).Add(kind)
		w.eventually(want)
	}
}

// TestViewIsWokenByItsInputs has one of them carry our label: it is in another cache.
func TestViewIsWokenByItsInputs(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"anybody's": nil, "one that carries our label": {"app.kubernetes.io/created-by": generator.FieldManager},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWatching(t, Options{})
			view := w.view("docs")
			w.update("docs", func(v *v1.MarkdownView) {
				v.Spec.ContentFrom = []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: "more"}}}
			})
			w.informer(&v1.MarkdownView{}).Add(view)
			w.eventually(v1.PagesNotFoundReason)
			more := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "more", Labels: labels}}
			w.Must(w.Admin.Create(t.Context(), more))
			if labels == nil {
				w.informer(metadataOf("ConfigMap")).Add(partial("ConfigMap", "more"))
			} else {
				w.informer(more).Add(more)
			}
			w.eventually(v1.ProgressingReason)
		})
	}
}

// TestViewEventsOfNoInterestAreLeftOut has a view be written by ourselves.
func TestViewEventsOfNoInterestAreLeftOut(t *testing.T) {
	before := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", UID: "1", Generation: 1}}
	for what, test := range map[string]struct {
		change func(*v1.MarkdownView)
		want   bool
	}{
		"its status was written":          {func(v *v1.MarkdownView) { v.Status.ObservedGeneration = 1 }, false},
		"it was edited":                   {func(v *v1.MarkdownView) { v.Generation = 2 }, true},
		"it is annotated":                 {func(v *v1.MarkdownView) { v.Annotations = map[string]string{"a": "b"} }, true},
		"it was replaced, and nobody saw": {func(v *v1.MarkdownView) { v.UID = "2" }, true},
	} {
		after := before.DeepCopy()
		test.change(after)
		after.ResourceVersion = "2"
		if got := viewChanged(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
			t.Errorf("%s: %t, want %t", what, got, test.want)
		}
	}
}

// TestPodEventsOfNoInterestAreLeftOut has a pod be scheduled, which views don't tell of.
func TestPodEventsOfNoInterestAreLeftOut(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Labels: generator.Labels("docs")}, Status: corev1.PodStatus{Phase: "Pending"}}
		change(pod)
		_, err := stripPod(pod)
		if err != nil {
			t.Fatal(err)
		}
		return pod
	}
	before := pod(func(*corev1.Pod) {})
	for what, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"it was scheduled": {func(p *corev1.Pod) {
			p.ResourceVersion, p.Spec.NodeName = "2", "node"
			p.Status.Conditions = []corev1.PodCondition{{Type: "PodScheduled", Status: "True"}}
		}, false},
		"it is ready":         {func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True"}} }, true},
		"it runs":             {func(p *corev1.Pod) { p.Status.Phase = "Running" }, true},
		"it ends":             {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, true},
		"other labels":        {func(p *corev1.Pod) { p.Labels = nil }, true},
		"other pages":         {func(p *corev1.Pod) { p.Annotations = map[string]string{v1.RevisionAnnotation: "sha256:2"} }, true},
		"another of its name": {func(p *corev1.Pod) { p.UID = "2" }, true},
		"another owner": {func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "theirs", UID: "2", Controller: new(true)}}
		}, true},
	} {
		if got := faresOtherwise(event.UpdateEvent{ObjectOld: before, ObjectNew: pod(test.change)}); got != test.want {
			t.Errorf("%s: %t, want %t", what, got, test.want)
		}
	}
	if !faresOtherwise(event.UpdateEvent{ObjectOld: before, ObjectNew: before}) {
		t.Error("what a resync tells is left out")
	}
}

func TestViewIsWokenByAFreeSlot(t *testing.T) {
	w := startWatching(t, Options{Rollouts: 1})
	w.informer(&v1.MarkdownView{}).Add(w.view("docs"))
	w.eventually(v1.ProgressingReason)
	w.rollOut("docs")
	another, waiting := types.NamespacedName{Name: "another"}, types.NamespacedName{Namespace: "docs", Name: "docs"}
	w.limiter.acquire(another, w.states.of(another))
	w.limiter.acquire(waiting, w.states.of(waiting))
	w.limiter.release(w.states.of(another), true)
	w.eventually(v1.HealthyReason)
}

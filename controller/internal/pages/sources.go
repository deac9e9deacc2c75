package pages

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fluxcd/pkg/apis/meta"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/artifact"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// Sources gives views access to Flux's sources. A kind of them is watched from the
// first view that names it, so that a cluster without Flux lacks nothing.
type Sources struct {
	// Reader reads sources from a cache.
	Reader client.Reader
	// Artifacts are where they are fetched to.
	Artifacts *artifact.Store
	// NoCrossNamespaceRefs refuses sources in other namespaces than the view's.
	NoCrossNamespaceRefs bool
	// Namespaces are the ones that are watched; empty means all.
	Namespaces []string

	mu           sync.Mutex
	watchedKinds map[string]time.Time // since when
	unknownKinds map[string]unknownKind
	controller   controller.Controller
	cache        cache.Cache
	mapper       apimeta.RESTMapper
	enqueue      handler.EventHandler
}

// unknownKind is a kind that the cluster didn't have when it was asked last.
type unknownKind struct {
	at  time.Time
	err error
}

// unknownKindRecheck is how often it is asked whether a kind of source has been
// installed: once for all views that wait for it.
const unknownKindRecheck = 15 * time.Second

// SetUp names the controller that is to watch the sources, and the function that finds
// the views of one.
func (s *Sources) SetUp(c controller.Controller, watched cache.Cache, mapper apimeta.RESTMapper, viewsOf handler.MapFunc) {
	s.watchedKinds, s.unknownKinds = map[string]time.Time{}, map[string]unknownKind{}
	s.controller, s.cache, s.mapper = c, watched, mapper
	s.enqueue = handler.EnqueueRequestsFromMapFunc(viewsOf)
}

// watch sees to it that views are told of changes of a kind of sources.
func (s *Sources) watch(kind string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.watchedKinds[kind]; ok {
		return nil
	}
	if last, ok := s.unknownKinds[kind]; ok && time.Since(last.at) < unknownKindRecheck {
		return last.err
	}
	gvk := sourceGroup.WithKind(kind)
	if _, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
		s.unknownKinds[kind] = unknownKind{time.Now(), err}
		return err
	}
	if err := s.controller.Watch(source.Kind[client.Object](s.cache, newSource(kind), s.enqueue, artifactChanged())); err != nil {
		return err
	}
	s.watchedKinds[kind] = time.Now()
	return nil
}

// syncTimeout is how long the cache of a kind of sources may take to be filled before that
// is reported.
const syncTimeout = 10 * time.Second

// synced is the outcome for a view of a kind whose cache isn't filled, for lack of rights
// say; nil if it is. No worker waits for it: the sources wake their views then.
func (s *Sources) synced(ctx context.Context, kind string) error {
	informer, err := s.cache.GetInformer(ctx, newSource(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return artifactFailed("watch "+kind, err)
	}
	if informer.HasSynced() {
		return nil
	}
	s.mu.Lock()
	since := s.watchedKinds[kind]
	s.mu.Unlock()
	if time.Since(since) < syncTimeout {
		return &outcome.Error{State: outcome.Unreported, Retry: time.Second, Message: "the cache of " + kind + " is being filled"}
	}
	return &outcome.Error{State: outcome.Retrying, Reason: v1.ArtifactFailedReason, Retry: syncTimeout,
		Message: "the controller can't list " + kind + "; its log says why"}
}

// Fetched wakes the views of an artifact once it is fetched.
func (s *Sources) Fetched() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s.Artifacts.OnFetched(func(view types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: view}) })
		return nil
	})
}

// watches reports whether the namespace is among those that are watched.
func (s *Sources) watches(namespace string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace)
}

// SourceIndex is the name of an index of views by the sources that they take pages from.
const SourceIndex = ".spec.contentFrom.sourceRef"

// SourcesOf lists, for the index, the sources that a view takes pages from.
func SourcesOf(object client.Object) []string {
	view := object.(*v1.MarkdownView)
	var names []string
	for _, content := range view.Spec.ContentFrom {
		if ref := content.SourceRef; ref != nil {
			names = append(names, indexKey(ref.Kind, sourceKey(view, ref)))
		}
	}
	return names
}

// IndexKey is how the index names a source.
func IndexKey(source client.Object) string {
	return indexKey(source.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(source))
}

func indexKey(kind string, name types.NamespacedName) string {
	return kind + " " + name.String()
}

func sourceKey(view *v1.MarkdownView, ref *v1.SourceReference) types.NamespacedName {
	namespace := ref.Namespace
	if namespace == "" {
		namespace = view.Namespace
	}
	return types.NamespacedName{Namespace: namespace, Name: ref.Name}
}

// artifactChanged passes changes that views see: of the artifact, or, as long as
// there is none, of why.
func artifactChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, now := artifactOf(e.ObjectOld), artifactOf(e.ObjectNew)
		if old == nil || now == nil {
			return true
		}
		// One that is stored again, after its server has lost it, differs in its time only.
		return old.Revision != now.Revision || old.Digest != now.Digest || old.URL != now.URL || !old.LastUpdateTime.Equal(&now.LastUpdateTime)
	}}
}

// sourceGroup is that of Flux's sources.
var sourceGroup = schema.GroupVersion{Group: "source.toolkit.fluxcd.io", Version: "v1"}

// newSource returns an empty source of a kind. It isn't decoded as a whole: a source
// with a field that can't be, such as a duration that is too long, would keep all
// others from being listed.
func newSource(kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(sourceGroup.WithKind(kind))
	return object
}

// artifactOf returns what a source offers; nil if that is nothing, or can't be read.
func artifactOf(object client.Object) *meta.Artifact {
	source, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	fields, found, err := unstructured.NestedMap(source.Object, "status", "artifact")
	if err != nil || !found {
		return nil
	}
	current := &meta.Artifact{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, current); err != nil {
		return nil
	}
	return current
}

// maxSourceText bounds what is kept of a source's status.
const maxSourceText = 4 << 10

// StripSource leaves of one of Flux's sources what is read of it, for a cache: whoever may write
// one may write a megabyte, and a kind is watched in all namespaces once a view names one.
func StripSource(object any) (any, error) {
	source, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	kept := newSource(source.GetKind())
	kept.SetAPIVersion(source.GetAPIVersion())
	kept.SetNamespace(source.GetNamespace())
	kept.SetName(source.GetName())
	kept.SetUID(source.GetUID())
	kept.SetResourceVersion(source.GetResourceVersion())
	if suspended, _, _ := unstructured.NestedBool(source.Object, "spec", "suspend"); suspended {
		kept.Object["spec"] = map[string]any{"suspend": true}
	}
	status := map[string]any{}
	if current := artifactOf(source); current != nil && len(current.URL)+len(current.Revision)+len(current.Digest) <= maxSourceText {
		read := meta.Artifact{URL: current.URL, Revision: current.Revision, Digest: current.Digest, LastUpdateTime: current.LastUpdateTime, Size: current.Size}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&read)
		if err != nil {
			return nil, fmt.Errorf("encode the artifact of %s: %w", IndexKey(source), err)
		}
		status["artifact"] = fields
	}
	if ready, message := readyOf(source); ready != "" {
		if len(message) > maxSourceText {
			message = strings.ToValidUTF8(message[:maxSourceText], "")
		}
		status["conditions"] = []any{map[string]any{"type": meta.ReadyCondition, "status": ready, "message": strings.Clone(message)}}
	}
	kept.Object["status"] = status
	return kept, nil
}

// readyOf is the status and the message of a source's own Ready condition; empty if it has
// none.
func readyOf(object *unstructured.Unstructured) (status, message string) {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions") // none, if it is something else
	for _, entry := range list {
		if condition, ok := entry.(map[string]any); ok && condition["type"] == meta.ReadyCondition {
			status, _ = condition["status"].(string)
			message, _ = condition["message"].(string)
		}
	}
	return status, message
}

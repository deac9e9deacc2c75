package reconciler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fluxcd/pkg/apis/meta"

	"github.com/zoetrope/markdown-view/controller/internal/artifact"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/directory"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

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

// readyMessageOf is what a source says of itself.
func readyMessageOf(object *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions") // none, if it is something else
	for _, entry := range list {
		if condition, ok := entry.(map[string]any); ok && condition["type"] == meta.ReadyCondition {
			message, _ := condition["message"].(string)
			return message
		}
	}
	return ""
}

// sourceError says why a source gives no pages.
type sourceError struct {
	field, message string
	// reason is that of the condition.
	reason string
	// stalled says that it won't get better before somebody changes something.
	stalled bool
	// requeueAfter is when to look again at what isn't watched; 0 leaves it to the
	// queue.
	requeueAfter time.Duration
	err          error
}

func (e *sourceError) Error() string {
	if e.err == nil {
		return e.field + ": " + e.message
	}
	return fmt.Sprintf("%s: %s: %v", e.field, e.message, e.err)
}

func (e *sourceError) Unwrap() error {
	return e.err
}

// kindRecheck is how often it is asked whether a kind of source has been installed:
// once for all views that wait for it.
const kindRecheck = 15 * time.Second

// sourceTimeout bounds the wait for a cache that doesn't fill, for lack of rights
// say.
const sourceTimeout = 10 * time.Second

// sourceVersion finds the artifact that a view's source has now.
func (r *Reconciler) sourceVersion(ctx context.Context, view *v1.MarkdownView, field string, ref *v1.SourceReference) (input, error) {
	key := sourceKey(view, ref)
	name := fmt.Sprintf("%s %s", ref.Kind, key)
	if r.Sources.NoCrossNamespaceRefs && key.Namespace != view.Namespace {
		return input{}, &sourceError{field: field, reason: v1.AccessDeniedReason, stalled: true,
			message: name + " is in another namespace, which this controller doesn't allow: make one in " + view.Namespace}
	}
	if allowed := r.Sources.Namespaces; len(allowed) > 0 && !slices.Contains(allowed, key.Namespace) {
		return input{}, &sourceError{field: field, reason: v1.AccessDeniedReason, stalled: true,
			message: name + " is in a namespace that this controller doesn't watch: make one in " + view.Namespace + ", or add the namespace to --namespaces"}
	}
	if err := r.Sources.watch(ref.Kind); err != nil {
		if apimeta.IsNoMatchError(err) {
			return input{}, &sourceError{field: field, reason: v1.SourceNotFoundReason, requeueAfter: kindRecheck,
				message: "the cluster has no " + ref.Kind + ": install Flux's source-controller, or use configMapRef"}
		}
		return input{}, &sourceError{field: field, reason: v1.ArtifactFailedReason, message: "watch " + ref.Kind, err: err}
	}
	object := newSource(ref.Kind)
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	switch err := r.Get(ctx, key, object); {
	case apierrors.IsNotFound(err):
		return input{}, &sourceError{field: field, reason: v1.SourceNotFoundReason, message: name + " doesn't exist: create it"}
	case err != nil:
		return input{}, &sourceError{field: field, reason: v1.ArtifactFailedReason, message: "read " + name, err: err}
	}
	current := artifactOf(object)
	if current == nil {
		message := name + " has no artifact yet"
		if ready := readyMessageOf(object); ready != "" {
			message += ": " + ready
		}
		return input{}, &sourceError{field: field, reason: v1.ArtifactFailedReason, message: message}
	}
	return input{
		version:  current.Digest + " " + ref.Path,
		revision: current.Revision,
		read: func(ctx context.Context) (book.Book, error) {
			return r.readArtifact(ctx, view, field, ref, name, current)
		},
	}, nil
}

// readArtifact reads a folder of an artifact as the function reads a directory.
func (r *Reconciler) readArtifact(ctx context.Context, view *v1.MarkdownView, field string, ref *v1.SourceReference, name string, current *meta.Artifact) (pages book.Book, err error) {
	options := directory.Options{Base: "the artifact of " + name}
	if view.Spec.BookToml != "" {
		options.BookToml = []byte(view.Spec.BookToml)
	}
	path := ref.Path
	if path == "" {
		path = "."
	}
	err = r.Sources.Artifacts.Read(ctx, current, func(files fs.FS) (err error) {
		pages, err = directory.Read(files, path, options)
		return err
	})
	if faults, ok := errors.AsType[*directory.Error](err); ok {
		invalid := &generator.InvalidError{Name: view.Name, Namespace: view.Namespace}
		for _, file := range faults.Files {
			invalid.Problems = append(invalid.Problems, generator.Problem{Field: field + ".path", Message: file.Error()})
		}
		return book.Book{}, invalid
	}
	if err != nil {
		return book.Book{}, &sourceError{field: field, reason: v1.ArtifactFailedReason,
			message: fmt.Sprintf("fetch the artifact %s of %s", current.Revision, name), err: err}
	}
	return pages, nil
}

func sourceKey(view *v1.MarkdownView, ref *v1.SourceReference) types.NamespacedName {
	namespace := ref.Namespace
	if namespace == "" {
		namespace = view.Namespace
	}
	return types.NamespacedName{Namespace: namespace, Name: ref.Name}
}

// Sources gives views access to Flux's sources. A kind of them is watched from the
// first view that names it, so that a cluster without Flux lacks nothing.
type Sources struct {
	// Artifacts are where they are fetched to.
	Artifacts *artifact.Store
	// NoCrossNamespaceRefs refuses sources in other namespaces than the view's.
	NoCrossNamespaceRefs bool
	// Namespaces are the ones that are watched; empty means all.
	Namespaces []string

	mu         sync.Mutex
	watched    map[string]bool
	missing    map[string]missingKind
	controller controller.Controller
	cache      cache.Cache
	mapper     apimeta.RESTMapper
	enqueue    handler.EventHandler
}

// missingKind is a kind that the cluster didn't have when it was asked last.
type missingKind struct {
	at  time.Time
	err error
}

// watch sees to it that views are told of changes of a kind of sources.
func (s *Sources) watch(kind string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched[kind] {
		return nil
	}
	if last, ok := s.missing[kind]; ok && time.Since(last.at) < kindRecheck {
		return last.err
	}
	gvk := sourceGroup.WithKind(kind)
	if _, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
		s.missing[kind] = missingKind{time.Now(), err}
		return err
	}
	if err := s.controller.Watch(source.Kind[client.Object](s.cache, newSource(kind), s.enqueue, artifactChanged())); err != nil {
		return err
	}
	s.watched[kind] = true
	return nil
}

// setUp connects the sources with the controller that is to watch them.
func (s *Sources) setUp(c controller.Controller, mgr ctrl.Manager, r *Reconciler) {
	s.watched, s.missing = map[string]bool{}, map[string]missingKind{}
	s.controller, s.cache, s.mapper = c, mgr.GetCache(), mgr.GetRESTMapper()
	s.enqueue = handler.EnqueueRequestsFromMapFunc(r.viewsOfSource)
}

// sourceIndex finds views by the sources that they take pages from.
const sourceIndex = ".spec.contentFrom.sourceRef"

func sourceNames(object client.Object) []string {
	view := object.(*v1.MarkdownView)
	var names []string
	for _, content := range view.Spec.ContentFrom {
		if ref := content.SourceRef; ref != nil {
			names = append(names, ref.Kind+" "+sourceKey(view, ref).String())
		}
	}
	return names
}

func (r *Reconciler) viewsOfSource(ctx context.Context, object client.Object) []reconcile.Request {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	var views v1.MarkdownViewList
	if err := r.List(ctx, &views, client.MatchingFields{sourceIndex: kind + " " + client.ObjectKeyFromObject(object).String()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the views of a source", "kind", kind, "namespace", object.GetNamespace(), "name", object.GetName())
	}
	requests := make([]reconcile.Request, 0, len(views.Items))
	for i := range views.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&views.Items[i])})
	}
	return requests
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

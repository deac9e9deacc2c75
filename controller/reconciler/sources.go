package reconciler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/zoetrope/markdown-view/controller/artifact"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/directory"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// sourceObject is one of Flux's sources.
type sourceObject interface {
	client.Object
	sourcev1.Source
	GetConditions() []metav1.Condition
}

// newSource returns an empty source of a kind; nil if there is no such kind.
func newSource(kind string) sourceObject {
	switch kind {
	case v1.GitRepositoryKind:
		return &sourcev1.GitRepository{}
	case v1.OCIRepositoryKind:
		return &sourcev1.OCIRepository{}
	case v1.BucketKind:
		return &sourcev1.Bucket{}
	case v1.ExternalArtifactKind:
		return &sourcev1.ExternalArtifact{}
	}
	return nil
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
	current := object.GetArtifact()
	if current == nil {
		message := name + " has no artifact yet"
		if ready := conditions.GetMessage(object, meta.ReadyCondition); ready != "" {
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
	gvk := sourcev1.GroupVersion.WithKind(kind)
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
	var kind string
	switch object.(type) {
	case *sourcev1.GitRepository:
		kind = v1.GitRepositoryKind
	case *sourcev1.OCIRepository:
		kind = v1.OCIRepositoryKind
	case *sourcev1.Bucket:
		kind = v1.BucketKind
	case *sourcev1.ExternalArtifact:
		kind = v1.ExternalArtifactKind
	}
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
		before, ok := e.ObjectOld.(sourceObject)
		after, alsoOK := e.ObjectNew.(sourceObject)
		if !ok || !alsoOK {
			return false
		}
		old, now := before.GetArtifact(), after.GetArtifact()
		if old == nil || now == nil {
			return true
		}
		// One that is stored again, after its server has lost it, differs in its time only.
		return old.Revision != now.Revision || old.Digest != now.Digest || old.URL != now.URL || !old.LastUpdateTime.Equal(&now.LastUpdateTime)
	}}
}

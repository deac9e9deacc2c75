package reconciler

import (
	"context"
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/pages"
	"github.com/zoetrope/markdown-view/generator"
)

// ControllerName names the controller in logs, metrics and events.
const ControllerName = "markdown-view-controller"

// configMapIndex is the name of an index of views by the ConfigMaps that they take
// pages from.
const configMapIndex = ".spec.contentFrom.configMapRef.name"

// Options are those of the controller's caches and queue.
type Options struct {
	// Metadata is the cache of MetadataCacheOptions.
	Metadata cache.Cache
	// Concurrent is how many views of a namespace are reconciled at once, of all
	// namespaces twice as many.
	Concurrent int
	// MinRetry and MaxRetry bound the delay of what failed.
	MinRetry, MaxRetry time.Duration
	// Rollouts is how many views replace their pods at once; 0 means any number.
	Rollouts int
	// Timeout ends a reconciliation that hangs, on an API server that doesn't answer; 0
	// means never.
	Timeout time.Duration
}

// The rights that the controller needs: to watch, to apply its own three kinds, to
// prune ConfigMaps, to look for the pod template of the last good pages, to read Flux's
// sources, and, for owner references that block
// deletion, to touch the finalizers of views.
//
// +kubebuilder:rbac:groups=view.zoetrope.github.io,resources=markdownviews,verbs=list;watch
// +kubebuilder:rbac:groups=view.zoetrope.github.io,resources=markdownviews/status,verbs=patch
// +kubebuilder:rbac:groups=view.zoetrope.github.io,resources=markdownviews/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=gitrepositories;ocirepositories;buckets;externalartifacts,verbs=list;watch

// SetupWithManager has the manager run the reconciler.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options Options) error {
	for _, index := range indexes {
		var err error
		if index.name == apply.ViewIndex {
			err = indexByView(ctx, mgr.GetCache(), index.object)
		} else {
			err = mgr.GetFieldIndexer().IndexField(ctx, index.object, index.name, index.values)
		}
		if err != nil {
			return err
		}
	}
	r.limiter = newRolloutLimiter(options.Rollouts, &r.states)
	r.Metrics.pageBytes, r.Metrics.rolloutsWaiting = r.states.pageBytes, r.limiter.waits
	r.room = newBookRoom()
	r.workers = newWorkerShares(2*max(options.Concurrent, 1), r.holds)
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named(ControllerName).
		For(&v1.MarkdownView{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: r.viewSeen})).
		Watches(&corev1.ConfigMap{}, r.enqueueView("ConfigMap", r.viewsNaming)).
		Watches(&appsv1.Deployment{}, r.enqueueView("Deployment", nil)).
		Watches(&corev1.Service{}, r.enqueueView("Service", nil)).
		Watches(&corev1.Pod{}, enqueueOfPods(), builder.WithPredicates(predicate.Funcs{UpdateFunc: faresOtherwise})).
		WatchesRawSource(source.Kind(options.Metadata, metadataOf("ConfigMap"),
			handler.TypedEnqueueRequestsFromMapFunc(r.viewsOfConfigMap))).
		WatchesRawSource(source.Kind(options.Metadata, metadataOf("Service"), whenDeleted)).
		WatchesRawSource(source.Kind(options.Metadata, metadataOf("Deployment"), whenDeleted)).
		WatchesRawSource(r.Pages.Sources.Fetched()).
		WatchesRawSource(source.Channel(r.limiter.wake, &handler.EnqueueRequestForObject{})).
		WatchesRawSource(source.Channel(r.workers.wake, &handler.EnqueueRequestForObject{})).
		WatchesRawSource(source.Channel(r.room.wake, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.workers.workers,
			RateLimiter:             &retryLimiter{states: &r.states, min: options.MinRetry, max: options.MaxRetry, now: r.Clock.Now},
			ReconciliationTimeout:   options.Timeout,
			LogConstructor:          logConstructor(mgr.GetLogger()), // WithOptions replaces all that was set before
		}).
		Build(r)
	if err != nil {
		return err
	}
	r.Pages.Sources.SetUp(c, mgr.GetCache(), mgr.GetRESTMapper(), r.viewsOfSource)
	r.Accounts.SetUp(c, options.Metadata, r.viewsOfAccount)
	return nil
}

// indexes are those that lists select by.
var indexes = []struct {
	object client.Object
	name   string
	values client.IndexerFunc
}{
	{&v1.MarkdownView{}, configMapIndex, configMapsOf},
	{&v1.MarkdownView{}, pages.SourceIndex, pages.SourcesOf},
	{&v1.MarkdownView{}, accountIndex, accountOf},
	{&corev1.ConfigMap{}, apply.ViewIndex, apply.ViewOf},
	{&corev1.Pod{}, apply.ViewIndex, apply.ViewOf},
}

// viewChanged reports whether a view is to be looked at: not for what we write ourselves, the
// status. One that was replaced while no watch told is another view, and often of the same
// generation.
func viewChanged(e event.UpdateEvent) bool {
	return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
		predicate.GenerationChangedPredicate{}.Update(e) || predicate.AnnotationChangedPredicate{}.Update(e)
}

// viewSeen is viewChanged, and notes what the cache shows.
func (r *Reconciler) viewSeen(e event.UpdateEvent) bool {
	if view, ok := e.ObjectNew.(*v1.MarkdownView); ok {
		r.states.seen(view)
	}
	return viewChanged(e)
}

// indexByView adds the index of objects by their view to a cache, as its IndexField does, but
// for lists of one namespace only: those of all would take as much memory again.
func indexByView(ctx context.Context, of cache.Cache, object client.Object) error {
	informer, err := of.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	return informer.AddIndexers(toolscache.Indexers{"field:" + apply.ViewIndex: func(indexed any) ([]string, error) {
		object, ok := indexed.(client.Object)
		if !ok {
			return nil, nil
		}
		views := apply.ViewOf(object)
		for i := range views {
			views[i] = object.GetNamespace() + "/" + views[i]
		}
		return views, nil
	}})
}

// viewOf finds the view of an object that carries our labels, which stay with it
// when owner references are lost.
func viewOf(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[generator.InstanceLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

// enqueueView has the view of an object of a kind reconciled, and others, which take pages from
// it though it carries our label, and ends what was expected of an object that is gone. others
// may be nil.
func (r *Reconciler) enqueueView(kind string, others handler.MapFunc) handler.EventHandler {
	viewsOf := handler.MapFunc(viewOf)
	if others != nil {
		viewsOf = func(ctx context.Context, object client.Object) []reconcile.Request {
			return append(viewOf(ctx, object), others(ctx, object)...)
		}
	}
	enqueue := handler.EnqueueRequestsFromMapFunc(viewsOf)
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if e.IsInInitialList {
				enqueue.Create(ctx, e, queue)
				return
			}
			// Most often it's what was just applied, with two others and a status to come.
			addSoon(ctx, e.Object, queue)
			if others != nil {
				for _, request := range others(ctx, e.Object) {
					queue.Add(request)
				}
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if apply.IsAsBefore(e.ObjectOld, e.ObjectNew) {
				addWithin(ctx, gathersDeployment(e.ObjectOld, e.ObjectNew), e.ObjectNew, queue)
				return
			}
			enqueue.Update(ctx, e, queue)
		},
		GenericFunc: enqueue.Generic,
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			for _, request := range viewOf(ctx, e.Object) {
				r.states.gone(request.NamespacedName, kind, e.Object, e.DeleteStateUnknown)
			}
			enqueue.Delete(ctx, e, queue)
		},
	}
}

// faresOtherwise reports whether what is read of a pod has changed: most of what happens to
// it is of no interest.
func faresOtherwise(e event.UpdateEvent) bool {
	before, isPod := e.ObjectOld.(*corev1.Pod)
	now, isPodStill := e.ObjectNew.(*corev1.Pod)
	if !isPod || !isPodStill {
		return true
	}
	// What stripPod leaves, without the specification, which it doesn't.
	return before == now || before.UID != now.UID || !before.DeletionTimestamp.Equal(now.DeletionTimestamp) ||
		!maps.Equal(before.Labels, now.Labels) || !maps.Equal(before.Annotations, now.Annotations) ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, now.OwnerReferences) ||
		!equality.Semantic.DeepEqual(&before.Status, &now.Status)
}

// whenDeleted wakes the view that may have waited for the name of a Service or Deployment.
var whenDeleted = handler.TypedFuncs[*metav1.PartialObjectMetadata, reconcile.Request]{DeleteFunc: viewerDeleted}

func viewerDeleted(_ context.Context, e event.TypedDeleteEvent[*metav1.PartialObjectMetadata], queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if name, ok := strings.CutPrefix(e.Object.Name, generator.ViewerName("")); ok {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: e.Object.Namespace, Name: name}})
	}
}

// viewsOfConfigMap finds the views that take pages from a ConfigMap, and the one
// that waits for its name.
func (r *Reconciler) viewsOfConfigMap(ctx context.Context, configMap *metav1.PartialObjectMetadata) []reconcile.Request {
	var requests []reconcile.Request
	if name, ok := strings.CutPrefix(configMap.Name, generator.PagesName("", 0)); ok {
		name, _, _ = strings.Cut(name, ".")
		if !apply.CarriesLabels(configMap, name) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: configMap.Namespace, Name: name}})
		}
	}
	return append(requests, r.viewsNaming(ctx, configMap)...)
}

// viewsNaming finds the views that take pages from a ConfigMap.
func (r *Reconciler) viewsNaming(ctx context.Context, configMap client.Object) []reconcile.Request {
	return r.viewsBy(ctx, configMap, client.InNamespace(configMap.GetNamespace()), client.MatchingFields{configMapIndex: configMap.GetName()})
}

// viewsOfSource finds the views that take pages from one of Flux's sources.
func (r *Reconciler) viewsOfSource(ctx context.Context, source client.Object) []reconcile.Request {
	return r.viewsBy(ctx, source, client.MatchingFields{pages.SourceIndex: pages.IndexKey(source)})
}

// viewsBy lists the views of an object.
func (r *Reconciler) viewsBy(ctx context.Context, object client.Object, selected ...client.ListOption) []reconcile.Request {
	var views v1.MarkdownViewList
	if err := r.Client.List(ctx, &views, append(selected, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the views of an object",
			"kind", object.GetObjectKind().GroupVersionKind().Kind, "namespace", object.GetNamespace(), "name", object.GetName())
	}
	requests := make([]reconcile.Request, 0, len(views.Items))
	for i := range views.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&views.Items[i])})
	}
	return requests
}

// configMapsOf lists, for the index, the ConfigMaps that a view takes pages from.
func configMapsOf(object client.Object) []string {
	var names []string
	for _, content := range object.(*v1.MarkdownView).Spec.ContentFrom {
		if content.ConfigMapRef != nil {
			names = append(names, content.ConfigMapRef.Name)
		}
	}
	return names
}

func metadataOf(kind string) *metav1.PartialObjectMetadata {
	metadata := &metav1.PartialObjectMetadata{}
	version := corev1.SchemeGroupVersion
	if kind == "Deployment" {
		version = appsv1.SchemeGroupVersion
	}
	metadata.SetGroupVersionKind(version.WithKind(kind))
	return metadata
}

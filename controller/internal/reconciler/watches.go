package reconciler

import (
	"context"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/zoetrope/markdown-view/generator"
)

// ControllerName names the controller in logs, metrics and events.
const ControllerName = "markdown-view-controller"

// configMapIndex finds views by the ConfigMaps that they take pages from.
const configMapIndex = ".spec.contentFrom.configMapRef.name"

// viewIndex finds objects by the view whose labels they carry.
const viewIndex = ".metadata.labels.view"

// ofView selects the objects that carry a view's labels. They are the cache's own, not
// to be changed.
func ofView(view *v1.MarkdownView) []client.ListOption {
	return []client.ListOption{client.InNamespace(view.Namespace), client.MatchingFields{viewIndex: view.Name}, client.UnsafeDisableDeepCopy}
}

// Options are those of the controller's queue.
type Options struct {
	// Concurrent is how many views are reconciled at once.
	Concurrent int
	// RateLimiter delays what failed.
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
	// Rollouts is how many views are rolled out at once; 0 means any number.
	Rollouts int
	// Timeout ends a reconciliation that hangs, on an API server that doesn't
	// answer or a cache that doesn't catch up; 0 means never.
	Timeout time.Duration
}

// The rights that the controller needs: to watch, to apply its own three kinds, to
// prune ConfigMaps, to read Flux's sources, and, for owner references that block
// deletion, to touch the finalizers of views.
//
// +kubebuilder:rbac:groups=view.zoetrope.github.io,resources=markdownviews,verbs=list;watch
// +kubebuilder:rbac:groups=view.zoetrope.github.io,resources=markdownviews/status,verbs=patch
// +kubebuilder:rbac:groups=view.zoetrope.github.io,resources=markdownviews/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=gitrepositories;ocirepositories;buckets;externalartifacts,verbs=list;watch

// SetupWithManager has the manager run the reconciler. metadata is the cache that
// the reconciler's Metadata reads.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, metadata cache.Cache, options Options) error {
	for _, index := range []struct {
		object client.Object
		name   string
		values client.IndexerFunc
	}{
		{&v1.MarkdownView{}, configMapIndex, configMapNames},
		{&v1.MarkdownView{}, sourceIndex, sourceNames},
		{&corev1.ConfigMap{}, viewIndex, viewNames},
		{&corev1.Pod{}, viewIndex, viewNames},
	} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, index.object, index.name, index.values); err != nil {
			return err
		}
	}
	r.turns = newTurns(options.Rollouts)
	enqueueView := handler.EnqueueRequestsFromMapFunc(viewOf)
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named(ControllerName).
		For(&v1.MarkdownView{}, builder.WithPredicates(
			predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&corev1.ConfigMap{}, enqueueView).
		Watches(&appsv1.Deployment{}, enqueueView).
		Watches(&corev1.Service{}, enqueueView).
		Watches(&corev1.Pod{}, enqueueView).
		WatchesRawSource(source.Kind(metadata, configMapMetadata(),
			handler.TypedEnqueueRequestsFromMapFunc(r.viewsOfConfigMap))).
		WatchesRawSource(source.Kind(metadata, serviceMetadata(),
			handler.TypedFuncs[*metav1.PartialObjectMetadata, reconcile.Request]{DeleteFunc: nameIsFree})).
		WatchesRawSource(source.Channel(r.turns.wake, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.Concurrent,
			RateLimiter:             options.RateLimiter,
			ReconciliationTimeout:   options.Timeout,
		}).
		Build(r)
	if err != nil {
		return err
	}
	r.Sources.setUp(c, mgr, r)
	return nil
}

// viewOf finds the view of an object that carries our labels, which stay with it
// when owner references are lost.
func viewOf(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()["app.kubernetes.io/instance"]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

func viewNames(object client.Object) []string {
	name := object.GetLabels()["app.kubernetes.io/instance"]
	if !hasLabels(object, generator.Labels(name)) {
		return nil
	}
	return []string{name}
}

// nameIsFree wakes the view that may have waited for a Service's name.
func nameIsFree(_ context.Context, e event.TypedDeleteEvent[*metav1.PartialObjectMetadata], queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if name, ok := strings.CutPrefix(e.Object.Name, generator.ViewerName("")); ok {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: e.Object.Namespace, Name: name}})
	}
}

// viewsOfConfigMap finds the views that take pages from a ConfigMap, and the one
// that would like to have its name.
func (r *Reconciler) viewsOfConfigMap(ctx context.Context, configMap *metav1.PartialObjectMetadata) []reconcile.Request {
	var requests []reconcile.Request
	if name, ok := strings.CutPrefix(configMap.Name, generator.PagesName("", 0)); ok {
		name, _, _ = strings.Cut(name, ".")
		if !hasLabels(configMap, generator.Labels(name)) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: configMap.Namespace, Name: name}})
		}
	}
	var views v1.MarkdownViewList
	err := r.List(ctx, &views, client.InNamespace(configMap.Namespace), client.MatchingFields{configMapIndex: configMap.Name})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the views of a ConfigMap", "namespace", configMap.Namespace, "name", configMap.Name)
	}
	for i := range views.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&views.Items[i])})
	}
	return requests
}

func configMapNames(object client.Object) []string {
	var names []string
	for _, source := range object.(*v1.MarkdownView).Spec.ContentFrom {
		if source.ConfigMapRef != nil {
			names = append(names, source.ConfigMapRef.Name)
		}
	}
	return names
}

func gvkOf(c *child) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: c.group, Version: "v1", Kind: c.kind}
}

package reconciler

import (
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/notify"
	"github.com/zoetrope/markdown-view/generator"
)

// CacheOptions returns the options of the manager's cache: of a cluster's
// ConfigMaps, Deployments, Services and pods it holds only those that carry our
// label. views selects the views of this instance; nil means all. namespaces are
// the ones to watch; empty means all.
func CacheOptions(views labels.Selector, namespaces []string) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{"app.kubernetes.io/created-by": generator.FieldManager})
	return cache.Options{
		DefaultNamespaces: namespaceConfigs(namespaces),
		DefaultTransform:  cache.TransformStripManagedFields(), // Flux's sources
		ByObject: map[client.Object]cache.ByObject{
			&v1.MarkdownView{}:   {Label: views, Transform: stripView},
			&appsv1.Deployment{}: {Label: ours, Transform: compact},
			&corev1.ConfigMap{}:  {Label: ours, Transform: compact},
			&corev1.Service{}:    {Label: ours, Transform: compact},
			&corev1.Pod{}:        {Label: ours, Transform: stripPod},
		},
	}
}

// MetadataCacheOptions returns the options of a cache of the metadata of ConfigMaps and
// Services, and of the Deployments that don't carry our label: those of others are few, and
// ours change with each pod.
func MetadataCacheOptions(namespaces []string) cache.Options {
	others, err := labels.Parse("app.kubernetes.io/created-by!=" + generator.FieldManager)
	utilruntime.Must(err)
	return cache.Options{
		DefaultNamespaces: namespaceConfigs(namespaces),
		DefaultTransform:  stripMetadata,
		ByObject:          map[client.Object]cache.ByObject{metadataOf("Deployment"): {Label: others}},
	}
}

func namespaceConfigs(namespaces []string) map[string]cache.Config {
	if len(namespaces) == 0 {
		return nil
	}
	configs := make(map[string]cache.Config, len(namespaces))
	for _, namespace := range namespaces {
		configs[namespace] = cache.Config{}
	}
	return configs
}

// compact keeps digests of pages, and what our field manager owns.
func compact(object any) (any, error) {
	if object, ok := object.(client.Object); ok {
		apply.Compact(object)
	}
	return object, nil
}

// stripView keeps of the metadata of a view what is read. Its last-applied annotation would
// hold its pages once more.
func stripView(object any) (any, error) {
	if view, ok := object.(*v1.MarkdownView); ok {
		view.ManagedFields, view.Labels, view.Finalizers, view.OwnerReferences = nil, nil, nil, nil
		maps.DeleteFunc(view.Annotations, func(key, _ string) bool {
			return key != v1.AdoptAnnotation && key != meta.ReconcileRequestAnnotation && !strings.HasPrefix(key, notify.AnnotationPrefix)
		})
	}
	return object, nil
}

// stripPod keeps what the health of a view is read off.
func stripPod(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		pod.OwnerReferences = controllerOnly(pod)
		pod.Finalizers = nil
		maps.DeleteFunc(pod.Annotations, func(key, _ string) bool { return !strings.HasPrefix(key, v1.GroupVersion.Group+"/") })
		viewName := pod.Labels[generator.InstanceLabel]
		maps.DeleteFunc(pod.Labels, func(key, _ string) bool { _, read := generator.Labels(viewName)[key]; return !read })
		pod.Spec = corev1.PodSpec{}
		pod.Status.Message = ""
		pod.Status.PodIPs, pod.Status.HostIPs = nil, nil
	}
	return object, nil
}

// stripMetadata keeps what tells whose an object is: most objects of a cluster have
// nothing to do with views.
func stripMetadata(object any) (any, error) {
	accessor, err := apimeta.Accessor(object)
	if err != nil {
		return object, nil //nolint:nilerr // a tombstone has no metadata to strip
	}
	managedFields := accessor.GetManagedFields()
	accessor.SetManagedFields(nil)
	accessor.SetAnnotations(nil)
	accessor.SetFinalizers(nil)
	viewName := accessor.GetLabels()[generator.InstanceLabel]
	if apply.CarriesLabels(accessor, viewName) {
		accessor.SetLabels(generator.Labels(viewName))
	} else {
		accessor.SetLabels(nil)
		accessor.SetManagedFields(apply.OurEntries(managedFields)) // it may have lost the labels
	}
	accessor.SetOwnerReferences(controllerOnly(accessor))
	return object, nil
}

// controllerOnly returns what tells the controller of an object.
func controllerOnly(object metav1.Object) []metav1.OwnerReference {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return nil
	}
	kept := metav1.OwnerReference{Kind: owner.Kind, Name: owner.Name, UID: owner.UID, Controller: new(true)}
	if owner.Kind == v1.Kind {
		kept.APIVersion = owner.APIVersion // one of its names of somebody else's isn't a view
	}
	return []metav1.OwnerReference{kept}
}

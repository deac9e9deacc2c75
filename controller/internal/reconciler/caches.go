package reconciler

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
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
			&v1.MarkdownView{}:   {Label: views, Transform: cache.TransformStripManagedFields()},
			&appsv1.Deployment{}: {Label: ours, Transform: keepAll},
			&corev1.ConfigMap{}:  {Label: ours, Transform: keepAll},
			&corev1.Service{}:    {Label: ours, Transform: keepAll},
			&corev1.Pod{}:        {Label: ours, Transform: stripPod},
		},
	}
}

// MetadataCacheOptions returns the options of a cache of the metadata of ConfigMaps and
// Services.
func MetadataCacheOptions(namespaces []string) cache.Options {
	return cache.Options{
		DefaultNamespaces: namespaceConfigs(namespaces),
		DefaultTransform:  stripMetadata,
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

// keepAll keeps the managed fields too: what our field manager owns is read off them.
func keepAll(object any) (any, error) { return object, nil }

// stripPod keeps what the health of a view is read off.
func stripPod(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		pod.OwnerReferences = controllerOnly(pod)
		pod.Spec = corev1.PodSpec{}
		pod.Status.Message = ""
		pod.Status.PodIPs, pod.Status.HostIPs = nil, nil
	}
	return object, nil
}

// stripMetadata keeps what tells whose an object is: most objects of a cluster have
// nothing to do with views.
func stripMetadata(object any) (any, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return object, nil //nolint:nilerr // a tombstone has no metadata to strip
	}
	accessor.SetManagedFields(nil)
	accessor.SetAnnotations(nil)
	accessor.SetFinalizers(nil)
	viewName := accessor.GetLabels()[generator.InstanceLabel]
	if apply.CarriesLabels(accessor, viewName) {
		accessor.SetLabels(generator.Labels(viewName))
	} else {
		accessor.SetLabels(nil)
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
	return []metav1.OwnerReference{{Kind: owner.Kind, Name: owner.Name, UID: owner.UID, Controller: new(true)}}
}

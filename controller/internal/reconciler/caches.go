package reconciler

import (
	"maps"
	"slices"
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
	"github.com/zoetrope/markdown-view/controller/internal/pages"
	"github.com/zoetrope/markdown-view/generator"
)

// CacheOptions returns the options of the manager's cache: of a cluster's
// ConfigMaps, Deployments, Services and pods it holds only those that carry our
// label. views selects the views of this instance; nil means all. namespaces are
// the ones to watch; empty means all. inline gets the pages of views.
func CacheOptions(views labels.Selector, namespaces []string, inline *InlinePages) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{"app.kubernetes.io/created-by": generator.FieldManager})
	return cache.Options{
		DefaultNamespaces: namespaceConfigs(namespaces),
		DefaultTransform:  pages.StripSource,
		ByObject: map[client.Object]cache.ByObject{
			&v1.MarkdownView{}:   {Label: views, Transform: inline.stripView},
			&appsv1.Deployment{}: {Label: ours, Transform: pack},
			&corev1.ConfigMap{}:  {Label: ours, Transform: pack},
			&corev1.Service{}:    {Label: ours, Transform: pack},
			&corev1.Pod{}:        {Label: ours, Transform: stripPod},
		},
	}
}

// MetadataCacheOptions returns the options of a cache of the metadata of ConfigMaps,
// Services and Deployments that don't carry our label: the manager's cache has those that do.
func MetadataCacheOptions(namespaces []string) cache.Options {
	others, err := labels.Parse("app.kubernetes.io/created-by!=" + generator.FieldManager)
	utilruntime.Must(err)
	return cache.Options{
		DefaultNamespaces: namespaceConfigs(namespaces),
		DefaultTransform:  stripMetadata,
		ByObject: map[client.Object]cache.ByObject{
			metadataOf("ConfigMap"):  {Label: others},
			metadataOf("Service"):    {Label: others},
			metadataOf("Deployment"): {Label: others},
		},
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

// pack keeps digests of pages, and little of all else.
func pack(object any) (any, error) {
	if object, ok := object.(client.Object); ok {
		apply.Pack(object)
	}
	return object, nil
}

// stripView keeps of a view what is read again and again. Its last-applied annotation would
// hold its pages, too.
func (p *InlinePages) stripView(object any) (any, error) {
	if view, ok := object.(*v1.MarkdownView); ok && inlineBytes(view) == 0 {
		view.ManagedFields, view.Labels, view.Finalizers, view.OwnerReferences, view.GenerateName = nil, nil, nil, nil, ""
		keepRead(view.Annotations)
		if len(view.Annotations) == 0 {
			view.Annotations = nil
		}
		p.take(view)
		shareWords(view)
	}
	return object, nil
}

// shareWords has a view hold in common with others what many hold.
func shareWords(view *v1.MarkdownView) {
	status := &view.Status
	view.APIVersion, view.Kind, view.Namespace = apply.Word(view.APIVersion), apply.Word(view.Kind), apply.Word(view.Namespace)
	if status.LastAppliedRevision == status.LastAttemptedRevision {
		status.LastAppliedRevision = status.LastAttemptedRevision // which are decoded as two
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.Type, c.Reason, c.Status = apply.Word(c.Type), apply.Word(c.Reason), metav1.ConditionStatus(apply.Word(string(c.Status)))
	}
	if status.Inventory != nil {
		for i := range status.Inventory.Entries {
			status.Inventory.Entries[i].Version = apply.Word(status.Inventory.Entries[i].Version)
		}
	}
}

// maxAnnotationBytes is how much of a view's annotations is kept: anyone may write 256 KiB.
const maxAnnotationBytes = 4 << 10

// keepRead keeps of a view's annotations those that are read, as far as there is room:
// first those that say what to do, then those of its events, by their names.
func keepRead(annotations map[string]string) {
	read := []string{v1.AdoptAnnotation, meta.ReconcileRequestAnnotation}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(key, notify.AnnotationPrefix) {
			read = append(read, key)
		}
	}
	kept := map[string]string{}
	room := maxAnnotationBytes
	for _, key := range read {
		if value, there := annotations[key]; there && len(key)+len(value) <= room {
			kept[key], room = value, room-len(key)-len(value)
		}
	}
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		_, isKept := kept[key]
		return !isKept
	})
}

// readOfPods are the annotations of pods that are read.
var readOfPods = []string{v1.RevisionAnnotation, v1.RestartedForAnnotation, v1.LastPagesAnnotation}

// maxPodAnnotation is how long one of them may be. The longest is the one with a resource
// version for each ConfigMap for whose edit a pod was started.
const maxPodAnnotation = 4 << 10

// stripPod keeps what the health of a view is read off: of a pod that is ready, that it is.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	maps.DeleteFunc(pod.Annotations, func(key, value string) bool {
		return !slices.Contains(readOfPods, key) || len(value) > maxPodAnnotation
	})
	*pod = corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: apply.Word(pod.Namespace), Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			DeletionTimestamp: pod.DeletionTimestamp, OwnerReferences: controllerOnly(pod),
			Labels: apply.SharedLabels(pod.Labels), Annotations: apply.SharedRevision(pod.Annotations),
		},
		Status: corev1.PodStatus{
			Phase:                 corev1.PodPhase(apply.Word(string(pod.Status.Phase))),
			Conditions:            telling(pod.Status.Conditions),
			InitContainerStatuses: unready(pod.Status.InitContainerStatuses),
			ContainerStatuses:     unready(pod.Status.ContainerStatuses),
		},
	}
	return object, nil
}

// telling returns of a pod's conditions whether it is ready, and why it can't be scheduled.
func telling(conditions []corev1.PodCondition) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for i := range conditions {
		switch c := &conditions[i]; {
		case c.Type == corev1.PodReady:
			kept = append(kept, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionStatus(apply.Word(string(c.Status)))})
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			kept = append(kept, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
	}
	return slices.Clip(kept)
}

// unready returns the containers that aren't ready, and in which state they are.
func unready(containers []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for i := range containers {
		if c := &containers[i]; !c.Ready || c.State.Waiting != nil {
			kept = append(kept, corev1.ContainerStatus{Name: c.Name, State: c.State, LastTerminationState: c.LastTerminationState, Ready: c.Ready})
		}
	}
	return slices.Clip(kept)
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
	if owner.Kind != v1.Kind && owner.Kind != "ReplicaSet" {
		owner.APIVersion = "" // one of their names of somebody else's is neither
	}
	return []metav1.OwnerReference{apply.BoundedOwner(owner)}
}

package reconciler

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// child is an object that a view wants, and the one that exists.
type child struct {
	kind, group string
	// desired is the apply configuration, with the view as owner.
	desired any
	// live is the object as it was read or applied last; its resourceVersion is
	// empty if there is none.
	live client.Object
	// owned extracts what our field manager owns in live.
	owned func() (any, error)
	// foreign lists fields of live that nobody but us may set.
	foreign func() map[string][]string
	// keep returns desired with what is to stay of live; nil if that is nothing.
	keep func() (any, error)
	// comparison is that with a version of live.
	comparison struct {
		version        string
		desired, owned map[string]any
	}
}

// String names the child for people.
func (c *child) String() string {
	return c.kind + " " + c.live.GetName()
}

func (c *child) exists() bool {
	return c.live.GetResourceVersion() != ""
}

// childrenOf lists what a view wants, in the order in which it is applied.
func childrenOf(e *expansion) []*child {
	var children []*child
	for _, desired := range e.ConfigMaps {
		children = append(children, configMapChild(desired))
	}
	return append(children, deploymentChild(e.Deployment), serviceChild(e.Service))
}

func configMapChild(desired *corev1ac.ConfigMapApplyConfiguration) *child {
	live := &corev1.ConfigMap{}
	live.Name, live.Namespace = *desired.Name, *desired.Namespace
	return &child{
		kind: "ConfigMap", desired: desired, live: live,
		owned: func() (any, error) { return corev1ac.ExtractConfigMap(live, generator.FieldManager) },
		foreign: func() map[string][]string {
			return map[string][]string{
				"data":       keysBeside(live.Data, desired.Data),
				"binaryData": keysBeside(live.BinaryData, desired.BinaryData),
			}
		},
	}
}

func deploymentChild(desired *appsv1ac.DeploymentApplyConfiguration) *child {
	live := &appsv1.Deployment{}
	live.Name, live.Namespace = *desired.Name, *desired.Namespace
	return &child{
		kind: "Deployment", group: appsv1.GroupName, desired: desired, live: live,
		owned: func() (any, error) { return appsv1ac.ExtractDeployment(live, generator.FieldManager) },
		keep:  func() (any, error) { return keepLastApplied(desired, live) },
	}
}

// keepLastApplied keeps what kubectl apply noted for itself on a Deployment that is
// being adopted: to remove an annotation begins a generation. It isn't asked for
// again, so that it goes with the first change that does so anyway.
func keepLastApplied(desired *appsv1ac.DeploymentApplyConfiguration, live *appsv1.Deployment) (any, error) {
	noted, there := live.Annotations[corev1.LastAppliedConfigAnnotation]
	if !there {
		return desired, nil
	}
	owned, err := appsv1ac.ExtractDeployment(live, generator.FieldManager)
	if err != nil {
		return nil, err
	}
	if owned.ObjectMetaApplyConfiguration != nil {
		if _, ours := owned.Annotations[corev1.LastAppliedConfigAnnotation]; ours {
			return desired, nil
		}
	}
	// A copy: desired is remembered.
	keeping, metadata := *desired, *desired.ObjectMetaApplyConfiguration
	metadata.Annotations = maps.Clone(metadata.Annotations)
	keeping.ObjectMetaApplyConfiguration = &metadata
	return keeping.WithAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: noted}), nil
}

func serviceChild(desired *corev1ac.ServiceApplyConfiguration) *child {
	live := &corev1.Service{}
	live.Name, live.Namespace = *desired.Name, *desired.Namespace
	return &child{
		kind: "Service", desired: desired, live: live,
		owned: func() (any, error) { return corev1ac.ExtractService(live, generator.FieldManager) },
	}
}

// ownerOf is the reference that lets the garbage collector delete a view's
// objects, and foreground deletion wait for them.
func ownerOf(view *v1.MarkdownView) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1.GroupVersion.String()).
		WithKind(v1.Kind).
		WithName(view.Name).
		WithUID(view.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// fields gives an apply configuration as the fields that it sets.
func fields(configuration any) (map[string]any, error) {
	set, err := runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", configuration, err)
	}
	return set, nil
}

func inventoryOf(view *v1.MarkdownView, e *expansion) *v1.Inventory {
	inventory := &v1.Inventory{}
	add := func(name, group, kind string) {
		inventory.Entries = append(inventory.Entries, v1.InventoryEntry{
			ID:      fmt.Sprintf("%s_%s_%s_%s", view.Namespace, name, group, kind),
			Version: "v1",
		})
	}
	for _, name := range e.pages {
		add(name, "", "ConfigMap")
	}
	add(*e.Deployment.Name, appsv1.GroupName, "Deployment")
	add(*e.Service.Name, "", "Service")
	return inventory
}

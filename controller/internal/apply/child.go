package apply

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// Desired is an object that a view wants.
type Desired struct {
	// Kind and Name are the object's.
	Kind, Name string

	digest digest
	// encoded is what is wanted as JSON, until that is packed; nil for pages, and for what was
	// patched.
	encoded []byte
	// whole returns what is wanted, and the object that exists; nil if that is packed.
	whole  func() *child
	packed *packedDesired
	// patched is all of the object as a patch has it, but for its metadata; nil if it
	// wasn't patched.
	patched map[string]any
	// unknown are JSON pointers of what the patch set and client-go's types don't know.
	unknown []string
	// fixed means that the view's replicas aren't the Deployment's: a patch has set or
	// removed them.
	fixed bool
	// partial means that it isn't known whether this is all that is wanted of the object:
	// nothing is removed from it.
	partial bool
	// edited means that somebody else has set pages of it.
	edited bool
	// unremembered means that it is what our field manager owns, and that nothing else is
	// remembered of what was applied: there is nothing to compare it with.
	unremembered bool
	// asked means that it differs from what was applied because the view asks for it.
	asked bool
	// ignored is what is left to others; nil if that is nothing.
	ignored *ignored
	// recollection is set for pages of which only the digests are known.
	recollection *recollection
}

// DesiredOf lists the objects that a view wants, with the view as owner, in the order
// in which they are applied: pages before the pods that mount them.
func DesiredOf(view *v1.MarkdownView, output *generator.Output) ([]Desired, error) {
	owner := ownerOf(view)
	desired := make([]Desired, 0, len(output.ConfigMaps)+2)
	for _, configMap := range output.ConfigMaps {
		desired = append(desired, desiredConfigMap(configMap.WithOwnerReferences(owner)))
	}
	deployment, err := desiredDeployment(output.Deployment.WithOwnerReferences(owner)).patchedBy(output.PatchedDeployment)
	if err != nil {
		return nil, err
	}
	deployment.fixed = fixesReplicas(view, output)
	service, err := desiredService(output.Service.WithOwnerReferences(owner)).patchedBy(output.PatchedService)
	if err != nil {
		return nil, err
	}
	desired = append(desired, deployment, service)
	for i := range desired {
		if err := desired[i].seal(); err != nil {
			return nil, err
		}
	}
	return desired, nil
}

// seal names what is wanted, once that is complete.
func (d *Desired) seal() (err error) {
	whole := d.child().desired
	configuration := comparedPages(whole)
	if d.patched == nil {
		var encoded []byte
		d.digest, encoded, err = encode(configuration)
		if configuration == whole {
			d.encoded = encoded
		}
	} else {
		if d.unknown, err = unknownFields(d.patched, configuration); err != nil {
			return err
		}
		d.digest, err = digestOf([]any{configuration, d.patched})
	}
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", d.Kind, d.Name, err)
	}
	return nil
}

// child is an object that a view wants, the one that exists, and all that differs by
// kind.
type child struct {
	gvk schema.GroupVersionKind
	// desired is the apply configuration, with the view as owner: what it is compared by.
	desired any
	// patched and unknown are those of Desired.
	patched map[string]any
	unknown []string
	// digest names all that is wanted.
	digest digest
	// live is the object as it was read or written last; its resourceVersion is
	// empty if there is none.
	live client.Object
	// owned extracts what our field manager owns in live.
	owned func() (any, error)
	// unwanted lists fields of live that nobody but us may set; nil if others may set
	// any.
	unwanted func() map[string][]string
	// keep returns desired with what is to stay of live; nil if that is nothing.
	keep func() (any, error)
	// restless means that others write the object's status all the time, so that its
	// version tells nothing about what an apply was decided on.
	restless bool
	// partial, unremembered, ignored and recollection are those of Desired.
	partial, unremembered bool
	ignored               *ignored
	recollection          *recollection

	// wanted returns the child with what is wanted, where that is packed; nil if it isn't.
	wanted   func() *child
	compared comparison
	// withDigests has what desired is compared as.
	withDigests struct{ of, compared any }
	// answered are the managed fields in the version that the last write led to.
	answered struct {
		version       string
		managedFields []metav1.ManagedFieldsEntry
	}
}

// answer makes what the API server has answered compact.
func (c *child) answer() {
	c.live.SetSelfLink("") // that of what it was before, should decoding have left it
	c.answered.version = c.live.GetResourceVersion()
	c.answered.managedFields = slices.Clone(c.live.GetManagedFields())
	Compact(c.live)
}

// unpack has all of the live object at hand, and all that is wanted of it.
func (c *child) unpack() (err error) {
	if c.wanted != nil {
		whole := c.wanted()
		whole.become(c.live)
		whole.digest, whole.partial, whole.unremembered, whole.ignored = c.digest, c.partial, c.unremembered, c.ignored
		whole.recollection, whole.patched, whole.unknown = c.recollection, c.patched, c.unknown
		*c = *whole
	}
	if !c.exists() {
		return nil
	}
	if err := unpack(c.live); err != nil {
		return err
	}
	if c.keep != nil {
		c.desired, err = c.keep()
	}
	return err
}

// String names the child for people.
func (c *child) String() string {
	return c.gvk.Kind + " " + c.live.GetName()
}

func (c *child) exists() bool {
	return c.live.GetResourceVersion() != ""
}

// become replaces the live object. Its closures hold on to it, so it is overwritten.
func (c *child) become(live client.Object) {
	switch to := c.live.(type) {
	case *corev1.ConfigMap:
		live.(*corev1.ConfigMap).DeepCopyInto(to)
	case *appsv1.Deployment:
		live.(*appsv1.Deployment).DeepCopyInto(to)
	case *corev1.Service:
		live.(*corev1.Service).DeepCopyInto(to)
	}
}

// atVersion returns an apply configuration that holds only for this version of an object,
// or for any if it is empty.
func atVersion(desired any, uid types.UID, version string) any {
	return withMetadata(desired, func(metadata *metav1ac.ObjectMetaApplyConfiguration) {
		if version != "" {
			metadata.ResourceVersion = &version
		}
		if uid != "" {
			metadata.UID = &uid
		}
	})
}

// withMetadata returns a copy of an apply configuration with other metadata: it is used
// again.
func withMetadata(configuration any, change func(*metav1ac.ObjectMetaApplyConfiguration)) any {
	changed := func(metadata *metav1ac.ObjectMetaApplyConfiguration) *metav1ac.ObjectMetaApplyConfiguration {
		var copied metav1ac.ObjectMetaApplyConfiguration
		if metadata != nil {
			copied = *metadata
		}
		change(&copied)
		return &copied
	}
	switch c := configuration.(type) {
	case *corev1ac.ConfigMapApplyConfiguration:
		copied := *c
		copied.ObjectMetaApplyConfiguration = changed(c.ObjectMetaApplyConfiguration)
		return &copied
	case *appsv1ac.DeploymentApplyConfiguration:
		copied := *c
		copied.ObjectMetaApplyConfiguration = changed(c.ObjectMetaApplyConfiguration)
		return &copied
	case *corev1ac.ServiceApplyConfiguration:
		copied := *c
		copied.ObjectMetaApplyConfiguration = changed(c.ObjectMetaApplyConfiguration)
		return &copied
	}
	return configuration // never: these are the kinds
}

// ownedDigest names what is owned, or would be. The annotation of kubectl apply is no part of
// it: see keepLastApplied.
func ownedDigest(configuration any, more ...any) (digest, error) {
	owned := withMetadata(configuration, func(metadata *metav1ac.ObjectMetaApplyConfiguration) {
		if _, there := metadata.Annotations[corev1.LastAppliedConfigAnnotation]; there {
			metadata.Annotations = maps.Clone(metadata.Annotations)
			delete(metadata.Annotations, corev1.LastAppliedConfigAnnotation)
		}
	})
	if len(more) == 0 {
		return digestOf(owned)
	}
	return digestOf(append([]any{owned}, more...))
}

func desiredConfigMap(desired *corev1ac.ConfigMapApplyConfiguration) Desired {
	return Desired{Kind: "ConfigMap", Name: *desired.Name, whole: func() *child {
		live := &corev1.ConfigMap{}
		live.Name, live.Namespace = *desired.Name, *desired.Namespace
		return &child{
			gvk: corev1.SchemeGroupVersion.WithKind("ConfigMap"), desired: desired, live: live,
			owned: func() (any, error) { return corev1ac.ExtractConfigMap(live, generator.FieldManager) },
			// Each key is a page.
			unwanted: func() map[string][]string {
				return map[string][]string{
					"data":       keysBeside(live.Data, desired.Data),
					"binaryData": keysBeside(live.BinaryData, desired.BinaryData),
				}
			},
		}
	}}
}

func desiredDeployment(desired *appsv1ac.DeploymentApplyConfiguration) Desired {
	return Desired{Kind: "Deployment", Name: *desired.Name, whole: func() *child {
		live := &appsv1.Deployment{}
		live.Name, live.Namespace = *desired.Name, *desired.Namespace
		return &child{
			gvk: appsv1.SchemeGroupVersion.WithKind("Deployment"), desired: desired, live: live, restless: true,
			owned: func() (any, error) { return appsv1ac.ExtractDeployment(live, generator.FieldManager) },
			keep:  func() (any, error) { return keepLastApplied(desired, live) },
		}
	}}
}

// keepLastApplied keeps the annotation of kubectl apply on a Deployment that is being
// adopted: to remove an annotation begins a generation. It isn't asked for again, so
// that it goes with the first change that does so anyway.
func keepLastApplied(desired *appsv1ac.DeploymentApplyConfiguration, live *appsv1.Deployment) (any, error) {
	annotation, there := live.Annotations[corev1.LastAppliedConfigAnnotation]
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
	// A copy: desired is used again.
	keeping, metadata := *desired, *desired.ObjectMetaApplyConfiguration
	metadata.Annotations = maps.Clone(metadata.Annotations)
	keeping.ObjectMetaApplyConfiguration = &metadata
	return keeping.WithAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: annotation}), nil
}

func desiredService(desired *corev1ac.ServiceApplyConfiguration) Desired {
	return Desired{Kind: "Service", Name: *desired.Name, whole: func() *child {
		live := &corev1.Service{}
		live.Name, live.Namespace = *desired.Name, *desired.Namespace
		return &child{
			gvk: corev1.SchemeGroupVersion.WithKind("Service"), desired: desired, live: live,
			owned: func() (any, error) { return corev1ac.ExtractService(live, generator.FieldManager) },
		}
	}}
}

package apply

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// LiveDeployment is the Deployment of the desired objects as it was read, or written, last;
// nil if there is none. It may be packed: see Unpacked.
func (a *Applier) LiveDeployment(ctx context.Context, desired []Desired, written *Expectations) (*appsv1.Deployment, error) {
	d := deploymentAmong(desired)
	if d == nil {
		return nil, nil
	}
	c, err := a.peek(ctx, d, written)
	if err != nil || !c.exists() {
		return nil, err
	}
	return c.live.(*appsv1.Deployment), nil
}

// deploymentAmong returns the Deployment of the desired objects; nil if it isn't among
// them.
func deploymentAmong(desired []Desired) *Desired {
	i := slices.IndexFunc(desired, func(d Desired) bool { return d.Kind == "Deployment" })
	if i < 0 {
		return nil
	}
	return &desired[i]
}

// ReturnedFrom names the pod template whose pods failed, so that the Deployment was given
// that of the last good pages again; empty if it wasn't.
func ReturnedFrom(deployment *appsv1.Deployment) string {
	return deployment.Annotations[v1.ReturnedFromAnnotation]
}

// RevisionOf is the revision of the pod template that is among the desired objects.
func RevisionOf(desired []Desired) string {
	d := deploymentAmong(desired)
	if d == nil {
		return ""
	}
	if d.packed != nil {
		return d.packed.revision
	}
	deployment := d.child().desired.(*appsv1ac.DeploymentApplyConfiguration)
	if deployment.Spec == nil || deployment.Spec.Template == nil || deployment.Spec.Template.ObjectMetaApplyConfiguration == nil {
		return ""
	}
	return deployment.Spec.Template.Annotations[v1.RevisionAnnotation]
}

// TemplateName names the pod template that is among the desired objects.
func TemplateName(desired []Desired) (string, error) {
	d := deploymentAmong(desired)
	if d == nil {
		return "", nil
	}
	fields, err := fieldsOf(d.child().desired)
	if err != nil {
		return "", err
	}
	spec, _ := fields["spec"].(map[string]any)
	template := spec["template"]
	if patched, ok := d.patched["spec"].(map[string]any); ok {
		template = patched["template"] // it may hold what the configuration can't
	}
	name, err := digestOf(template)
	return hex.EncodeToString(name[:]), err
}

// Returned returns the desired objects with the Deployment as it is, which has returned to
// the last good pages. It has as many replicas as are wanted.
func (a *Applier) Returned(ctx context.Context, desired []Desired, replicas int32, last *LastApplied, written *Expectations) ([]Desired, error) {
	d := deploymentAmong(desired)
	owned, err := a.ownedNow(ctx, d, last, written)
	if err != nil || owned == nil {
		return desired, err
	}
	owned.fixed = d.fixed
	stays, err := Scaled([]Desired{*owned}, replicas)
	return replaceDeployment(desired, stays...), err
}

func replaceDeployment(desired []Desired, deployment ...Desired) []Desired {
	var replaced []Desired
	for _, d := range desired {
		if d.Kind == "Deployment" {
			replaced = append(replaced, deployment...)
		} else {
			replaced = append(replaced, d)
		}
	}
	return replaced
}

// WithoutPages returns the Deployment and the Service of the desired objects.
func WithoutPages(desired []Desired) []Desired {
	return slices.DeleteFunc(slices.Clone(desired), func(d Desired) bool { return d.Kind == "ConfigMap" })
}

// Return returns the desired objects with the pod template of the last good pages in the
// place of the Deployment's own, mounted from copies, and before them the copies that are
// missing. from names the template that it returns from. Without a ReplicaSet of that
// revision, or with pages of it that aren't there any more, there is nothing to return to: ok is false.
func (a *Applier) Return(ctx context.Context, view *v1.MarkdownView, desired []Desired, deployment *appsv1.Deployment, revision, from string, written *Expectations) (returned []Desired, ok bool, err error) {
	good, err := a.replicaSetOf(ctx, view, deployment, revision)
	if err != nil || good == nil {
		return nil, false, err
	}
	template := good.Spec.Template.DeepCopy()
	copies, ok, err := a.mountCopies(ctx, view, template, revision, written)
	if err != nil || !ok {
		return nil, false, err
	}
	configuration, err := templateConfiguration(template)
	if err != nil {
		return nil, false, err
	}
	wanted := deploymentAmong(desired).child().desired.(*appsv1ac.DeploymentApplyConfiguration)
	// Copies: what is desired is used again.
	object, metadata, spec := *wanted, *wanted.ObjectMetaApplyConfiguration, *wanted.Spec
	metadata.Annotations = maps.Clone(metadata.Annotations)
	object.ObjectMetaApplyConfiguration = &metadata
	object.WithAnnotations(map[string]string{v1.ReturnedFromAnnotation: from})
	spec.Template = configuration
	object.Spec = &spec
	d := desiredDeployment(&object)
	if d.digest, err = digestOf(&object); err != nil {
		return nil, false, err
	}
	return append(copies, replaceDeployment(desired, d)...), true, nil
}

// Stranded reports whether new pods of a Deployment can't start, since a ConfigMap has other
// pages than they mount: those are applied before the Deployment, which was refused then.
func (a *Applier) Stranded(ctx context.Context, view *v1.MarkdownView, deployment *appsv1.Deployment, written *Expectations) (bool, error) {
	whole, err := Unpacked(deployment)
	if err != nil {
		return false, err
	}
	for _, mounted := range mountedPages(&whole.Spec.Template, view.Name) {
		desired := desiredConfigMap(corev1ac.ConfigMap(mounted.pages, view.Namespace))
		c, err := a.read(ctx, &desired, written)
		if err != nil {
			return false, err
		}
		if _, there := c.live.(*corev1.ConfigMap).Data[mounted.key]; c.exists() && !there {
			return true, nil
		}
	}
	return false, nil
}

// replicaSetsAtOnce is how many ReplicaSets are in memory at a time.
const replicaSetsAtOnce = 20

// replicaSetOf returns the ReplicaSet that serves a revision, or did; nil if there is none.
// Of several, as when only the image has changed, it is the one that has most pods: pods
// that are available aren't taken away before others are.
func (a *Applier) replicaSetOf(ctx context.Context, view *v1.MarkdownView, deployment *appsv1.Deployment, revision string) (*appsv1.ReplicaSet, error) {
	var found []*appsv1.ReplicaSet
	// Page by page: anyone in the namespace may make large ones with these labels.
	for more := ""; ; {
		var list appsv1.ReplicaSetList
		if err := a.APIReader.List(ctx, &list, client.InNamespace(view.Namespace), client.MatchingLabels(generator.Labels(view.Name)),
			client.Limit(replicaSetsAtOnce), client.Continue(more)); err != nil {
			return nil, fmt.Errorf("look for the ReplicaSet of the last good pages: %w", err)
		}
		for i := range list.Items {
			set := &list.Items[i]
			if metav1.IsControlledBy(set, deployment) && set.Spec.Template.Annotations[v1.RevisionAnnotation] == revision && ptr.Deref(set.Spec.Replicas, 0) > 0 {
				found = append(found, set.DeepCopy())
			}
		}
		if more = list.Continue; more == "" {
			break
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return slices.MaxFunc(found, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(
			cmp.Compare(*a.Spec.Replicas, *b.Spec.Replicas),
			cmp.Compare(a.Status.AvailableReplicas, b.Status.AvailableReplicas),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		)
	}), nil
}

// mountCopies has a pod template mount copies of the ConfigMaps that it mounts pages from,
// and returns those that aren't there yet. ok is false if one can't be.
func (a *Applier) mountCopies(ctx context.Context, view *v1.MarkdownView, template *corev1.PodTemplateSpec, revision string, written *Expectations) (missing []Desired, ok bool, err error) {
	for _, mounted := range mountedPages(template, view.Name) {
		existing, err := a.copyOf(ctx, view, mounted.pages, written)
		if err != nil {
			return nil, false, err
		}
		if _, there := existing.Data[mounted.key]; !there {
			d, err := a.newCopy(ctx, view, mounted.pages, revision)
			if err != nil || d == nil {
				return nil, false, err
			}
			if _, same := d.child().desired.(*corev1ac.ConfigMapApplyConfiguration).Data[mounted.key]; !same {
				return nil, false, nil
			}
			missing = append(missing, *d)
		}
		*mounted.name = generator.LastPagesName(mounted.pages, view.Name)
	}
	if template.Annotations == nil {
		template.Annotations = map[string]string{}
	}
	template.Annotations[v1.LastPagesAnnotation] = "true"
	return missing, true, nil
}

// mount is a ConfigMap of pages that a pod template mounts.
type mount struct {
	// name is where the template has its name.
	name *string
	// pages is the name of the shard, also if it is a copy that is mounted.
	pages string
	// key is its revision key.
	key string
}

func mountedPages(template *corev1.PodTemplateSpec, viewName string) []mount {
	var mounts []mount
	add := func(name *string, items []corev1.KeyToPath) {
		pages, isCopy := generator.CutLast(*name, viewName)
		if !isCopy {
			pages = *name
		}
		for _, item := range items {
			if generator.IsRevisionKey(item.Key) && generator.IsPagesName(pages, viewName) {
				mounts = append(mounts, mount{name, pages, item.Key})
				return
			}
		}
	}
	for i := range template.Spec.Volumes {
		volume := &template.Spec.Volumes[i]
		if volume.ConfigMap != nil {
			add(&volume.ConfigMap.Name, volume.ConfigMap.Items)
		}
		if volume.Projected != nil {
			for j := range volume.Projected.Sources {
				if source := volume.Projected.Sources[j].ConfigMap; source != nil {
					add(&source.Name, source.Items)
				}
			}
		}
	}
	return mounts
}

// templateConfiguration gives a ReplicaSet's template as what a Deployment's is to be.
func templateConfiguration(template *corev1.PodTemplateSpec) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encode the last good pod template: %w", err)
	}
	configuration := &corev1ac.PodTemplateSpecApplyConfiguration{}
	if err := json.Unmarshal(raw, configuration); err != nil {
		return nil, fmt.Errorf("decode the last good pod template: %w", err)
	}
	return configuration, nil
}

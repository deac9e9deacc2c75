package apply

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// Keepable is what was applied last, as far as it is known.
type Keepable struct {
	Objects []Desired
	// Missing names the ConfigMaps of pages that are gone, and Edited those of which somebody
	// else has set pages while nobody looked: what they were isn't known.
	Missing, Edited []string
	// Unseen means that among the objects are some that have lost the label by which caches
	// see them.
	Unseen bool
}

// Kept returns what was applied last, to be kept while what is wanted can't be known or
// has to wait: remembered where it is among that, which ConfigMaps aren't, and else what
// our field manager owns of what is there, as after a restart; of pages only the digests,
// see recollection. What can't be known that
// way any more, because it is gone or somebody else has set fields of it, is left out, or
// only ours is kept of it.
func (a *Applier) Kept(ctx context.Context, view *v1.MarkdownView, configMaps []string, remembered []Desired, last *LastApplied, written *Expectations) (kept Keepable, err error) {
	written.expectLosses(configMaps)
	for _, name := range configMaps {
		desired := desiredConfigMap(corev1ac.ConfigMap(name, view.Namespace))
		d, isUnseen, err := a.ownedOrUnseen(ctx, view, &desired, last, written)
		kept.Unseen = kept.Unseen || isUnseen
		switch {
		case err != nil:
			return Keepable{}, err
		case d == nil:
			kept.Missing = append(kept.Missing, name)
		case !d.partial:
			kept.Objects = append(kept.Objects, *d)
		case d.edited:
			kept.Edited = append(kept.Edited, name)
		}
	}
	if len(remembered) > 0 {
		kept.Objects = append(kept.Objects, remembered...)
		return kept, nil
	}
	viewer := generator.ViewerName(view.Name)
	deployment := desiredDeployment(appsv1ac.Deployment(viewer, view.Namespace))
	d, isUnseen, err := a.ownedOrUnseen(ctx, view, &deployment, last, written)
	if err != nil {
		return Keepable{}, err
	}
	kept.Unseen = kept.Unseen || isUnseen
	if d != nil {
		d.fixed = mayFixReplicas(view)
		kept.Objects = append(kept.Objects, *d)
	}
	service, err := a.keptService(ctx, view, last, written)
	if err != nil {
		return Keepable{}, err
	}
	kept.Objects = append(kept.Objects, service...)
	return kept, nil
}

// ownedOrUnseen is ownedNow, also of an object that the view controls and that caches don't
// show, because it has lost their label while no controller has seen it, or to a webhook.
// Pages beside which others have set fields are read, too: whether all of them are ours is
// known by their revision only, which caches can't tell.
func (a *Applier) ownedOrUnseen(ctx context.Context, view *v1.MarkdownView, desired *Desired, last *LastApplied, written *Expectations) (d *Desired, unseen bool, err error) {
	d, err = a.ownedNow(ctx, desired, last, written)
	if err != nil || d != nil && (!d.partial || d.Kind != "ConfigMap") {
		return d, false, err
	}
	live, version, err := a.listed(ctx, desired.child())
	if err != nil || live == nil {
		return nil, false, err
	}
	if !metav1.IsControlledBy(live, view) || !appliedByUs(live) {
		return d, false, nil
	}
	unseen = d == nil
	var found Desired
	switch o := live.(type) {
	case *corev1.ConfigMap:
		owned, since, whole, err := a.ownedPages(ctx, view, desired.child(), o, version)
		if err != nil {
			return nil, false, err
		}
		// Digests, as ownedNow has: a large book of many ConfigMaps isn't held as a whole.
		labels := generator.Labels(view.Name)
		found = desiredConfigMap(comparedPages(owned.WithLabels(labels)).(*corev1ac.ConfigMapApplyConfiguration))
		found.recollection = &recollection{version: since, labels: labels}
		others, _ := writers(o)
		found.partial, found.edited = !whole, len(others) > 0
	case *appsv1.Deployment:
		owned, err := appsv1ac.ExtractDeployment(o, generator.FieldManager)
		if err != nil {
			return nil, false, fmt.Errorf("read the managed fields of Deployment %s: %w", o.Name, err)
		}
		found = desiredDeployment(owned.WithLabels(generator.Labels(view.Name)))
		found.partial = len(writersOf(live)) > 0
	}
	found.unremembered = true
	return &found, unseen, found.seal()
}

// keptService returns the Service. Without metadata and patches of the view's it depends
// on nothing but the view's name; else it is what is ours of it, or, where that can't be
// known any more, what the view wants now, unless that is what is at fault.
func (a *Applier) keptService(ctx context.Context, view *v1.MarkdownView, last *LastApplied, written *Expectations) ([]Desired, error) {
	if view.Spec.CommonMetadata == nil && len(view.Spec.Patches) == 0 {
		wanted, err := serviceOf(view)
		return []Desired{wanted}, err
	}
	service := desiredService(corev1ac.Service(generator.ViewerName(view.Name), view.Namespace))
	d, err := a.ownedNow(ctx, &service, last, written)
	if err != nil {
		return nil, err
	}
	if d != nil && !d.partial {
		return []Desired{*d}, nil
	}
	wanted, err := serviceOf(view)
	if _, invalid := errors.AsType[*generator.InvalidError](err); invalid {
		if d != nil {
			return []Desired{*d}, nil
		}
		return nil, nil
	}
	return []Desired{wanted}, err
}

// ownedNow returns what our field manager owns of an object; nil if there is none, or it
// isn't the view's.
func (a *Applier) ownedNow(ctx context.Context, desired *Desired, last *LastApplied, written *Expectations) (*Desired, error) {
	c, err := a.read(ctx, desired, written)
	if err != nil || !c.exists() {
		return nil, err
	}
	owned, err := c.owned()
	if err != nil {
		return nil, fmt.Errorf("read the managed fields of %s: %w", c, err)
	}
	now, err := c.fingerprint(a.Clock.Now())
	if err != nil {
		return nil, err
	}
	var found Desired
	switch configuration := owned.(type) {
	case *corev1ac.ConfigMapApplyConfiguration:
		found = desiredConfigMap(configuration)
		found.recollection = &recollection{version: c.live.GetResourceVersion()}
	case *appsv1ac.DeploymentApplyConfiguration:
		found = desiredDeployment(configuration)
	case *corev1ac.ServiceApplyConfiguration:
		found = desiredService(configuration)
	default:
		return nil, fmt.Errorf("%s isn't among what is kept", c)
	}
	// Who has set a field since owns it in our place.
	found.unremembered = true
	found.partial = now.owned != last.of(c.String()).owned && len(writersOf(c.live)) > 0
	return &found, found.seal()
}

// serviceOf returns a view's Service, which doesn't depend on the pages.
func serviceOf(view *v1.MarkdownView) (Desired, error) {
	output, err := withAnyPages(view)
	if err != nil {
		return Desired{}, err
	}
	service, err := desiredService(output.Service.WithOwnerReferences(ownerOf(view))).patchedBy(output.PatchedService)
	if err != nil {
		return Desired{}, err
	}
	service.unremembered = true
	return service, service.seal()
}

// withAnyPages generates what a view expands to with other pages than its own.
func withAnyPages(view *v1.MarkdownView) (*generator.Output, error) {
	any := &v1.MarkdownView{ObjectMeta: view.ObjectMeta, Spec: v1.MarkdownViewSpec{
		Markdowns: map[string]string{"SUMMARY.md": "- [Any](any.md)\n", "any.md": ""},
		Replicas:  view.Spec.Replicas, StaticServer: view.Spec.StaticServer, CommonMetadata: view.Spec.CommonMetadata, Patches: view.Spec.Patches,
	}}
	any.Default()
	return generator.Generate(any, nil)
}

// Scaled returns the objects with another number of replicas of the Deployment, unless a
// patch decides about that.
func Scaled(objects []Desired, replicas int32) ([]Desired, error) {
	scaled := make([]Desired, 0, len(objects))
	for _, d := range objects {
		deployment, ok := d.child().desired.(*appsv1ac.DeploymentApplyConfiguration)
		if ok && deployment.Spec != nil && !d.fixed && ptr.Deref(deployment.Spec.Replicas, -1) != replicas {
			resized, spec := *deployment, *deployment.Spec
			resized.Spec = spec.WithReplicas(replicas)
			before := d
			d = desiredDeployment(&resized)
			d.partial, d.unremembered, d.patched = before.partial, before.unremembered, withReplicas(before.patched, replicas)
			// Where somebody else has set them since, that isn't known to be asked for.
			d.asked = deployment.Spec.Replicas != nil
			if err := d.seal(); err != nil {
				return nil, err
			}
		}
		scaled = append(scaled, d)
	}
	return scaled, nil
}

package apply

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// read reads the live object from the cache, or as we wrote it, if the cache doesn't show
// that yet.
func (a *Applier) read(ctx context.Context, desired *Desired, written *Expectations) (*child, error) {
	c, err := a.peek(ctx, desired, written)
	if err != nil {
		return nil, err
	}
	return c, c.unpack()
}

// peekAll is peek of all desired objects, and returns the marks of edits that the Deployment
// among them has restarted its pods for.
func (a *Applier) peekAll(ctx context.Context, desired []Desired, written *Expectations) (children []*child, restarted []string, err error) {
	children = make([]*child, len(desired))
	for i := range desired {
		if children[i], err = a.peek(ctx, &desired[i], written); err != nil {
			return nil, nil, err
		}
		if deployment, ok := children[i].live.(*appsv1.Deployment); ok && children[i].exists() {
			restarted = restartedFor(deployment)
		}
	}
	return children, restarted, nil
}

// peek is read of an object that may be packed.
func (a *Applier) peek(ctx context.Context, desired *Desired, written *Expectations) (*child, error) {
	cached := desired.stubOrChild()
	key := client.ObjectKeyFromObject(cached.live)
	err := a.Client.Get(ctx, key, cached.live)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if apierrors.IsNotFound(err) {
		// Get has cleared it.
		cached.live.SetNamespace(key.Namespace)
		cached.live.SetName(key.Name)
	}
	if _, isPacked := rest(cached.live); !isPacked {
		Compact(cached.live) // what the cache hasn't
	}
	cached.digest, cached.partial, cached.unremembered, cached.ignored = desired.digest, desired.partial, desired.unremembered, desired.ignored
	cached.recollection = desired.recollection
	cached.patched, cached.unknown = desired.patched, desired.unknown
	if latest := written.latest(cached.String(), cached.live, a.Clock.Now()); latest != nil {
		cached.become(latest)
	}
	return cached, nil
}

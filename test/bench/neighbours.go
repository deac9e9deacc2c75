package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

const (
	// failingViews are those of the namespace with the failing views, at most.
	failingViews = 5000
	// newViews are made in another one, one after the other.
	newViews = 30
)

// neighbours measures how long a new view takes while another namespace has thousands that
// fail, and that somebody keeps changing.
func (b *bench) neighbours(ctx context.Context, f *field) error {
	if err := f.namespaces(ctx, "quiet", "failing"); err != nil {
		return err
	}
	alone, aloneBare, err := f.newViews(ctx, "alone")
	if err != nil {
		return err
	}
	if err := f.allowNoDeployment(ctx, "failing"); err != nil {
		return err
	}
	failing := min(f.views/2, failingViews)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var making sync.WaitGroup
	making.Go(func() {
		_ = f.createViews(ctx, failing, func(int) string { return "failing" }) // what is made then is enough
		f.keepChanging(ctx, "failing", failing)
	})
	beside, besideBare, err := f.newViews(ctx, "beside")
	if err != nil {
		return err
	}
	cancel()
	making.Wait()
	ctx = context.WithoutCancel(ctx)
	b.percentiles(f, "a new view until its children exist / applying them", alone, aloneBare, "")
	b.percentiles(f, fmt.Sprintf("a new view beside %d failing ones of another namespace / applying its objects", failing), beside, besideBare, "p99 < 1 s")
	for _, namespace := range []string{"failing", "quiet"} {
		if err := f.drop(ctx, namespace); err != nil {
			return err
		}
	}
	return nil
}

// allowNoDeployment has the API server refuse all Deployments of a namespace.
func (f *field) allowNoDeployment(ctx context.Context, namespace string) error {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "none"}}
	quota.Spec.Hard = corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}
	if err := f.Client.Create(ctx, quota); err != nil {
		return err
	}
	return f.until(ctx, "the quota", func() (string, error) {
		err := f.Client.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		if len(quota.Status.Hard) == 0 {
			return "it isn't looked after", err
		}
		return "", err
	})
}

// keepChanging changes the views of a namespace until the context ends, one after the
// other and again, twenty a second.
func (f *field) keepChanging(ctx context.Context, namespace string, views int) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for round := 0; ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("view-%d", round%views)}}
		patch := fmt.Appendf(nil, `{"spec": {"markdowns": {"start.md": "# Round %d\n"}}}`, round)
		_ = f.Client.Patch(ctx, view, client.RawPatch("application/merge-patch+json", patch))
	}
}

// newViews makes views one after the other, and returns how long each took until all of
// its children existed, and how long it takes to apply such objects without a view.
func (f *field) newViews(ctx context.Context, prefix string) (took, bare []time.Duration, err error) {
	for i := range newViews {
		view, err := viewOf(i, "quiet")
		if err != nil {
			return nil, nil, err
		}
		view.Name = fmt.Sprintf("%s-bare-%d", prefix, i)
		objects, err := objectsOf(view)
		if err != nil {
			return nil, nil, err
		}
		began := time.Now()
		if err := f.applyBare(ctx, objects); err != nil {
			return nil, nil, err
		}
		bare = append(bare, time.Since(began))

		view.Name = fmt.Sprintf("%s-%d", prefix, i)
		began = time.Now()
		if err := f.Client.Create(ctx, view); err != nil {
			return nil, nil, err
		}
		err = wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
			// It is made last.
			err := f.Client.Get(ctx, client.ObjectKey{Namespace: "quiet", Name: generator.ViewerName(view.Name)}, &corev1.Service{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		})
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", view.Name, err)
		}
		took = append(took, time.Since(began))
	}
	return took, bare, nil
}

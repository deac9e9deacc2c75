package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// drifts are ways in which an object can be changed. Each is done to an object of
// many views, one after the other.
var drifts = []struct {
	name, object string
	kind         func() client.Object
	change       func(client.Object)
	restored     func(client.Object) bool
}{
	{
		"a page changed", "markdowns-", func() client.Object { return &corev1.ConfigMap{} },
		func(o client.Object) { o.(*corev1.ConfigMap).Data["SUMMARY.md"] = "changed" },
		func(o client.Object) bool { return o.(*corev1.ConfigMap).Data["SUMMARY.md"] != "changed" },
	},
	{
		"a page added", "markdowns-", func() client.Object { return &corev1.ConfigMap{} },
		func(o client.Object) { o.(*corev1.ConfigMap).Data["added.md"] = "added" },
		func(o client.Object) bool { return o.(*corev1.ConfigMap).Data["added.md"] == "" },
	},
	{
		"the image changed", "viewer-", func() client.Object { return &appsv1.Deployment{} },
		func(o client.Object) { o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = "changed" },
		func(o client.Object) bool {
			return o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image != "changed"
		},
	},
	{
		"the Service's port changed", "viewer-", func() client.Object { return &corev1.Service{} },
		func(o client.Object) { o.(*corev1.Service).Spec.Ports[0].Port = 81 },
		func(o client.Object) bool { return o.(*corev1.Service).Spec.Ports[0].Port == 80 },
	},
	{
		"the Service deleted", "viewer-", func() client.Object { return &corev1.Service{} },
		nil,
		func(o client.Object) bool { return o.(*corev1.Service).DeletionTimestamp.IsZero() },
	},
}

// repairsOfEach is how many repairs of each kind are measured.
const repairsOfEach = 100

// repairs measures how long an object stays wrong.
func (b *bench) repairs(ctx context.Context, f *field) error {
	for _, drift := range drifts {
		var took []time.Duration
		for i := range min(repairsOfEach, f.views) {
			object := drift.kind()
			key := client.ObjectKey{Namespace: "views", Name: fmt.Sprintf("%sview-%d", drift.object, i)}
			if err := f.Client.Get(ctx, key, object); err != nil {
				return err
			}
			uid := object.GetUID()
			if drift.change == nil {
				if err := f.Client.Delete(ctx, object); err != nil {
					return err
				}
			} else {
				drift.change(object)
				if err := f.Client.Update(ctx, object, client.FieldOwner("kubectl-edit")); err != nil {
					return err
				}
			}
			began := time.Now()
			err := wait.PollUntilContextTimeout(ctx, 2*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
				object = drift.kind()
				if err := f.Client.Get(ctx, key, object); err != nil {
					return false, client.IgnoreNotFound(err)
				}
				return drift.restored(object) && (drift.change != nil || object.GetUID() != uid), nil
			})
			if err != nil {
				return fmt.Errorf("%s of view-%d: %w", drift.name, i, err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		fmt.Fprintf(b.table, "controller, repair of %s, p50 / p99 of %d\t%v\t%v\t\tp99 < 1s\n", drift.name, len(took),
			took[len(took)/2].Round(time.Millisecond), took[len(took)*99/100].Round(time.Millisecond))
	}
	return f.allReady(ctx)
}

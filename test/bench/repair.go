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

// drift is a way in which an object can be changed.
type drift struct {
	name, object string
	kind         func() client.Object
	change       func(client.Object) // nil deletes it
	restored     func(client.Object) bool
}

// drifts are done to an object of many views each, one after the other.
var drifts = []drift{
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
	for _, d := range drifts {
		var took []time.Duration
		for i := range min(repairsOfEach, f.views) {
			t, err := f.repair(ctx, d, i)
			if err != nil {
				return fmt.Errorf("%s of view-%d: %w", d.name, i, err)
			}
			took = append(took, t)
		}
		b.percentiles(f, fmt.Sprintf("repair of %s", d.name), took, nil, "p99 < 1 s")
	}
	return f.allReady(ctx)
}

// percentiles adds the median and the 99th percentile of what something took, and of a
// baseline unless that is nil.
func (b *bench) percentiles(f *field, what string, took, baseline []time.Duration, goal string) {
	at := func(durations []time.Duration, percent int) figure {
		if durations == nil {
			return figure{}
		}
		slices.Sort(durations)
		return duration(durations[len(durations)*percent/100])
	}
	b.results.add(
		f.row(what+", p50", at(took, 50), at(baseline, 50), ""),
		f.row(fmt.Sprintf("%s, p99 of %d", what, len(took)), at(took, 99), at(baseline, 99), goal))
}

// repair changes an object of the view of a number, and returns how long that lasted.
func (f *field) repair(ctx context.Context, d drift, view int) (time.Duration, error) {
	object := d.kind()
	key := client.ObjectKey{Namespace: f.namespaceOf(view), Name: fmt.Sprintf("%sview-%d", d.object, view)}
	if err := f.Client.Get(ctx, key, object); err != nil {
		return 0, err
	}
	uid := object.GetUID()
	var err error
	if d.change == nil {
		err = f.Client.Delete(ctx, object)
	} else {
		d.change(object)
		err = f.Client.Update(ctx, object, client.FieldOwner("kubectl-edit"))
	}
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = wait.PollUntilContextTimeout(ctx, 2*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		object = d.kind()
		if err := f.Client.Get(ctx, key, object); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		return d.restored(object) && (d.change != nil || object.GetUID() != uid), nil
	})
	return time.Since(began), err
}

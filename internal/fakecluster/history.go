package fakecluster

import (
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// remembering returns a client of the store that tells what ConfigMaps were in an earlier
// version of the cluster, before others have changed them.
func (c *Cluster) remembering(store client.WithWatch) client.Client {
	return interceptor.NewClient(store, interceptor.Funcs{
		List: func(ctx context.Context, store client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			var all client.ListOptions
			all.ApplyOptions(options)
			configMaps, ok := list.(*corev1.ConfigMapList)
			if !ok {
				return store.List(ctx, list, options...)
			}
			if all.Raw == nil || all.Raw.ResourceVersionMatch != metav1.ResourceVersionMatchExact {
				err := store.List(ctx, list, options...)
				for i := range configMaps.Items { // the fake names none
					configMaps.ResourceVersion = strconv.Itoa(max(versionOf(configMaps.ResourceVersion), versionOf(configMaps.Items[i].ResourceVersion)))
				}
				return err
			}
			name, _ := all.FieldSelector.RequiresExactMatch(metav1.ObjectNameField)
			c.remember(ctx, store)
			for _, then := range slices.Backward(c.history) {
				if then.Namespace == all.Namespace && then.Name == name && versionOf(then.ResourceVersion) <= versionOf(all.Raw.ResourceVersion) {
					configMaps.Items = []corev1.ConfigMap{*then.DeepCopy()}
					break
				}
			}
			return nil
		},
		Update: func(ctx context.Context, store client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			c.remember(ctx, store)
			return store.Update(ctx, object, options...)
		},
		Delete: func(ctx context.Context, store client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			c.remember(ctx, store)
			return store.Delete(ctx, object, options...)
		},
	})
}

// remember adds what ConfigMaps are now.
func (c *Cluster) remember(ctx context.Context, store client.Client) {
	var now corev1.ConfigMapList
	c.Must(store.List(ctx, &now))
	for i := range now.Items {
		configMap := &now.Items[i]
		c.Must(dropStatus(configMap))
		if !slices.ContainsFunc(c.history, func(then *corev1.ConfigMap) bool { return then.ResourceVersion == configMap.ResourceVersion }) {
			c.history = append(c.history, configMap)
		}
	}
}

func versionOf(version string) int {
	number, _ := strconv.Atoi(version) // the fake counts
	return number
}

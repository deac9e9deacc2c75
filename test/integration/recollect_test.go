package integration

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
)

// TestPagesAreFoundThoughNobodySawTheirDeletion has the pages of a view whose edit is bad be
// deleted while the controller is cut off, by an API server that no longer knows the version in
// which they were applied, and that is started again, so that watches begin anew.
func TestPagesAreFoundThoughNobodySawTheirDeletion(t *testing.T) {
	f := newCluster(t, "--etcd-compaction-interval=30s")
	proxy := f.deadlyProxy()
	f.controllerThrough(proxy)
	f.create(f.view("docs"))
	f.ready("docs")
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { delete(v.Spec.Markdowns, "next.md") })
	f.status("docs", metav1.ConditionFalse, v1.InvalidReason)
	pages := f.configMap()
	f.eventually("the version of the pages to be forgotten", func() string {
		exact := &client.ListOptions{Namespace: f.namespace, Raw: &metav1.ListOptions{ResourceVersion: pages.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}}
		if err := f.Client.List(t.Context(), &corev1.ConfigMapList{}, exact); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return fmt.Sprintf("it is known: %v", err)
		}
		return ""
	})
	proxy.cut()
	f.must(f.Client.Delete(t.Context(), pages.DeepCopy()))
	f.must(f.component(cluster.APIServer).Restart(t.Context()))
	proxy.mend()
	f.eventually("the pages", func() string {
		restored := &corev1.ConfigMap{}
		if !f.get(restored, pages.Name) {
			return "they are gone"
		}
		return differs(fmt.Sprint(restored.Data), fmt.Sprint(pages.Data))
	})
}

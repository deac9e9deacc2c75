package integration

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// TestPagesEditedBeforeTheyWereKeptComeBack has pages edited before the controller knows that
// they are to be kept, since what is wanted can't be applied.
func TestPagesEditedBeforeTheyWereKeptComeBack(t *testing.T) {
	edit := func(f *fixture, configMap *corev1.ConfigMap) {
		f.must(f.Client.Patch(t.Context(), configMap.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"data": {"start.md": "# Edited\n"}}`)), client.FieldOwner("anyone")))
	}
	invalidate := func(v *v1.MarkdownView) {
		v.Spec.Suspend, v.Spec.Markdowns["SUMMARY.md"] = false, "- [None](none.md)\n"
	}
	comesBack := func(f *fixture, name string, was *corev1.ConfigMap) {
		f.eventually("the pages of "+name, func() string {
			now := &corev1.ConfigMap{}
			f.get(now, was.Name)
			return gocmp.Diff(was.Data, now.Data)
		})
		if message := readyMessage(f.status(name, metav1.ConditionFalse, v1.InvalidReason)); strings.Contains(message, "edited") {
			t.Errorf("the message of %s is %s", name, message)
		}
	}
	t.Run("while no controller ran", func(t *testing.T) {
		f := newCluster(t)
		controller := f.controller("controller")
		was := map[string]*corev1.ConfigMap{"docs": {}, "large": {}}
		f.create(f.view("docs"))
		f.create(f.largeView("large"))
		for name, pages := range was {
			f.ready(name)
			f.get(pages, "markdowns-"+name)
		}
		f.must(controller.Stop(t.Context()))
		for name, pages := range was {
			edit(f, pages)
			update(f, &v1.MarkdownView{}, name, invalidate)
		}
		f.must(controller.Start(t.Context()))
		for name, pages := range was {
			comesBack(f, name, pages)
		}
	})
	t.Run("while it was suspended", func(t *testing.T) {
		f := newFixture(t)
		f.create(f.view("docs"))
		f.ready("docs")
		was := f.configMap()
		update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Suspend = true })
		f.caughtUp()
		edit(f, was)
		update(f, &v1.MarkdownView{}, "docs", invalidate)
		comesBack(f, "docs", was)
	})
	t.Run("at the same moment", func(t *testing.T) {
		f := newFixture(t)
		f.create(f.view("docs"))
		f.ready("docs")
		was := f.configMap()
		edit(f, was)
		update(f, &v1.MarkdownView{}, "docs", invalidate)
		comesBack(f, "docs", was)
	})
}

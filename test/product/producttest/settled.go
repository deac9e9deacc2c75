package producttest

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// fenceName is that of a view without pods, in a namespace of its own. Its changes reach the
// controller through the same watches as everything else does, and in the same order.
const fenceName = "fence"

// changes numbers what Settled and CaughtUp change.
var changes atomic.Int64

// Fence makes the view that CaughtUp changes, which does it itself otherwise. It is for
// clusters in which a view needs more in its namespace, such as an account: prepare makes it.
func (f *Fixture) Fence(prepare func(*Fixture)) {
	f.Helper()
	f.fence = &Fixture{T: f.T, Product: f.Product, Namespace: clustertest.Namespace(f, f.Cluster), Limit: f.Limit}
	if prepare != nil {
		prepare(f.fence)
	}
	f.fence.Create(&v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: fenceName},
		Spec: v1.MarkdownViewSpec{
			Replicas:  new(int32),
			Markdowns: map[string]string{"SUMMARY.md": "- [Start](start.md)\n", "start.md": "# Start\n"},
		},
	})
}

// CaughtUp waits until the controller has seen what was written to views and Deployments
// by now: it reports of a view and its Deployment that were changed after that.
func (f *Fixture) CaughtUp() {
	f.Helper()
	if f.fence == nil {
		f.Fence(nil)
	} else {
		// Another template is another generation of the Deployment, which has to be observed.
		Update(f.fence, &v1.MarkdownView{}, fenceName, func(v *v1.MarkdownView) {
			v.Spec.ViewerImage = fmt.Sprintf("fence:%d", changes.Add(1))
		})
	}
	f.fence.Ready(fenceName)
}

// Settled waits until there is nothing more to do, and to write, for views that are served:
// what they want is rolled out and reported, nothing is left to be pruned, and the
// controller has looked at them since. Requests can be counted from here.
//
// That a view is Ready isn't enough: where something else than the view was changed, it may
// not have been noticed yet.
func (f *Fixture) Settled(views ...string) {
	f.Helper()
	for _, view := range views {
		f.rolledOut(view)
	}
	f.CaughtUp()
	for _, view := range views {
		// A view is never looked at twice at a time: what answers this began after what the
		// controller has seen by now.
		asked := "settled-" + strconv.FormatInt(changes.Add(1), 10)
		f.ask(view, asked)
		f.Eventually(view+" to be looked at", func() string {
			return Differs(Live[v1.MarkdownView](f, view).Status.LastHandledReconcileAt, asked)
		})
		f.rolledOut(view)
	}
}

// ask asks for a view to be looked at. Not as kubectl does: Flux takes back what that writes.
func (f *Fixture) ask(view, at string) {
	f.Helper()
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, meta.ReconcileRequestAnnotation, at)
	object := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: view, Namespace: f.Namespace}}
	f.Must(f.Client.Patch(f.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("settled")))
}

// rolledOut waits until a view is Ready and nothing of a rollout goes on.
func (f *Fixture) rolledOut(name string) {
	f.Helper()
	f.Eventually(name+" to be rolled out", func() string {
		view := f.Ready(name)
		if view.Status.ObservedGeneration != view.Generation {
			return "it reports of another generation"
		}
		if going := f.goesOn(Live[appsv1.Deployment](f, generator.ViewerName(name))); going != "" {
			return going
		}
		return f.surplus(view)
	})
}

// goesOn returns what a Deployment hasn't done yet.
func (f *Fixture) goesOn(deployment *appsv1.Deployment) string {
	wanted, status := ptr.Deref(deployment.Spec.Replicas, 1), deployment.Status
	if status.ObservedGeneration != deployment.Generation || status.Replicas != wanted || status.UpdatedReplicas != wanted ||
		status.AvailableReplicas != wanted || ptr.Deref(status.TerminatingReplicas, 0) > 0 {
		return fmt.Sprintf("the Deployment of generation %d isn't rolled out: %+v", deployment.Generation, status)
	}
	return ""
}

// surplus returns what of a view's is still to go.
func (f *Fixture) surplus(view *v1.MarkdownView) string {
	f.Helper()
	var pods corev1.PodList
	f.Must(f.Client.List(f.Context(), &pods, client.InNamespace(f.Namespace), client.MatchingLabels(generator.Labels(view.Name))))
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil {
			return "pod " + pods.Items[i].Name + " is still there"
		}
	}
	var configMaps corev1.ConfigMapList
	f.Must(f.Client.List(f.Context(), &configMaps, client.InNamespace(f.Namespace), client.MatchingLabels(generator.Labels(view.Name))))
	for i := range configMaps.Items {
		pages := configMaps.Items[i].Name
		if original, isCopy := generator.CutLast(pages, view.Name); isCopy {
			pages = original
		}
		wanted := slices.ContainsFunc(view.Status.Inventory.Entries, func(entry v1.InventoryEntry) bool {
			return entry.ID == fmt.Sprintf("%s_%s__ConfigMap", f.Namespace, pages)
		})
		if !wanted && metav1.IsControlledBy(&configMaps.Items[i], view) {
			return "ConfigMap " + configMaps.Items[i].Name + " is still there"
		}
	}
	return ""
}

package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
)

// TestTheControllerSurvivesFaultsOfTheControlPlane has a cluster of its own, to which
// one thing after the other happens. The same process of the controller lives through
// all of it, and after each it repairs what drifted meanwhile and takes on a new view.
func TestTheControllerSurvivesFaultsOfTheControlPlane(t *testing.T) {
	f := newCluster(t)
	controller := f.controller("controller")
	process, err := controller.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.create(f.view("docs"))
	f.ready("docs")

	for _, fault := range []struct {
		name string
		do   func(f *fixture)
	}{
		{"api-server-restarted", func(f *fixture) { f.must(f.component(cluster.APIServer).Restart(f.Context())) }},
		{"api-server-crashed", func(f *fixture) {
			f.must(f.component(cluster.APIServer).Kill(f.Context()))
			f.must(f.component(cluster.APIServer).Start(f.Context()))
		}},
		{"etcd-away", etcdAway},
		{"objects-never-collected", objectsNeverCollected},
		{"rights-lost", rightsLost},
		{"definition-deleted", definitionDeleted},
	} {
		began := time.Now()
		fault.do(f)
		happened := time.Since(began)
		f.worksAgain(fault.name)
		t.Logf("%s: %.1fs, then %.1fs until all was well", fault.name, happened.Seconds(), (time.Since(began) - happened).Seconds())
	}
	state, err := controller.State(t.Context())
	if err != nil || !state.Running || state.PID != process.PID {
		t.Errorf("the controller has ended: %+v, %v", state, err)
	}
}

// worksAgain drifts the view docs, waits for its repair, and makes a new view.
func (f *fixture) worksAgain(name string) {
	f.Helper()
	update(f, &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Drifted\n" })
	f.eventually("the repair after "+name, func() string { return differs(f.configMap().Data["start.md"], "# Start\n") })
	f.ready("docs")
	f.create(f.view(name))
	f.ready(name)
}

// etcdAway leaves the API server without etcd for thirty seconds: more than its
// clients wait for an answer, less than a lease lasts.
func etcdAway(f *fixture) {
	f.Helper()
	before := f.deployment()
	f.must(f.component(cluster.Etcd).Kill(f.Context()))
	select {
	case <-time.After(30 * time.Second):
	case <-f.Context().Done():
	}
	f.must(f.component(cluster.Etcd).Start(f.Context()))
	f.ready("docs")
	if after := f.deployment(); after.Generation != before.Generation || after.UID != before.UID {
		f.Error("the Deployment was changed, though nothing had drifted")
	}
}

// objectsNeverCollected replaces views while nothing collects what the old ones had, as it
// happens when the collector's watch is away meanwhile. The new ones take it over, also where
// somebody has edited it, and where the old view was given back to it with a mark.
func objectsNeverCollected(f *fixture) {
	f.Helper()
	names := []string{"docs", "edited", "marked"}
	for _, name := range names[1:] {
		f.create(f.view(name))
		f.ready(name)
	}
	before := f.deployment()
	f.must(f.component(cluster.ControllerManager).Kill(f.Context()))
	f.markWithOwner("marked")
	for _, name := range names {
		f.must(f.Client.Delete(f.Context(), f.view(name)))
		f.create(f.view(name))
		f.status(name, metav1.ConditionFalse, v1.ProgressingReason)
	}
	update(f, &corev1.ConfigMap{}, "markdowns-edited", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Edited\n" })
	for _, name := range names {
		view := &v1.MarkdownView{}
		f.get(view, name)
		for object, kind := range map[string]client.Object{"markdowns-" + name: &corev1.ConfigMap{}, "viewer-" + name: &appsv1.Deployment{}} {
			f.eventually(object+" to be the new view's", func() string {
				if !f.get(kind, object) || !metav1.IsControlledBy(kind, view) || len(kind.GetOwnerReferences()) != 1 {
					f.get(view, name)
					return fmt.Sprintf("it belongs to %v: %s", kind.GetOwnerReferences(), readyMessage(view))
				}
				return ""
			})
		}
	}
	f.must(f.component(cluster.ControllerManager).Start(f.Context()))
	for _, name := range names {
		f.ready(name)
	}
	if after := f.deployment(); after.Generation != before.Generation || after.UID != before.UID {
		f.Error("the Deployment was changed, though the new view wants the same")
	}
	page := &corev1.ConfigMap{}
	if f.get(page, "markdowns-edited"); page.Data["start.md"] != "# Start\n" {
		f.Errorf("what was edited is still so: %q", page.Data["start.md"])
	}
}

// markWithOwner gives a view's ConfigMap the mark that the controller gives one that was edited
// and had lost its owner.
func (f *fixture) markWithOwner(name string) {
	f.Helper()
	view := &v1.MarkdownView{}
	f.get(view, name)
	marked := corev1ac.ConfigMap("markdowns-"+name, f.namespace).
		WithAnnotations(map[string]string{v1.EditedAnnotation: "1"}).
		WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion(v1.GroupVersion.String()).WithKind(v1.Kind).
			WithName(name).WithUID(view.UID).WithController(true).WithBlockOwnerDeletion(true))
	f.must(f.Client.Apply(f.Context(), marked, client.FieldOwner(generator.FieldManager+"-restart"), client.ForceOwnership))
}

// rightsLost takes the controller's rights away, lets a view be made that it can do
// nothing for, and gives them back.
func rightsLost(f *fixture) {
	f.Helper()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "markdown-view-controller"}}
	f.must(f.Client.Delete(f.Context(), binding))
	f.eventually("the rights to be gone", func() string {
		since := f.mark()
		update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
			v.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": time.Now().String()}
		})
		for _, r := range f.requests(since) {
			if r.Code == 403 {
				return ""
			}
		}
		return "nothing was refused yet"
	})
	f.create(f.view("without-rights"))
	if f.get(&appsv1.Deployment{}, "viewer-without-rights") {
		f.Error("a Deployment was made without the right to")
	}
	f.must(f.ApplyRoles(f.Context()))
	f.ready("without-rights")
}

// definitionDeleted deletes the CRD, and with it all views and what belongs to them,
// and puts it back.
func definitionDeleted(f *fixture) {
	f.Helper()
	dynamicClient, err := dynamic.NewForConfig(f.Cluster.Config)
	f.must(err)
	definitions := dynamicClient.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	f.must(definitions.Delete(f.Context(), "markdownviews.view.zoetrope.github.io", metav1.DeleteOptions{}))
	f.eventually("the views' objects to be collected", func() string {
		if f.get(&appsv1.Deployment{}, "viewer-docs") || f.get(&corev1.ConfigMap{}, "markdowns-docs") {
			return "they are there"
		}
		return ""
	})
	f.eventually("the definition to be gone", func() string {
		if _, err := definitions.Get(f.Context(), "markdownviews.view.zoetrope.github.io", metav1.GetOptions{}); err == nil {
			return "it is there"
		}
		return ""
	})
	f.must(f.ApplyCRD(f.Context()))
	f.create(f.view("docs"))
	f.ready("docs")
}

// TestAnotherControllerTakesOverWhenTheLeaderDies runs two controllers of which one is
// the leader, and kills it.
func TestAnotherControllerTakesOverWhenTheLeaderDies(t *testing.T) {
	f := newCluster(t)
	election := []string{
		// On a busy machine to renew a lease takes seconds: a leader that can't ends.
		"--enable-leader-election", "--leader-election-lease-duration=12s",
		"--leader-election-renew-deadline=10s", "--leader-election-retry-period=1s",
	}
	first := f.controller("first", election...)
	f.create(f.view("docs"))
	f.ready("docs")
	second := f.controller("second", election...)
	f.eventually("the second to wait for the lease", func() string {
		return f.logHas(second, 1, "Attempting to acquire leader lease")
	})

	f.must(first.Kill(t.Context()))
	since := f.mark()
	f.create(f.view("next"))
	f.ready("next")
	if missing := f.logHas(second, 1, "Successfully acquired lease"); missing != "" {
		t.Error("the second has done the work without the lease")
	}
	f.atMost(6, since)

	// The one that was killed comes back, and doesn't interfere.
	f.must(first.Start(context.WithoutCancel(t.Context())))
	f.eventually("the first to wait for the lease", func() string {
		return f.logHas(first, 2, "Attempting to acquire leader lease")
	})
	since = f.mark()
	f.create(f.view("last"))
	f.ready("last")
	f.atMost(6, since)
}

package integration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/argocd"
)

// TestArgoCDKnowsHowAViewIs brings views to the states that TestAllReadersAgree doesn't.
// The ones that need a source are in TestTenants; whatever a test waits for, Argo CD is
// asked too (producttest.CheckConditions).
func TestArgoCDKnowsHowAViewIs(t *testing.T) {
	for name, test := range map[string]struct {
		reach  func(*fixture)
		reason string
		want   argocd.Health
	}{
		"pods that find no node": {func(f *fixture) { f.create(f.onNoNode("docs", time.Hour)) }, v1.ProgressingReason, argocd.Progressing},
		"pods that have found none for too long": {
			func(f *fixture) { f.create(f.onNoNode("docs", time.Second)) }, v1.RolloutFailedReason, argocd.Degraded},
		"a source of a kind that isn't installed": {func(f *fixture) {
			view := f.view("docs")
			view.Spec.ContentFrom = []v1.ContentSource{{SourceRef: &v1.SourceReference{Kind: "GitRepository", Name: "docs"}}}
			f.create(view)
		}, v1.SourceNotFoundReason, argocd.Progressing},
		"a service account that isn't there": {func(f *fixture) {
			view := f.view("docs")
			view.Spec.ServiceAccountName = "nobody"
			f.create(view)
		}, v1.AccessDeniedReason, argocd.Degraded},
		"an object that can't be changed": {func(f *fixture) {
			f.create(f.view("docs"))
			f.ready("docs")
			update(f, &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Immutable = new(true) })
			update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Changed\n" })
		}, v1.ApplyFailedReason, argocd.Degraded},
		"an object that was deleted and stays so": {func(f *fixture) {
			f.create(f.detecting("docs", v1.DriftDetectionWarn))
			f.ready("docs")
			f.must(admin.Delete(f.Context(), f.deployment()))
		}, v1.ObjectMissingReason, argocd.Degraded},
		"an object that is fought over": {fightOver, v1.ContestedReason, argocd.Degraded},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			test.reach(f)
			f.status("docs", metav1.ConditionFalse, test.reason)
			f.health("docs", test.want)
		})
	}
}

// onNoNode returns a view whose pods can't be scheduled.
func (f *fixture) onNoNode(name string, timeout time.Duration) *v1.MarkdownView {
	view := f.view(name)
	view.Spec.Timeout = &metav1.Duration{Duration: timeout}
	view.Spec.Patches = []v1.Patch{{
		Target: &v1.PatchTarget{Kind: "Deployment"},
		Patch:  "spec: {template: {spec: {nodeSelector: {example.com/node: none}}}}",
	}}
	return view
}

// fightOver has somebody change a Service again and again.
func fightOver(f *fixture) {
	f.create(f.view("docs"))
	f.ready("docs")
	ctx := f.Context()
	done := make(chan struct{})
	go func() {
		defer close(done)
		service := &corev1.Service{}
		for f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "viewer-docs"}, service) == nil {
			if service.Spec.Ports[0].Port != 81 {
				service.Spec.Ports[0].Port = 81
				_ = f.Client.Update(ctx, service, client.FieldOwner("fighter")) // again, if it is too late
			}
		}
	}()
	f.Cleanup(func() { <-done }) // the test's context ends before
}

// argoManager is how Argo CD calls itself when it applies.
const argoManager = "argocd-controller"

// argoApplies applies an object as Argo CD's server-side apply does, with the annotation by which
// it knows its objects, and returns what the API server answers.
func (f *fixture) argoApplies(object *unstructured.Unstructured, options ...client.ApplyOption) *unstructured.Unstructured {
	f.Helper()
	applied := object.DeepCopy()
	annotations := applied.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["argocd.argoproj.io/tracking-id"] = "handbook:" + object.GetKind() + "/" + object.GetName()
	applied.SetAnnotations(annotations)
	applied.SetNamespace(f.namespace)
	options = append(options, client.FieldOwner(argoManager), client.ForceOwnership)
	f.must(f.Client.Apply(f.Context(), client.ApplyConfigurationFromUnstructured(applied), options...))
	return applied
}

// differsForArgo returns how what a dry run predicts differs from what is there: Argo CD's
// server-side diff.
func (f *fixture) differsForArgo(object *unstructured.Unstructured) string {
	f.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind())
	if !f.get(live, object.GetName()) {
		f.Fatalf("%s %s is gone", object.GetKind(), object.GetName())
	}
	predicted := f.argoApplies(object, client.DryRunAll)
	for _, of := range []*unstructured.Unstructured{live, predicted} {
		of.SetManagedFields(nil)
	}
	return cmp.Diff(live.Object, predicted.Object)
}

// TestArgoCDSeesNoDifference applies what an Application has, as Argo CD does it, and looks
// for differences once it is served: nothing needs to be ignored.
func TestArgoCDSeesNoDifference(t *testing.T) {
	t.Run("in a view", func(t *testing.T) {
		f := newFixture(t)
		object := f.manifestOf(f.view("docs"))
		f.argoApplies(object)
		f.ready("docs")
		if diff := f.differsForArgo(object); diff != "" {
			t.Errorf("the view (-live +predicted):\n%s", diff)
		}
		object.Object["spec"].(map[string]any)["replicas"] = int64(2)
		if diff := f.differsForArgo(object); diff == "" {
			t.Error("a change in Git makes no difference")
		}
	})
	t.Run("in what the function prints", func(t *testing.T) {
		f := newFixture(t)
		document, err := f.manifestOf(f.view("docs")).MarshalJSON()
		f.must(err)
		objects, err := f.Render(f.Context(), t.TempDir(), document)
		f.must(err)
		for _, object := range objects {
			f.argoApplies(object)
		}
		f.eventually("the pods to be there", func() string {
			if f.deployment().Status.AvailableReplicas != 1 {
				return "they aren't"
			}
			return ""
		})
		for _, object := range objects {
			if diff := f.differsForArgo(object); diff != "" {
				t.Errorf("%s %s (-live +predicted):\n%s", object.GetKind(), object.GetName(), diff)
			}
		}
	})
}

// manifestOf is a view as somebody commits it.
func (f *fixture) manifestOf(view *v1.MarkdownView) *unstructured.Unstructured {
	f.Helper()
	view.SetGroupVersionKind(v1.GroupVersion.WithKind(v1.Kind))
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(view)
	f.must(err)
	delete(object, "status")
	return &unstructured.Unstructured{Object: object}
}

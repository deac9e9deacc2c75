package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
)

// What fits a view to its cluster, together: patches, metadata, fields that are left to
// others, modes of drift detection and service accounts.

// quiet fails if the controller writes anything in the test's namespace for a while in
// which it looks at its views.
func (f *fixture) quiet(names ...string) {
	f.Helper()
	for _, name := range names {
		update(f, &v1.MarkdownView{}, name, func(v *v1.MarkdownView) { v.Spec.Interval = &metav1.Duration{Duration: time.Second} })
		f.ready(name)
	}
	since := f.mark()
	f.passes(*atRest)
	list, err := f.Cluster.Requests(f.Context(), since, cluster.Not(cluster.Events), cluster.Writes, cluster.In(f.namespace), func(r cluster.Request) bool {
		return r.User == controllerUser || r.Impersonator == controllerUser
	})
	f.must(err)
	if len(list) > 0 {
		f.Errorf("at rest it writes:\n%s", lines(list))
	}
}

// scaleTo sets the Deployment's replicas as an autoscaler does.
func (f *fixture) scaleTo(replicas int) {
	f.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	f.must(f.Client.SubResource("scale").Patch(f.Context(), f.deployment(), patch, client.FieldOwner("autoscaler")))
}

func TestAPatchedDeploymentLeavesReplicasToOthers(t *testing.T) {
	f := newFixture(t)
	view := f.patchedView()
	view.Spec.DriftDetection = &v1.DriftDetection{Ignore: ignoredReplicas()}
	since := f.mark()
	f.create(view)
	f.ready("docs")
	f.atMost(6, since)
	f.scaleTo(3)
	f.served(3)
	f.quiet("docs")

	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
		v.Spec.Patches = append(v.Spec.Patches, patchOf("Deployment", "spec: {template: {spec: {hostname: handbook}}}"))
	})
	f.served(3)
	deployment := f.deployment()
	if pod := deployment.Spec.Template.Spec; pod.Hostname != "handbook" || len(pod.Tolerations) != 1 || *deployment.Spec.Replicas != 3 {
		t.Errorf("it has %d replicas and the pods %+v", *deployment.Spec.Replicas, pod)
	}
	if owners := f.owners("f:replicas"); slices.Contains(owners, "markdown-view-controller") {
		t.Errorf("replicas belong to %v", owners)
	}
}

// TestAPatchedFieldIsLeftToOthers: whoever ignores what a patch sets has it not set.
func TestAPatchedFieldIsLeftToOthers(t *testing.T) {
	f := newFixture(t)
	view := f.patchedView() // which sets minReadySeconds to 1
	view.Spec.DriftDetection = &v1.DriftDetection{Ignore: []v1.IgnoreRule{{Target: v1.PatchTarget{Kind: "Deployment"}, Paths: []string{"/spec/minReadySeconds"}}}}
	f.create(view)
	f.ready("docs")
	delay := func() string { return fmt.Sprint(f.deployment().Spec.MinReadySeconds) }
	if got := delay(); got != "0" {
		t.Errorf("it is set, to %s", got)
	}
	f.eventually("the pod to have been ready for longer than that, or it becomes unavailable", func() string {
		var pods corev1.PodList
		f.must(f.Client.List(f.Context(), &pods, client.InNamespace(f.namespace)))
		for _, pod := range pods.Items {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady && time.Since(condition.LastTransitionTime.Time) < 4*time.Second {
					return pod.Name + " isn't yet"
				}
			}
		}
		return ""
	})
	f.Patch(&appsv1.Deployment{}, "viewer-docs", `{"spec":{"minReadySeconds":2}}`)
	f.quiet("docs")
	if got := delay(); got != "2" {
		t.Errorf("it is %s", got)
	}
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.DriftDetection = nil })
	f.eventually("what the patch says", func() string { return differs(delay(), "1") })
	f.quiet("docs")
}

// TestWhatAPatchSaysInVainIsStillLookedAfter: a field that is patched to what it is when
// nobody sets it is undone when somebody does.
func TestWhatAPatchSaysInVainIsStillLookedAfter(t *testing.T) {
	f := newFixture(t)
	view := f.view("docs")
	view.Spec.Patches = []v1.Patch{patchOf("Deployment", "spec: {minReadySeconds: 0, template: {spec: {hostname: ''}}}")}
	f.create(view)
	f.ready("docs")
	update(f, &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds, d.Spec.Template.Spec.Hostname = 3, "theirs" })
	f.eventually("both to be undone", func() string {
		d := f.deployment()
		return differs(fmt.Sprintf("%d %q", d.Spec.MinReadySeconds, d.Spec.Template.Spec.Hostname), `0 ""`)
	})
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
		v.Spec.Patches = []v1.Patch{patchOf("Deployment", "spec: {minReadySeconds: 2}")}
	})
	f.eventually("another value", func() string { return differs(fmt.Sprint(f.deployment().Spec.MinReadySeconds), "2") })
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
		v.Spec.Patches = []v1.Patch{patchOf("Deployment", "spec: {minReadySeconds: 0}")}
	})
	f.eventually("none again", func() string { return differs(fmt.Sprint(f.deployment().Spec.MinReadySeconds), "0") })
	f.ready("docs")
}

// TestPatchedViewsOfOneNameKeepApart has one in each of two namespaces, and one base under
// two prefixes in one of them.
func TestPatchedViewsOfOneNameKeepApart(t *testing.T) {
	f := newFixture(t)
	other := fixtureIn(t, installed)
	labelled := func(f *fixture, name, team string) *v1.MarkdownView {
		view := f.patchedView()
		view.Name, view.Spec.CommonMetadata.Labels["team"] = name, team
		return view
	}
	f.create(labelled(f, "docs", "one"))
	other.create(labelled(other, "docs", "two"))

	dir, err := filepath.EvalSymlinks(t.TempDir())
	f.must(err)
	for name, text := range map[string]string{
		"base/view.yaml":          documents(t, []*unstructured.Unstructured{f.unstructured(labelled(f, "docs", "base"))}),
		"base/kustomization.yaml": "resources: [view.yaml]\n",
		"a/kustomization.yaml":    "resources: [../base]\nnamePrefix: a-\n",
		"b/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\npatches:\n- target: {kind: MarkdownView}\n  patch: |-\n" +
			"    - {op: replace, path: /spec/commonMetadata/labels/team, value: b}\n",
		"kustomization.yaml": "resources: [a, b]\n",
	} {
		f.must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		f.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, object := range decodeAll(t, []byte(f.mustKubectl("", "kustomize", dir))) {
		f.create(object)
	}
	for _, want := range []struct {
		*fixture
		name, team string
	}{{f, "docs", "one"}, {other, "docs", "two"}, {f, "a-docs", "base"}, {f, "b-docs", "b"}} {
		want.ready(want.name)
		for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
			if want.get(object, "viewer-"+want.name); object.GetLabels()["team"] != want.team || object.GetLabels()["app.kubernetes.io/instance"] != want.name {
				t.Errorf("%T %s/%s has the labels %v", object, want.namespace, want.name, object.GetLabels())
			}
		}
		pods := want.Pods(want.name)
		if len(pods) != 1 || pods[0].Labels["team"] != want.team || len(pods[0].Spec.ImagePullSecrets) != 1 {
			t.Errorf("the pods of %s/%s are %+v", want.namespace, want.name, pods)
		}
	}
	f.quiet("docs", "a-docs", "b-docs")
	other.quiet("docs")
}

// driftIsLeftForAnAccount has a patched view in mode Warn that is written as its account.
func driftIsLeftForAnAccount(f, _ *fixture) {
	f.account("docs-deployer")
	f.deployer()
	f.create(f.view("first")) // the kinds of reviews are looked up once
	f.ready("first")
	view := f.patchedView()
	view.Spec.DriftDetection = &v1.DriftDetection{Mode: v1.DriftDetectionWarn, Ignore: ignoredReplicas()}
	since := f.mark()
	f.create(view)
	f.ready("docs")
	f.atMostAsked(6, since)

	update(f, &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Tolerations = nil })
	update(f, &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	f.warned("docs", "/spec/template/spec/tolerations", "/spec/type")
	f.quiet("docs")
	if got := len(f.deployment().Spec.Template.Spec.Tolerations); got != 0 {
		f.Errorf("it has %d tolerations", got)
	}

	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Interval = nil })
	f.warned("docs", "/spec/type")
	since = f.mark()
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Changed\n" })
	f.ready("docs")
	f.atMostAsked(8, since) // one more than for a page alone: the Service is put right, too
	if f.configMap().Data["next.md"] != "# Changed\n" || len(f.deployment().Spec.Template.Spec.Tolerations) != 1 {
		f.Error("the change isn't applied, or drift didn't go with it")
	}

	since = f.mark()
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Again\n" })
	f.ready("docs")
	f.atMostAsked(7, since) // one more than without an account: what it may do is asked first
	for _, r := range f.asked(since) {
		if cluster.Writes(r) && r.User == controllerUser && r.Resource != "markdownviews.view.zoetrope.github.io" {
			f.Errorf("the controller wrote it itself: %s", r)
		}
	}
}

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/product/producttest"
)

// kubelet is a node whose pods start only with all keys that they mount, as on a real one,
// and crash if a page says that it is bad.
type kubelet struct {
	*fixture
}

const ownNode = "with-mounts"

// withKubelet has all pods run on such a node.
func (f *fixture) withKubelet() *kubelet {
	f.Helper()
	cordon := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"unschedulable": true}}`))
	f.must(f.Client.Patch(f.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "simulated-1"}}, cordon))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: ownNode}}
	f.must(f.Client.Create(f.Context(), node))
	before := node.DeepCopy() // which others write, too
	node.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("10"), corev1.ResourceMemory: resource.MustParse("10Gi"), corev1.ResourcePods: resource.MustParse("100"),
	}
	node.Status.Allocatable = node.Status.Capacity
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}
	f.must(f.Client.Status().Patch(f.Context(), node, client.MergeFrom(before)))
	return &kubelet{f}
}

func (k *kubelet) pods() []corev1.Pod {
	k.Helper()
	var pods corev1.PodList
	k.must(k.Client.List(k.Context(), &pods, client.InNamespace(k.namespace)))
	return pods.Items
}

// sync does what there is to do about the pods.
func (k *kubelet) sync() {
	k.Helper()
	for _, pod := range k.pods() {
		switch {
		case pod.DeletionTimestamp != nil:
			k.must(client.IgnoreNotFound(k.Client.Delete(k.Context(), &pod, client.GracePeriodSeconds(0))))
		case pod.Spec.NodeName == ownNode && pod.Status.Phase == corev1.PodPending:
			k.start(&pod)
		}
	}
}

func (k *kubelet) start(pod *corev1.Pod) {
	k.Helper()
	status := corev1.ContainerStatus{Name: "mdbook", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	ready := corev1.ConditionTrue
	for name, items := range mounted(pod) {
		configMap := &corev1.ConfigMap{}
		k.get(configMap, name)
		for _, item := range items {
			text, there := configMap.Data[item.Key]
			if !there {
				return // until it is
			}
			if strings.Contains(text, "Bad") {
				ready = corev1.ConditionFalse
				status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
			}
		}
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: ready})
	// A pod that somebody else has just changed is looked at again, as a kubelet does.
	if err := client.IgnoreNotFound(k.Client.Status().Update(k.Context(), pod)); !apierrors.IsConflict(err) {
		k.must(err)
	}
}

// mounted are the ConfigMaps that a pod mounts, and what of them.
func mounted(pod *corev1.Pod) map[string][]corev1.KeyToPath {
	configMaps := map[string][]corev1.KeyToPath{}
	for _, volume := range pod.Spec.Volumes {
		if volume.ConfigMap != nil {
			configMaps[volume.ConfigMap.Name] = volume.ConfigMap.Items
		}
		if volume.Projected != nil {
			for _, source := range volume.Projected.Sources {
				if source.ConfigMap != nil {
					configMaps[source.ConfigMap.Name] = source.ConfigMap.Items
				}
			}
		}
	}
	return configMaps
}

// until has the kubelet work until a condition holds.
func (k *kubelet) until(what string, missing func() string) {
	k.Helper()
	k.eventually(what, func() string {
		k.sync()
		return missing()
	})
}

func (k *kubelet) ready() {
	k.Helper()
	view := &v1.MarkdownView{}
	k.until("docs to be Ready", func() string {
		k.get(view, "docs")
		for _, condition := range view.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == view.Generation {
				return ""
			}
		}
		return fmt.Sprint(view.Status.Conditions)
	})
}

// serving counts the ready pods that mount copies.
func (k *kubelet) serving() string {
	count := 0
	for _, pod := range k.pods() {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.Annotations[v1.LastPagesAnnotation] == "true" && pod.DeletionTimestamp == nil {
				count++
			}
		}
	}
	return fmt.Sprint(count)
}

func (k *kubelet) hasReturned() string {
	return differs(k.deployment().Spec.Template.Annotations[v1.LastPagesAnnotation], "true")
}

func (k *kubelet) triesAgain() string {
	return differs(k.deployment().Spec.Template.Annotations[v1.LastPagesAnnotation], "")
}

// TestLostPodsOfTheLastGoodPagesAreReplaced follows a lost pod, and then more replicas,
// through a bad edit, with the controller started again in each phase.
func TestLostPodsOfTheLastGoodPagesAreReplaced(t *testing.T) {
	f := newCluster(t)
	k := f.withKubelet()
	controller := f.controller("controller")
	for phase, restarted := range []string{"not at all", "when a pod is lost", "when the Deployment has returned", "when the edit is tried again"} {
		restart := func(now int) {
			if now == phase {
				f.must(controller.Stop(t.Context()))
				f.must(controller.Start(t.Context()))
			}
		}
		t.Logf("%s: the controller is started again %s", time.Now().Format(time.TimeOnly), restarted)
		f.create(f.view("docs"))
		k.ready()
		update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Bad\n" })
		k.until("the edit to fail", func() string {
			for _, pod := range k.pods() {
				if len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Waiting != nil {
					return ""
				}
			}
			return "no pod crashes"
		})
		f.status("docs", metav1.ConditionFalse, v1.ProgressingReason)
		since := f.mark()
		for _, pod := range k.pods() {
			if pod.Status.ContainerStatuses[0].State.Running != nil {
				f.must(f.Client.Delete(t.Context(), &pod, client.GracePeriodSeconds(0)))
			}
		}
		restart(1)
		// Nothing starts the new pods here.
		f.eventually("the Deployment to return", k.hasReturned)
		restart(2)
		k.until("the edit to be tried again", k.triesAgain)
		restart(3)
		k.until("a pod of the last good pages", func() string { return differs(k.serving(), "1") })
		view := &v1.MarkdownView{}
		if f.get(view, "docs"); !strings.Contains(fmt.Sprint(view.Status.Conditions), "False") {
			t.Errorf("it isn't told of: %v", view.Status.Conditions)
		}
		if phase == 0 {
			f.atMost(8, since) // with the ReplicaSets read, two applies, and the status, once in a while
		}
		update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Replicas = new(int32(3)) })
		k.until("more of them", func() string { return differs(k.serving(), "3") })
		k.until("the edit to be tried again", k.triesAgain)
		update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Good\n" })
		k.ready()
		f.must(f.Client.Delete(t.Context(), f.view("docs")))
		k.until("all to be collected", func() string {
			var configMaps corev1.ConfigMapList
			f.must(f.Client.List(t.Context(), &configMaps, client.InNamespace(f.namespace), client.MatchingLabels(generator.Labels("docs"))))
			return differs(fmt.Sprint(len(configMaps.Items)+len(k.pods())), "0")
		})
	}
}

// TestARefusedEditStrandsNoPod has an edit change pages, and ask for a Deployment that the API
// server refuses, so that the pages of before are only in copies. A pod that is lost then
// starts again.
func TestARefusedEditStrandsNoPod(t *testing.T) {
	f := newCluster(t)
	k := f.withKubelet()
	f.controller("controller")
	f.create(f.view("docs"))
	k.ready()
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
		v.Spec.Markdowns["next.md"] = "# Changed\n"
		v.Spec.Patches = []v1.Patch{patchOf("Deployment", "spec: {template: {spec: {terminationGracePeriodSeconds: -1}}}")}
	})
	f.status("docs", metav1.ConditionFalse, v1.ApplyFailedReason)
	if page := f.configMap().Data["next.md"]; page != "# Changed\n" {
		t.Fatalf("the pages of before are there: %q", page)
	}
	for _, pod := range k.pods() {
		f.must(f.Client.Delete(t.Context(), &pod, client.GracePeriodSeconds(0)))
	}
	k.until("a pod of the last good pages", func() string { return differs(k.serving(), "1") })
	f.status("docs", metav1.ConditionFalse, v1.ApplyFailedReason)
	since := f.mark()
	f.requestReconciliation("docs", "again")
	if serving := k.serving(); serving != "1" {
		t.Errorf("%s pods serve after another look", serving)
	}
	f.atMost(3, since) // what is refused, and the status
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Patches = nil })
	k.ready()
	if problem := k.triesAgain(); problem != "" {
		t.Errorf("what was asked for isn't served: %s", problem)
	}
}

// TestALargeBookReturnsToItsLastGoodPages has a bad edit make one ConfigMap of several, and a
// pod of the earlier pages be lost.
func TestALargeBookReturnsToItsLastGoodPages(t *testing.T) {
	f := newCluster(t)
	k := f.withKubelet()
	f.controller("controller")
	book := f.largeView("docs")
	f.create(book)
	k.ready()
	if !f.get(&corev1.ConfigMap{}, "markdowns-docs.1") {
		t.Fatal("it has only one ConfigMap")
	}
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Bad\n" })
	k.until("the edit to fail", func() string {
		for _, pod := range k.pods() {
			if len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Waiting != nil {
				return ""
			}
		}
		return "no pod crashes"
	})
	for _, pod := range k.pods() {
		if pod.Status.ContainerStatuses[0].State.Running != nil {
			f.must(f.Client.Delete(t.Context(), &pod, client.GracePeriodSeconds(0)))
		}
	}
	k.until("a pod of the last good pages", func() string { return differs(k.serving(), "1") })
	for _, pod := range k.pods() {
		if pod.Annotations[v1.LastPagesAnnotation] != "true" {
			continue
		}
		for name, items := range mounted(&pod) {
			if len(items) > 0 && !strings.Contains(name, ".last") {
				t.Errorf("a pod of the last good pages mounts %s", name)
			}
		}
	}
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Good\n" })
	k.ready()
	k.until("what isn't needed any more to be deleted", func() string {
		if f.get(&corev1.ConfigMap{}, "markdowns-docs.1") || f.get(&corev1.ConfigMap{}, "markdowns-docs.last.1") {
			return "it is there"
		}
		return ""
	})
}

func TestTheNameOfACopyIsNotTaken(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "markdowns-docs.last", Namespace: f.namespace}, Data: map[string]string{"theirs": "kept"}}
	f.create(foreign)
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Changed\n" })
	view := f.status("docs", metav1.ConditionFalse, v1.ConflictReason)
	if message := readyMessage(view); !strings.Contains(message, "ConfigMap markdowns-docs.last") {
		t.Errorf("it says %s", message)
	}
	now := &corev1.ConfigMap{}
	f.get(now, foreign.Name)
	if now.ResourceVersion != foreign.ResourceVersion || f.configMap().Data["next.md"] != "# Next\n" {
		t.Errorf("something was written: %v, %v", now, f.configMap().Data)
	}
	f.must(f.Client.Delete(t.Context(), foreign))
	f.ready("docs")
	if got := f.configMap().Data["next.md"]; got != "# Changed\n" {
		t.Errorf("the page is %q", got)
	}
}

// TestPagesThatWereEditedMeanwhile has pages edited while nobody looks, in ways that leave
// more or less behind.
func TestPagesThatWereEditedMeanwhile(t *testing.T) {
	edits := map[string]func(*corev1.ConfigMap){
		"a page is edited":  func(c *corev1.ConfigMap) { c.Data["next.md"] = "# Edited\n" },
		"a page is deleted": func(c *corev1.ConfigMap) { delete(c.Data, "next.md") },
		"a page is added":   func(c *corev1.ConfigMap) { c.Data["added.md"] = "# Added\n" },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.create(f.view("docs"))
			f.create(f.view("other"))
			f.settled("docs", "other")
			pages, uid := f.configMap().Data, f.podUIDs()
			update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Suspend = true })
			f.caughtUp()
			update(f, &corev1.ConfigMap{}, "markdowns-docs", edit)
			// Once a later edit is repaired, this one was seen while the view was suspended: one that
			// is first seen after that isn't old enough to be mounted.
			update(f, &corev1.ConfigMap{}, "markdowns-other", edit)
			f.eventually("a later edit to be repaired", func() string {
				return producttest.Differs(fmt.Sprint(producttest.Live[corev1.ConfigMap](f.Fixture, "markdowns-other").Data), fmt.Sprint(pages))
			})
			f.settled("other")
			since := f.mark()
			update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Suspend = false })
			f.ready("docs")
			if got := f.configMap().Data; fmt.Sprint(got) != fmt.Sprint(pages) {
				t.Errorf("the pages are %v", got)
			}
			if got := f.podUIDs(); got == uid || strings.Contains(got, uid) {
				t.Error("the pod that may have mounted the edit still serves")
			}
			f.atMost(6, since)
		})
	}
}

// podUIDs are those of the pods of docs that aren't being deleted.
func (f *fixture) podUIDs() string {
	f.Helper()
	var uids []string
	var pods corev1.PodList
	f.must(f.Client.List(f.Context(), &pods, client.InNamespace(f.namespace), client.MatchingLabels(generator.Labels("docs"))))
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			uids = append(uids, string(pod.UID))
		}
	}
	return strings.Join(uids, " ")
}

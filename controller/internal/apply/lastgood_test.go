package apply

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// large is a page of which each ConfigMap holds one.
func large(text string) string { return strings.Repeat(text+"\n", 600_000/(len(text)+1)) }

// shards serves a book of several ConfigMaps with a file that no ConfigMap can hold, and
// returns its ReplicaSet's template.
func (f *fixture) shards() (served string, set *appsv1.ReplicaSet) {
	f.Helper()
	f.view.Spec.Markdowns = map[string]string{
		"SUMMARY.md": "- [A](a.md)\n- [B](b.md)\n", "a.md": large("a"), "b.md": large("b"), "large.txt": strings.Repeat("c", 2<<20),
	}
	f.applied()
	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
	set = &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs-1", Namespace: "docs", Labels: generator.Labels("docs"), OwnerReferences: []metav1.OwnerReference{
		{Kind: "Deployment", Name: deployment.Name, UID: deployment.UID, Controller: new(true)},
	}}}
	set.Spec.Replicas, set.Spec.Template = new(int32(1)), deployment.Spec.Template
	f.Must(f.Admin.Create(f.Context(), set))
	return set.Spec.Template.Annotations[v1.RevisionAnnotation], set
}

// change makes an edit of one page, with copies before it.
func (f *fixture) change(page, text, served string) (copies []string) {
	f.Helper()
	f.view.Spec.Markdowns[page] = text
	desired := f.desired()
	list, err := f.Copies(f.Context(), f.view, desired, served, &f.wrote)
	f.Must(err)
	for _, d := range list {
		copies = append(copies, d.Name)
	}
	f.execute(append(list, desired...))
	return copies
}

func (f *fixture) execute(desired []Desired) {
	f.Helper()
	plan, err := f.Plan(f.Context(), f.view, desired, &f.last, &f.wrote)
	f.Must(err)
	_, err = f.Execute(f.Context(), plan)
	f.Must(err)
}

// content is what pods find in their volume: all of the ConfigMaps' keys that the template
// names; missing is a key that isn't there.
func (f *fixture) content(template *corev1.PodTemplateSpec) (content map[string]string, missing string) {
	f.Helper()
	content = map[string]string{}
	for _, volume := range template.Spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			configMap := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", source.ConfigMap.Name)
			for _, item := range source.ConfigMap.Items {
				text, there := configMap.Data[item.Key]
				if !there {
					missing = source.ConfigMap.Name + " " + item.Key
				}
				content[item.Path] = text
			}
		}
	}
	return content, missing
}

func TestTheLastGoodPagesOfSeveralConfigMaps(t *testing.T) {
	f := newFixture(t)
	served, set := f.shards()
	before, missing := f.content(&set.Spec.Template)
	if missing != "" || len(before) < 8 {
		t.Fatalf("the book isn't in several ConfigMaps: %d items, missing %s", len(before), missing)
	}
	first := f.change("a.md", large("A"), served)
	second := f.change("b.md", large("B"), served)
	if len(first) != 1 || len(second) != 1 || slices.Equal(first, second) {
		t.Errorf("copies for the first edit %v, for the second %v", first, second)
	}
	if again := f.change("a.md", large("AA"), served); len(again) > 0 {
		t.Errorf("pages that were never served are copied: %v", again)
	}
	if _, missing := f.content(&set.Spec.Template); missing == "" {
		t.Fatal("pods of the last good pages could start as they are")
	}

	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
	returned, ok, err := f.Return(t.Context(), f.view, f.desired(), deployment, served, must(TemplateName(f.desired())), &f.wrote)
	f.Must(err)
	if !ok {
		t.Fatal("there is nothing to return to")
	}
	f.execute(returned)
	deployment = fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
	after, missing := f.content(&deployment.Spec.Template)
	if diff := cmp.Diff(before, after); diff != "" || missing != "" {
		t.Errorf("missing %s; not the pages that were served: %s", missing, diff)
	}
	if len(deployment.Spec.Template.Spec.InitContainers) != 1 {
		t.Error("nothing assembles the large file")
	}
	f.seen()
	name, err := TemplateName(f.desired())
	f.Must(err)
	if ReturnedFrom(deployment) != name {
		t.Errorf("it has returned from %s, not %s", ReturnedFrom(deployment), name)
	}
	stays, err := f.Returned(t.Context(), f.desired(), 1, &f.last, &f.wrote)
	f.Must(err)
	f.Requests()
	if f.execute(stays); len(f.Requests()) > 0 {
		t.Error("what has returned is written again")
	}

	f.execute(f.desired())
	f.view.Spec.Markdowns = map[string]string{"SUMMARY.md": "- [A](a.md)\n", "a.md": "# A\n"}
	f.applied()
	_, _, err = f.Prune(t.Context(), f.view, []string{"markdowns-docs"}, &f.last, &f.wrote)
	f.Must(err)
	var left corev1.ConfigMapList
	f.Must(f.Admin.List(t.Context(), &left))
	for _, configMap := range left.Items {
		if configMap.Name != "markdowns-docs" && configMap.Name != "markdowns-docs.last" {
			t.Errorf("%s is left", configMap.Name)
		}
	}
}

func TestOnlyIntactPagesAreCopied(t *testing.T) {
	tests := map[string]func(*fixture, *corev1.ConfigMap){
		"a page was edited": func(f *fixture, c *corev1.ConfigMap) {
			c.Data["start.md"] = "edited"
			f.Must(f.Admin.Update(f.Context(), c))
		},
		"a page was added": func(f *fixture, c *corev1.ConfigMap) {
			c.Data["more.md"] = "added"
			f.Must(f.Admin.Update(f.Context(), c))
		},
		"they are gone": func(f *fixture, c *corev1.ConfigMap) { f.Must(f.Admin.Delete(f.Context(), c)) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.applied()
			f.view.Spec.Markdowns["start.md"] = "# Next\n"
			desired := f.desired()
			change(f, fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs"))
			copies, err := f.Copies(t.Context(), f.view, desired, "sha256:served", &f.wrote)
			f.Must(err)
			if len(copies) > 0 {
				t.Errorf("copied: %v", copies[0].child().desired)
			}
		})
	}
}

// TestTheReplicaSetThatServed is found among several of a revision.
func TestTheReplicaSetThatServed(t *testing.T) {
	f := newFixture(t)
	f.applied()
	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
	add := func(name, revision string, replicas, available int32, owner client.Object) {
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "docs", Labels: generator.Labels("docs"), OwnerReferences: []metav1.OwnerReference{
			{Kind: "Deployment", Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true)},
		}}}
		set.Spec.Replicas, set.Spec.Template.Annotations = &replicas, map[string]string{v1.RevisionAnnotation: revision}
		set.Status.AvailableReplicas = available
		f.Must(f.Admin.Create(t.Context(), set))
	}
	add("foreign", "good", 9, 9, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", UID: "other"}})
	add("of-before", "older", 5, 5, deployment)
	add("with-a-bad-image", "good", 3, 0, deployment)
	add("served", "good", 3, 1, deployment)
	add("without-pods", "good", 0, 0, deployment)
	set, err := f.replicaSetOf(t.Context(), f.view, deployment, "good")
	f.Must(err)
	if set == nil || set.Name != "served" {
		t.Errorf("got %v", set)
	}
}

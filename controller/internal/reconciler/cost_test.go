package reconciler

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// heapInUse is what is in use of the heap.
func heapInUse() int64 {
	for range 2 { // what is pooled goes with the second collection
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// renamed gives an object the name of another view in the place of docs, in all that it
// holds, as it comes from an API server.
func renamed[T interface {
	client.Object
	Marshal() ([]byte, error)
	Unmarshal(raw []byte) error
}](t *testing.T, object, into T, name string) T {
	t.Helper()
	raw, err := object.Marshal()
	if err == nil {
		// As many bytes, for lengths are encoded too.
		err = into.Unmarshal([]byte(strings.ReplaceAll(string(raw), "docs-000000", name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return into
}

// TestWhatAViewCosts measures what the caches' objects and the state of a view take, part by
// part: docs/benchmarks.md has the table.
func TestWhatAViewCosts(t *testing.T) {
	const name, many = "docs-000000", 4000
	f := newFixture(t)
	f.view(name)
	f.reconcile(name)
	f.rollOut(name)
	view := f.reconcile(name)
	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-"+name)
	service := fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-"+name)
	configMap := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-"+name)
	pod := &corev1.Pod{ObjectMeta: *deployment.Spec.Template.ObjectMeta.DeepCopy(), Spec: deployment.Spec.Template.Spec}
	pod.Name, pod.Namespace, pod.UID = "viewer-"+name+"-12345-67890", "docs", "uid-of-pod"
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "viewer-" + name + "-12345", UID: "uid", Controller: new(true)}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	nameOf := func(i int) string { return fmt.Sprintf("docs-%06d", i+1) }
	total := int64(0)
	for _, part := range []struct {
		what   string
		atMost int64
		make   func(i int) any
	}{
		{"MarkdownView", 1800, func(i int) any {
			decoded := &v1.MarkdownView{}
			raw, err := json.Marshal(view)
			f.Must(err)
			f.Must(json.Unmarshal([]byte(strings.ReplaceAll(string(raw), name, nameOf(i))), decoded))
			decoded.Spec.Markdowns = map[string]string{"a.md": strings.Repeat("x", maxInlineBytesOfView)} // not kept
			return decoded
		}},
		{"Deployment", 3200, func(i int) any { return renamed(t, deployment, &appsv1.Deployment{}, nameOf(i)) }},
		{"Service", 1100, func(i int) any { return renamed(t, service, &corev1.Service{}, nameOf(i)) }},
		{"ConfigMap", 900, func(i int) any { return renamed(t, configMap, &corev1.ConfigMap{}, nameOf(i)) }},
		{"Pod", 2000, func(i int) any { return renamed(t, pod, &corev1.Pod{}, nameOf(i)) }},
	} {
		transforms := CacheOptions(nil, nil, NewInlinePages()).ByObject
		var transform cache.TransformFunc
		for object, by := range transforms {
			if strings.HasSuffix(fmt.Sprintf("%T", object), "."+part.what) {
				transform = by.Transform
			}
		}
		all := make([]any, 0, many)
		before := heapInUse()
		for i := range many {
			kept, err := transform(part.make(i))
			f.Must(err)
			all = append(all, kept)
		}
		each := (heapInUse() - before) / many
		runtime.KeepAlive(all)
		total += each
		t.Logf("%s: %d bytes", part.what, each)
		if each > part.atMost {
			t.Errorf("%s takes %d bytes, more than %d", part.what, each, part.atMost)
		}
	}
	t.Logf("objects of a view: %d bytes", total)
}

// TestWhatIsRememberedOfAViewIsLittle measures what a view's state takes.
func TestWhatIsRememberedOfAViewIsLittle(t *testing.T) {
	for name, of := range map[string]struct {
		atMost  int64
		prepare func(f *fixture, views []string)
	}{
		"served": {3000, func(*fixture, []string) {}},
		"waiting for a rollout slot, after a restart": {4800, func(f *fixture, views []string) {
			for _, name := range views {
				f.asOfTheLastRelease(name)
			}
			f.states = viewStates{}
			f.limiter = newRolloutLimiter(1, &f.states)
			f.limiter.hold(f.states.of(types.NamespacedName{Name: "other"}))
			for _, name := range views {
				f.ready(f.reconcile(name), metav1.ConditionTrue, v1.HealthyReason, "")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			const many = 20
			f := newFixture(t)
			var views []string
			for i := range many {
				views = append(views, fmt.Sprint("docs-", i))
				f.served(views[i])
			}
			of.prepare(f, views)
			f.events.GetEvents()
			f.logged()
			full := heapInUse()
			f.states.byView = nil
			f.limiter.queues = nil
			each := (full - heapInUse()) / many
			t.Logf("state of a view: %d bytes", each)
			if each > of.atMost {
				t.Errorf("%d bytes are remembered of a view, more than %d", each, of.atMost)
			}
			runtime.KeepAlive(f)
		})
	}
}

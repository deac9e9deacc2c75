package integration

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
)

func TestAnExceededQuotaIsReportedAndHeals(t *testing.T) {
	for resourceName, reason := range map[corev1.ResourceName]string{
		"count/configmaps":       v1.ApplyFailedReason,
		"count/deployments.apps": v1.ApplyFailedReason,
		"services":               v1.ApplyFailedReason,
		"pods":                   v1.RolloutFailedReason,
	} {
		t.Run(string(resourceName), func(t *testing.T) {
			f := newFixture(t)
			quota := &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: f.namespace},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{resourceName: resource.MustParse("0")}},
			}
			f.create(quota)
			f.eventually("the quota to be in force", func() string {
				f.get(quota, "none")
				if len(quota.Status.Hard) == 0 {
					return "it isn't"
				}
				return ""
			})
			view := f.view("docs")
			view.Spec.Timeout = &metav1.Duration{Duration: 2e9}
			f.create(view)
			f.status("docs", metav1.ConditionFalse, reason, "exceeded quota: none")
			f.must(f.Client.Delete(t.Context(), quota))
			f.ready("docs")
		})
	}
}

// TestADeletedNamespaceIsLeftAlone holds the deletion up, so that the controller sees
// its objects go while their view is still there.
func TestADeletedNamespaceIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.settled("docs")
	view := f.ready("docs")
	view.Finalizers = []string{"example.com/hold"}
	f.must(f.Client.Update(t.Context(), view))
	since := f.mark()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	f.must(f.Client.Delete(t.Context(), namespace))
	f.eventually("the view's objects to go", func() string {
		if f.get(&appsv1.Deployment{}, "viewer-docs") || f.get(&corev1.ConfigMap{}, "markdowns-docs") || f.get(&corev1.Service{}, "viewer-docs") {
			return "they are there"
		}
		return ""
	})
	for _, r := range f.requests(since) {
		if cluster.Writes(r) && r.Subresource != "status" && r.Code < 400 {
			t.Errorf("the controller wrote into a namespace that was being deleted: %s", r)
		}
	}
	// It may try once for each object, before it sees that the view is going too.
	f.atMost(9, since)
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Finalizers = nil })
	f.eventually("the namespace to go", func() string {
		if err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); !apierrors.IsNotFound(err) {
			return "it is there"
		}
		return ""
	})
}

// TestAFightOverAnObjectIsReportedAndWon has another writer insist on a field of ours:
// it is answered, at first at once and then ever later, the condition says so, nobody
// else waits, and in the end we have it our way.
func TestAFightOverAnObjectIsReportedAndWon(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.settled("docs")
	since := f.mark()
	var writes atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			service := &corev1.Service{}
			if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "viewer-docs"}, service); err != nil {
				continue
			}
			if service.Spec.Ports[0].Port == 81 {
				continue
			}
			service.Spec.Ports[0].Port = 81
			if f.Client.Update(ctx, service, client.FieldOwner("fighter")) == nil {
				writes.Add(1)
			}
		}
	}()
	view := f.status("docs", metav1.ConditionFalse, v1.ContestedReason)
	if message := readyMessage(view); !strings.Contains(message, "Service viewer-docs") {
		t.Errorf("the message doesn't name the object: %s", message)
	}
	other := fixtureIn(t, installed)
	other.create(other.view("docs"))
	other.ready("docs")
	f.eventually("five rounds", func() string {
		if writes.Load() < 5 {
			return "they are not over"
		}
		return ""
	})
	stop()
	<-done
	f.eventually("the right port", func() string {
		service := &corev1.Service{}
		f.get(service, "viewer-docs")
		if service.Spec.Ports[0].Port != 80 {
			return "it is the wrong one"
		}
		return ""
	})
	f.ready("docs")
	if rounds := writes.Load(); rounds > 10 {
		t.Errorf("it is answered %d times", rounds)
	}
	// Each of the other's writes is answered as one drifted object is.
	f.atMost(3*int(writes.Load())+3, since)
	contested := 0
	for _, event := range f.events("docs") {
		if strings.HasPrefix(event, v1.ContestedReason) {
			contested++
		}
	}
	if contested != 1 {
		t.Errorf("there are %d events of it", contested)
	}
}

func TestAViewThatIsDeletedWhileItRollsOutLeavesNothing(t *testing.T) {
	f := newFixture(t)
	view := f.view("docs")
	view.Spec.Replicas = new(int32(20))
	f.create(view)
	f.eventually("the rollout to begin", func() string {
		if !f.get(&appsv1.Deployment{}, "viewer-docs") {
			return "there is no Deployment"
		}
		return ""
	})
	f.must(f.Client.Delete(t.Context(), view))
	f.eventually("all to be gone", func() string {
		var pods corev1.PodList
		f.must(f.Client.List(t.Context(), &pods, client.InNamespace(f.namespace)))
		if len(pods.Items) > 0 || f.get(&appsv1.Deployment{}, "viewer-docs") || f.get(&corev1.ConfigMap{}, "markdowns-docs") || f.get(&corev1.Service{}, "viewer-docs") {
			return "something is there"
		}
		return ""
	})
	// The same name can be used at once.
	f.create(f.view("docs"))
	f.ready("docs")
}

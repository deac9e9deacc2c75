package reconciler

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// quicker has somebody else write an object just before each write of it.
type quicker struct {
	client.Writer
	before func(client.Object)
}

func (q *quicker) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	q.before(object)
	return q.Writer.Patch(ctx, object, patch, options...)
}

func (q *quicker) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	q.before(object)
	return q.Writer.Delete(ctx, object, options...)
}

// TestSomebodyWhoIsAlwaysQuicker has each write refused because the object isn't any more what
// that was decided on.
func TestSomebodyWhoIsAlwaysQuicker(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	writes, stopped := 0, false
	f.Applier.Writer = &quicker{f.Applier.Writer, func(object client.Object) {
		if object.GetName() != "viewer-docs" || stopped {
			return
		}
		if _, isService := object.(*corev1.Service); !isService {
			return
		}
		writes++
		fakecluster.Edit(f.Cluster, "anyone", &corev1.Service{}, "docs", "viewer-docs", func(s *corev1.Service) {
			s.Annotations = map[string]string{"at": f.clock.Now().String()}
			s.Spec.Ports[0].TargetPort = intstr.FromInt32(81)
		})
	}}
	fakecluster.Edit(f.Cluster, "anyone", &corev1.Service{}, "docs", "viewer-docs", func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(81) })
	const rounds = 120
	for range rounds {
		if _, err := f.tryReconcile("docs"); err != nil {
			t.Fatal(err)
		}
		f.clock.SetTime(f.clock.Now().Add(500 * time.Millisecond))
	}
	view := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs")
	f.ready(view, metav1.ConditionFalse, v1.ContestedReason, "Service viewer-docs")
	if writes > rounds/10 {
		t.Errorf("in a minute it is tried %d times", writes)
	}
	told := 0
	for _, message := range f.eventMessages() {
		if strings.Contains(message, v1.ContestedReason) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%d events", told)
	}
	// Other things that are wanted don't wait for it.
	before := writes
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Other\n" })
	_, err := f.tryReconcile("docs")
	f.Must(err)
	if got := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs").Data["start.md"]; got != "# Other\n" || writes != before {
		t.Errorf("the page is %q, after %d more writes of the Service", got, writes-before)
	}
	f.rollOut("docs")
	stopped = true
	for range 10 {
		result, err := f.tryReconcile("docs")
		f.Must(err)
		f.clock.SetTime(f.clock.Now().Add(result.RequeueAfter))
	}
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
	if got := fakecluster.Get(f.Cluster, &corev1.Service{}, "docs", "viewer-docs").Spec.Ports[0].TargetPort; got.IntVal == 81 {
		t.Errorf("in the end the port is %v", got)
	}
}

// TestSurplusConfigMapThatSomebodyWritesIsLeft has one that isn't wanted any more change before each
// time it is deleted: what is served is served all the same.
func TestSurplusConfigMapThatSomebodyWritesIsLeft(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	surplus := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs")
	surplus.ObjectMeta = metav1.ObjectMeta{Namespace: "docs", Name: "markdowns-docs.1", Labels: surplus.Labels, OwnerReferences: surplus.OwnerReferences}
	f.Must(f.Admin.Create(f.Context(), surplus))
	tries, stopped := 0, false
	f.Applier.Writer = &quicker{f.Applier.Writer, func(object client.Object) {
		if object.GetName() == "markdowns-docs.1" && !stopped {
			tries++
			fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs.1", func(c *corev1.ConfigMap) {
				c.Annotations = map[string]string{"at": f.clock.Now().String()}
			})
		}
	}}
	const rounds = 120
	for range rounds {
		f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
		f.clock.SetTime(f.clock.Now().Add(500 * time.Millisecond))
	}
	if tries == 0 || tries > rounds/10 {
		t.Errorf("in a minute it is tried %d times", tries)
	}
	stopped = true
	for range 3 {
		result, err := f.tryReconcile("docs")
		f.Must(err)
		f.clock.SetTime(f.clock.Now().Add(result.RequeueAfter))
	}
	if f.exists("markdowns-docs.1") {
		t.Error("it isn't deleted in the end")
	}
}

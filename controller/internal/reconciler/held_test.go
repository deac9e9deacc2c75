package reconciler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// TestAQuickRolloutIsReportedOnce holds back that a rollout has begun, for as long as nobody
// misses it.
func TestAQuickRolloutIsReportedOnce(t *testing.T) {
	applies := []string{"apply ConfigMap markdowns-docs", "apply Deployment viewer-docs", "apply Service viewer-docs"}
	for name, test := range map[string]struct {
		takes  time.Duration
		status []string
		events []string
	}{
		"it ends at once":  {900 * time.Millisecond, []string{writesStatus}, []string{"Healthy"}},
		"it takes longer":  {time.Second, []string{writesStatus, writesStatus}, []string{"Progressing", "Healthy"}},
		"it takes minutes": {4 * time.Minute, []string{writesStatus, writesStatus}, []string{"Progressing", "Healthy"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.QuickRollout = time.Second
			f.view("docs")
			for range 3 { // as pods wake it
				result, err := f.tryReconcile("docs")
				f.Must(err)
				if result.RequeueAfter == 0 || result.RequeueAfter > time.Second {
					t.Errorf("it is looked at again after %s", result.RequeueAfter)
				}
			}
			if status := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", "docs").Status; len(status.Conditions) > 0 || status.ObservedGeneration != -1 {
				t.Errorf("the status is %+v", status)
			}
			f.clock.SetTime(f.clock.Now().Add(test.takes))
			if test.takes >= time.Second {
				f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "0 of 1")
			}
			f.rollOut("docs")
			view := f.reconcile("docs")
			f.ready(view, metav1.ConditionTrue, v1.HealthyReason, "1 replica serves revision sha256:")
			if view.Status.LastAppliedRevision == "" || view.Status.Inventory == nil || len(view.Status.Inventory.Entries) != 3 {
				t.Errorf("the status is %+v", view.Status)
			}
			if diff := cmp.Diff(append(applies, test.status...), f.Requests()); diff != "" {
				t.Error(diff)
			}
			var reasons []string
			for _, message := range f.eventMessages() {
				reason, _, _ := strings.Cut(strings.TrimPrefix(message, "Normal "), ":")
				reasons = append(reasons, reason)
			}
			if diff := cmp.Diff(test.events, reasons); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWhatIsHeldIsNotLost has the view change while its status is held: what was applied is
// the view's all the same.
func TestWhatIsHeldIsNotLost(t *testing.T) {
	f := newFixture(t)
	f.QuickRollout = time.Second
	f.view("docs")
	_, err := f.tryReconcile("docs")
	f.Must(err)
	fakecluster.Edit(f.Cluster, "user", &v1.MarkdownView{}, "docs", "docs", func(v *v1.MarkdownView) {
		v.Annotations = map[string]string{"team": "docs"}
	})
	f.rollOut("docs")
	view := f.reconcile("docs")
	f.ready(view, metav1.ConditionTrue, v1.HealthyReason, "")
	if view.Status.Inventory == nil || len(view.Status.Inventory.Entries) != 3 {
		t.Errorf("the inventory is %+v", view.Status.Inventory)
	}
}

// TestADriftIsReportedAtOnce: the status says of this generation that it is served.
func TestADriftIsReportedAtOnce(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.QuickRollout = time.Second
	f.stopRollout("docs")
	f.ready(f.reconcile("docs"), metav1.ConditionFalse, v1.ProgressingReason, "")
}

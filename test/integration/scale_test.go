package integration

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// How many views there are of each kind. The good ones are more than the 500 that
// the budgets are given for.
const goodViews, invalidViews, pagelessViews, conflictingViews = 700, 100, 100, 100

// TestAThousandViewsStayWithinTheirBudget also counts what they cost once nothing
// happens, and when the controller is restarted.
func TestAThousandViewsStayWithinTheirBudget(t *testing.T) {
	f := newCluster(t)
	controller := f.controller("controller", "--kube-api-qps=500", "--kube-api-burst=1000", "--concurrent=10")
	since := f.mark()
	began := time.Now()
	f.createAll()
	f.wantStates(map[string]int{v1.HealthyReason: goodViews, v1.InvalidReason: invalidViews, v1.PagesNotFoundReason: pagelessViews, v1.ConflictReason: conflictingViews})
	t.Logf("%d views were as they should be %.0fs after the first was made", goodViews+invalidViews+pagelessViews+conflictingViews, time.Since(began).Seconds())
	f.wantStatusWrites(since)

	// The broken ones wait for nothing that costs a request, and no one waits for
	// them.
	f.caughtUp()
	f.atMost(0, f.idleMinute())
	since = f.mark()
	f.create(f.view("late"))
	f.ready("late")
	f.atMost(6, since)

	f.settled("late")
	since = f.mark()
	f.must(controller.Restart(t.Context()))
	f.create(f.view("after-restart"))
	f.ready("after-restart")
	var writes []cluster.Request
	for _, r := range f.requests(since) {
		if cluster.Writes(r) {
			writes = append(writes, r)
		}
	}
	if len(writes) > 6 { // those of the new view
		t.Errorf("the restart led to writes:\n%s", lines(writes))
	}
}

// createAll makes the views, mixed, and what those in conflict clash with.
func (f *fixture) createAll() {
	f.Helper()
	var makers sync.WaitGroup
	jobs := make(chan client.Object)
	for range 8 {
		makers.Go(func() {
			for object := range jobs {
				if err := f.Client.Create(f.Context(), object); err != nil {
					f.Error(err)
				}
			}
		})
	}
	for i := range conflictingViews {
		jobs <- &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("markdowns-conflicting-%d", i), Namespace: f.namespace}}
	}
	for i := range goodViews {
		jobs <- f.view(fmt.Sprintf("good-%d", i))
		if i < conflictingViews {
			jobs <- f.view(fmt.Sprintf("conflicting-%d", i))
		}
		if i < invalidViews {
			invalid := f.view(fmt.Sprintf("invalid-%d", i))
			invalid.Spec.Markdowns["SUMMARY.md"] += "- [Missing](missing.md)\n"
			jobs <- invalid
		}
		if i < pagelessViews {
			pageless := f.view(fmt.Sprintf("pageless-%d", i))
			pageless.Spec.ContentFrom = []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: "missing"}}}
			jobs <- pageless
		}
	}
	close(jobs)
	makers.Wait()
}

// wantStates waits until so many views have each reason. It looks seldom: to list all
// of them is work.
func (f *fixture) wantStates(want map[string]int) {
	f.Helper()
	for reason, count := range want {
		clustertest.Eventually(f, 10*time.Minute, 2*time.Second, fmt.Sprintf("%d views to be %s", count, reason), func() string {
			var views v1.MarkdownViewList
			f.must(f.Client.List(f.Context(), &views, client.InNamespace(f.namespace)))
			got := 0
			for i := range views.Items {
				if conditions.GetReason(&views.Items[i], meta.ReadyCondition) == reason {
					got++
				}
			}
			if got != count {
				return fmt.Sprintf("%d are", got)
			}
			return ""
		})
	}
}

// wantStatusWrites checks that the status of a broken view was written once, and of
// a good one no more often than it may be.
func (f *fixture) wantStatusWrites(since cluster.Mark) {
	f.Helper()
	writes := map[string]int{}
	for _, r := range f.requests(since) {
		if r.Resource == "markdownviews.view.zoetrope.github.io" && r.Subresource == "status" {
			writes[r.Name]++
		}
	}
	for kind, most := range map[string]struct{ views, writes int }{
		"invalid": {invalidViews, 1}, "pageless": {pagelessViews, 1}, "conflicting": {conflictingViews, 1},
	} {
		for i := range most.views {
			if name := fmt.Sprintf("%s-%d", kind, i); writes[name] != most.writes {
				f.Errorf("the status of %s was written %d times, not %d", name, writes[name], most.writes)
			}
		}
	}
}

// idleMinute lets a minute pass in which nothing happens, and returns its beginning.
func (f *fixture) idleMinute() cluster.Mark {
	f.Helper()
	since := f.mark()
	select {
	case <-time.After(time.Minute):
	case <-f.Context().Done():
	}
	return since
}

package integration

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// workersOfANamespace is how many views of a namespace are reconciled at once by default.
const workersOfANamespace = 10

// TestAHostileNeighbourDelaysNobody has two tenants, of whom one does all that keeps a
// controller busy, and measures how long the other's edits and repairs take.
func TestAHostileNeighbourDelaysNobody(t *testing.T) {
	hang := func(r *http.Request, _ *admissionv1.AdmissionResponse) { <-r.Context().Done() }
	var relabelled atomic.Int32
	relabel := func(_ *http.Request, response *admissionv1.AdmissionResponse) { // each time to another version
		patchType := admissionv1.PatchTypeJSONPatch
		response.PatchType = &patchType
		response.Patch = fmt.Appendf(nil, `[{"op": "add", "path": "/metadata/labels/app.kubernetes.io~1created-by", "value": "mallory-%d"}]`, relabelled.Add(1))
	}
	tests := map[string]struct {
		views  int
		answer func(*http.Request, *admissionv1.AdmissionResponse)
		reason string
	}{
		"by a webhook that takes our label off":    {1, relabel, v1.ApplyFailedReason},
		"by a webhook that hangs for one view":     {1, hang, ""},
		"by a webhook that hangs for thirty views": {30, hang, ""},
		"by a webhook that relabels thirty views":  {30, relabel, v1.ApplyFailedReason},
	}
	c := newCluster(t)
	c.controller("controller")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hostile, other := fixtureIn(t, c.Product), fixtureIn(t, c.Product)
			_, before := other.latencies("before")

			var asked atomic.Int32
			count := func(r *http.Request, response *admissionv1.AdmissionResponse) {
				asked.Add(1)
				test.answer(r, response)
			}
			for _, resource := range []string{"configmaps", "deployments", "services"} {
				remove := hostile.webhookOn(resource, 10, count)
				t.Cleanup(remove)
			}
			hostile.probe()
			probes := asked.Load()
			for i := range test.views {
				hostile.create(hostile.view(fmt.Sprintf("docs-%d", i)))
			}
			hostile.eventually("its views to keep the controller busy", func() string {
				if writes := int(asked.Load() - probes); writes < min(test.views, workersOfANamespace) {
					return fmt.Sprintf("%d writes were tried", writes)
				}
				return ""
			})
			t.Logf("without a neighbour repairs take %v", before)
			if test.reason != "" { // it fails at once: have it tried again and again
				hostile.goesOn(func(round int) {
					view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: hostile.namespace, Name: fmt.Sprint("docs-", round%test.views)}}
					hostile.tryPatch(view, fmt.Sprintf(`{"metadata": {"annotations": {%q: "%d"}}}`, meta.ReconcileRequestAnnotation, round))
				})
			}
			other.undelayed()
			if test.reason != "" {
				hostile.status("docs-0", metav1.ConditionFalse, test.reason, "created-by")
			}
		})
	}
}

// probe waits until the webhooks are asked.
func (f *fixture) probe() {
	f.Helper()
	f.eventually("the webhook to be asked", func() string {
		start := time.Now()
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: f.namespace, Labels: map[string]string{"a": "b"}}}
		if err := f.Client.Create(f.Context(), probe); err == nil && len(probe.Labels) == 1 && time.Since(start) < 5*time.Second {
			return "it isn't"
		}
		return ""
	})
}

// latencies makes a view, and returns how long its edits and repairs take. Each object is
// deleted only once, lest that is taken for a fight.
func (f *fixture) latencies(view string) (edits, repairs []time.Duration) {
	f.Helper()
	f.create(f.view(view))
	f.ready(view)
	pages := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: generator.PagesName(view, 0), Namespace: f.namespace}}
	viewer := metav1.ObjectMeta{Name: generator.ViewerName(view), Namespace: f.namespace}
	repair := func(lost client.Object) {
		f.must(f.Client.Delete(f.Context(), lost))
		repairs = append(repairs, f.until(fmt.Sprintf("the %T", lost), func() string {
			if !f.get(lost.DeepCopyObject().(client.Object), lost.GetName()) {
				return "it isn't there"
			}
			return ""
		}))
	}
	for i := range 5 {
		page := fmt.Sprintf("# Edit %d at %s\n", i, time.Now())
		update(f, &v1.MarkdownView{}, view, func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = page })
		edits = append(edits, f.until("the edit", func() string {
			f.get(pages, pages.Name)
			return differs(pages.Data["next.md"], page)
		}))
	}
	repair(&corev1.Service{ObjectMeta: viewer})
	repair(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: pages.Name, Namespace: f.namespace}})
	repair(&appsv1.Deployment{ObjectMeta: viewer})
	return edits, repairs
}

// measures is how often within measures at most, each time with another view.
const measures = 3

func measured(round int) (view string) { return fmt.Sprint("measured-", round) }

// within measures something of a view, of which half is to take no longer than the limit. It
// does so again where it doesn't: the machine is busy, now and then; what others do to the
// controller lasts.
func (f *fixture) within(limit time.Duration, measure func(view string) (took [][]time.Duration)) {
	f.Helper()
	for round := range measures {
		took := measure(measured(round))
		f.Logf("it took %v", took)
		slowest := time.Duration(0)
		for _, one := range took {
			slowest = max(slowest, median(one))
		}
		switch {
		case slowest <= limit:
			return
		case round == measures-1:
			f.Errorf("it took %s, may take %s", slowest, limit)
		}
	}
}

// undelayed measures the edits and repairs of views.
func (f *fixture) undelayed() {
	f.Helper()
	f.within(time.Second, func(view string) [][]time.Duration {
		edits, repairs := f.latencies(view)
		f.Logf("half of the edits take no longer than %s, of the repairs than %s", median(edits), median(repairs))
		return [][]time.Duration{edits, repairs}
	})
}

func median(took []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(took))[len(took)/2]
}

// until returns how long it takes until nothing is missing.
func (f *fixture) until(what string, missing func() string) time.Duration {
	f.Helper()
	start := time.Now()
	f.eventually(what, missing)
	return time.Since(start)
}

// TestNobodysObjectIsTakenWhileAViewIsCreated has somebody make an object of each view's
// name while the view is created, a hundred times.
func TestNobodysObjectIsTakenWhileAViewIsCreated(t *testing.T) {
	f := newFixture(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	kinds := []string{"ConfigMap markdowns-docs", "Deployment viewer-docs", "Service viewer-docs"}
	var mu sync.Mutex
	var wait sync.WaitGroup
	theirs := map[string]client.Object{}
	for i := range 100 {
		name, kind, requests := fmt.Sprintf("docs-%d", i), kinds[i%3], random.IntN(20)
		wait.Go(func() {
			foreign := foreignObjects(f.namespace)[kind]
			foreign.SetName(strings.Replace(foreign.GetName(), "docs", name, 1))
			key := client.ObjectKey{Namespace: f.namespace, Name: name}
			for range requests { // each takes about as long as one of the controller's
				if err := client.IgnoreNotFound(f.Client.Get(f.Context(), key, &v1.MarkdownView{})); err != nil {
					f.Error(err)
				}
			}
			switch err := f.Client.Create(f.Context(), foreign); {
			case err == nil:
				mu.Lock()
				defer mu.Unlock()
				theirs[name] = foreign
			case !apierrors.IsAlreadyExists(err):
				f.Error(err)
			}
		})
		f.create(f.view(name))
		wait.Wait()
	}
	t.Logf("%d of 100 were made before the controller made its own", len(theirs))
	for name, foreign := range theirs {
		view := &v1.MarkdownView{}
		f.eventually(name+" to be in conflict", func() string {
			f.get(view, name)
			if reason := conditions.GetReason(view, meta.ReadyCondition); reason != v1.ConflictReason {
				return "its reason is " + reason
			}
			return ""
		})
		after := foreign.DeepCopyObject().(client.Object)
		f.get(after, foreign.GetName())
		if len(after.GetLabels()) != 0 || len(after.GetOwnerReferences()) != 0 || hasManager(after, "markdown-view-controller") {
			t.Errorf("%T of %s was touched: %v, %v, %v", after, name, after.GetLabels(), after.GetOwnerReferences(), after.GetManagedFields())
		}
		if configMap, ok := after.(*corev1.ConfigMap); ok && configMap.Data["theirs"] != "x" {
			t.Errorf("the ConfigMap of %s was emptied: %v", name, configMap.Data)
		}
	}
}

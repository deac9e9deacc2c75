package reconciler

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

var staleSeed = flag.Uint64("stale-seed", 0, "the seed of TestStaleCaches; 0 for many")

// TestStaleCaches has random people change a view's objects while what the controller
// sees of them is late, by any time and in any order for different objects. In the end
// nothing that was repaired is broken, and nothing is written.
func TestStaleCaches(t *testing.T) {
	if *staleSeed != 0 {
		newStaleModel(t, *staleSeed).run()
		return
	}
	first := rand.Uint64()
	for i := range uint64(10) {
		seed := first + i
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { newStaleModel(t, seed).run() })
	}
}

// staleModel is a fixture whose caches are late.
type staleModel struct {
	*fixture
	random     *rand.Rand
	ours, all  *fakecluster.Lag
	woken      bool
	due        time.Time // zero if the view isn't looked at again by itself
	disturbed  int
	reconciled int
	// missed means that versions may never have been seen: then a write is believed for
	// longer.
	missed bool
	// times is how often each object was changed.
	times [3]int
}

func newStaleModel(t *testing.T, seed uint64) *staleModel {
	m := &staleModel{fixture: newFixture(t), random: rand.New(rand.NewPCG(seed, seed))}
	var all []fakecluster.Index
	for _, index := range indexes {
		all = append(all, fakecluster.Index{Object: index.object, Name: index.name, Values: index.values})
	}
	m.ours = fakecluster.NewLag(m.Cluster, all, func(o client.Object) bool {
		return o.GetLabels()["app.kubernetes.io/created-by"] == generator.FieldManager
	})
	m.all = fakecluster.NewLag(m.Cluster, all, func(client.Object) bool { return true })
	m.Behind(m.ours)
	m.Applier.Metadata = m.all
	m.Pages.Metadata = m.all
	key := types.NamespacedName{Namespace: "docs", Name: "docs"}
	m.ours.OnEvent = func(kind string, object client.Object, gone, unknown bool) {
		if gone && kind != v1.Kind {
			m.states.gone(key, kind, object, unknown)
		}
		m.woken = true
	}
	m.all.OnEvent = func(kind string, _ client.Object, gone, _ bool) {
		m.woken = m.woken || kind == "ConfigMap" || kind == "Service" && gone
	}
	return m
}

func (m *staleModel) run() {
	if m.random.IntN(2) == 0 {
		m.QuickRollout = time.Second
	}
	m.view("docs")
	m.Observe()
	for range 150 {
		m.step()
	}
	disturbances := m.disturbed
	if writes := len(m.Requests()); writes > 8+8*disturbances {
		m.Errorf("%d writes for %d disturbances", writes, disturbances)
	}
	m.settle()
	if m.Conflicts > 2+disturbances {
		m.Errorf("%d writes were refused as stale, of %d disturbances: it doesn't know its own", m.Conflicts, disturbances)
	}
	m.check()
}

// step lets one thing happen.
func (m *staleModel) step() {
	switch dice := m.random.IntN(20); {
	case dice < 5:
		m.deliver(m.ours)
	case dice < 8:
		m.deliver(m.all)
	case dice < 16:
		m.reconcileIfDue()
	case dice < 17:
		m.clock.SetTime(m.clock.Now().Add(time.Duration(m.random.IntN(1500)) * time.Millisecond))
	default:
		m.disturb()
	}
}

func (m *staleModel) deliver(l *fakecluster.Lag) {
	pending := l.Pending()
	if len(pending) == 0 {
		return
	}
	key := pending[m.random.IntN(len(pending))]
	if m.random.IntN(5) == 0 {
		m.missed = m.missed || l == m.ours
		l.Relist(key)
	} else {
		l.Deliver(key)
	}
}

func (m *staleModel) reconcileIfDue() {
	if !m.woken && (m.due.IsZero() || m.clock.Now().Before(m.due)) {
		return
	}
	m.woken, m.due = false, time.Time{}
	m.reconciled++
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "docs", Name: "docs"}}
	result, err := m.Reconcile(context.WithoutCancel(m.Context()), request)
	if err != nil {
		result.RequeueAfter = 750 * time.Millisecond
	}
	if result.RequeueAfter > 0 {
		m.due = m.clock.Now().Add(result.RequeueAfter)
	}
	m.Observe()
}

// disturb is what people do.
func (m *staleModel) disturb() {
	objects := []client.Object{&corev1.ConfigMap{}, &appsv1.Deployment{}, &corev1.Service{}}
	names := []string{"markdowns-docs", "viewer-docs", "viewer-docs"}
	i := m.random.IntN(len(objects))
	object := objects[i]
	ctx := m.Context()
	if m.random.IntN(6) == 0 {
		m.update("docs", func(v *v1.MarkdownView) {
			v.Spec.Markdowns["start.md"] = fmt.Sprintf("# Start %d\n", m.random.IntN(5))
			v.Spec.Replicas = new(int32(m.random.IntN(3)))
		})
		m.disturbed++
		m.Observe()
		return
	}
	if m.Admin.Get(ctx, client.ObjectKey{Namespace: "docs", Name: names[i]}, object) != nil {
		return
	}
	if m.times[i]++; m.times[i] > 3 {
		return // that would be a fight, which has rules of its own
	}
	m.disturbed++
	switch m.random.IntN(5) {
	case 0:
		m.Must(m.Admin.Delete(ctx, object))
	case 1:
		object.SetLabels(nil)
	case 2:
		object.SetOwnerReferences(nil)
	default:
		switch o := object.(type) {
		case *corev1.ConfigMap:
			if m.random.IntN(2) == 0 {
				o.BinaryData = map[string][]byte{"foreign": {1}}
			} else {
				o.Data["start.md"] = "# Foreign\n"
			}
		case *appsv1.Deployment:
			o.Spec.Replicas = new(int32(7))
		case *corev1.Service:
			o.Spec.Selector = map[string]string{"app": "foreign"}
		}
	}
	_ = m.Admin.Update(ctx, object, client.FieldOwner("anyone")) // not if it was deleted
	m.Observe()
}

// settle lets everything arrive that is on the way, in any order, and everything be
// done that is due soon.
func (m *staleModel) settle() {
	end := m.clock.Now().Add(apply.SettleTime / 2)
	if m.missed {
		end = end.Add(apply.SettleTime)
	}
	for steps := 0; ; steps++ {
		switch {
		case steps > 500:
			m.Fatalf("it doesn't come to rest: %v", m.Requests())
		case len(m.ours.Pending()) > 0:
			m.deliver(m.ours)
		case len(m.all.Pending()) > 0:
			m.deliver(m.all)
		case m.woken:
			m.reconcileIfDue()
		case !m.due.IsZero() && m.due.Before(end):
			m.clock.SetTime(m.due)
			m.reconcileIfDue()
		default:
			return
		}
	}
}

// check holds the cluster against what the view wants.
func (m *staleModel) check() {
	writes := m.Requests()
	if len(writes) > 30 {
		m.Errorf("%d writes to come to rest: %v", len(writes), writes)
	}
	view := fakecluster.Get(m.Cluster, &v1.MarkdownView{}, "docs", "docs")
	view.Default()
	output, err := generator.Generate(view, nil)
	m.Must(err)
	desired, err := apply.DesiredOf(view, output)
	m.Must(err)
	m.Behind(nil)
	observer := &apply.Applier{Client: m.Cached, APIReader: m.Admin, Metadata: m.Admin, Clock: m.clock}
	plan, err := observer.Plan(m.Context(), view, desired, &apply.LastApplied{}, &apply.Expectations{})
	m.Must(err)
	if planned := plan.Writes(); len(planned) > 0 {
		m.Errorf("a repair was lost: %v after %d reconciliations; condition %v", planned, m.reconciled, view.Status.Conditions)
	}
	for _, object := range []client.Object{
		fakecluster.Get(m.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs"),
		fakecluster.Get(m.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs"),
		fakecluster.Get(m.Cluster, &corev1.Service{}, "docs", "viewer-docs"),
	} {
		if !apply.CarriesLabels(object, "docs") || !metav1.IsControlledBy(object, view) {
			m.Errorf("%T has the labels %v and the owners %v", object, object.GetLabels(), object.GetOwnerReferences())
		}
	}
	m.Behind(m.ours)
	m.woken = true
	m.reconcileIfDue()
	if more := m.Requests(); len(more) > 0 {
		m.Errorf("at rest it writes: %v", more)
	}
}

// TestOwnWritesAreKnown has caches that don't show them.
func TestOwnWritesAreKnown(t *testing.T) {
	reconcile := func(m *staleModel, times int) {
		for range times {
			m.woken = true
			m.reconcileIfDue()
		}
	}
	deliverAll := func(m *staleModel) {
		for _, l := range []*fakecluster.Lag{m.ours, m.all} {
			for len(l.Pending()) > 0 {
				m.deliver(l)
			}
		}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}
	created := []string{
		"apply ConfigMap markdowns-docs", "apply Deployment viewer-docs", "apply Service viewer-docs",
		"write the status of MarkdownView docs",
	}
	// Marked, repaired, and tried once.
	restarted := []string{"apply ConfigMap markdowns-docs", "apply ConfigMap markdowns-docs", "apply Deployment viewer-docs"}
	tests := map[string]struct {
		then func(*staleModel)
		want []string
	}{
		"nothing is created twice": {func(m *staleModel) { reconcile(m, 5) }, nil},
		"nothing is applied twice": {
			func(m *staleModel) {
				m.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Changed\n" })
				m.Observe()
				m.ours.Deliver("MarkdownView docs/docs") // the status
				m.ours.Deliver("MarkdownView docs/docs")
				reconcile(m, 5)
			},
			[]string{"apply ConfigMap markdowns-docs", "apply Deployment viewer-docs", "write the status of MarkdownView docs"},
		},
		"what is deleted before it was seen is created again at once": {
			func(m *staleModel) {
				m.Must(m.Admin.Delete(m.Context(), service.DeepCopy()))
				m.Observe()
				deliverAll(m)
				reconcile(m, 1)
			},
			[]string{"apply Service viewer-docs"},
		},
		"what is deleted is created again once, though its metadata stay in the cache": {
			func(m *staleModel) {
				deliverAll(m)
				m.Must(m.Admin.Delete(m.Context(), service.DeepCopy()))
				m.Observe()
				m.ours.Deliver("Service docs/viewer-docs")
				reconcile(m, 3)
			},
			// Over what the metadata show, which is refused, and anew.
			[]string{"apply Service viewer-docs", "apply Service viewer-docs"},
		},
		"what was gone before it could be seen is restarted once": {
			func(m *staleModel) {
				deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}
				m.Must(m.Admin.Delete(m.Context(), deployment))
				m.Observe()
				m.ours.Relist("Deployment docs/viewer-docs")
				fakecluster.Edit(m.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Edited\n" })
				m.Observe()
				m.ours.Relist("ConfigMap docs/markdowns-docs")
				m.clock.SetTime(m.clock.Now().Add(apply.SettleTime * 3 / 4)) // pods may have mounted the edit
				reconcile(m, 4)
			},
			restarted,
		},
		"what was gone before it could be seen is created again in time": {
			func(m *staleModel) {
				m.Must(m.Admin.Delete(m.Context(), service.DeepCopy()))
				m.Observe()
				m.ours.Relist("Service docs/viewer-docs")
				deliverAll(m)
				reconcile(m, 1)
				m.clock.SetTime(m.due)
				m.reconcileIfDue()
			},
			[]string{"apply Service viewer-docs"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newStaleModel(t, 1)
			m.view("docs")
			m.Observe()
			m.ours.Deliver("MarkdownView docs/docs")
			reconcile(m, 1)
			if diff := cmp.Diff(created, m.Requests()); diff != "" {
				t.Fatal(diff)
			}
			test.then(m)
			if diff := cmp.Diff(test.want, m.Requests()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

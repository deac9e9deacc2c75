package reconciler

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/conditions/check"
	"github.com/fluxcd/pkg/runtime/events"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/account"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/artifact"
	"github.com/zoetrope/markdown-view/controller/internal/pages"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// fixture is a reconciler of a cluster in memory.
type fixture struct {
	*testing.T
	*fakecluster.Cluster
	*Reconciler
	clock  *testclock.FakePassiveClock
	events *events.FakeRecorder
	// lines are what was logged, at the level info, and with debug at all levels.
	lines []string
	debug bool
}

func newFixture(t *testing.T, objects ...client.Object) *fixture {
	t.Helper()
	f := &fixture{T: t, clock: testclock.NewFakePassiveClock(time.Now()), events: events.NewFakeRecorder(100, false)}
	var all []fakecluster.Index
	for _, index := range indexes {
		all = append(all, fakecluster.Index{Object: index.object, Name: index.name, Values: index.values})
	}
	f.Cluster = fakecluster.New(t, "app.kubernetes.io/created-by", generator.FieldManager, all, objects...)
	inline := NewInlinePages()
	transforms := CacheOptions(nil, nil, inline).ByObject
	f.Transform(func(object client.Object) error {
		for of, by := range transforms {
			if reflect.TypeOf(of) == reflect.TypeOf(object) {
				_, err := by.Transform(object)
				return err
			}
		}
		return nil
	})
	f.Reconciler = &Reconciler{
		Client:    f.Cached,
		Pages:     &pages.Finder{Metadata: f.Others, Client: f.Cached, APIReader: f.Admin, Sources: &pages.Sources{Reader: f.Cached, Artifacts: artifact.NewStore(t.TempDir(), artifact.Hosts{}, artifact.Limits{}, logr.Discard())}},
		Applier:   &apply.Applier{Client: f.Cached, Writer: f.Cached, APIReader: f.Admin, Metadata: f.Others, Clock: f.clock},
		Accounts:  &account.Accounts{},
		Inline:    inline,
		APIReader: f.Admin,
		Events:    f.events,
		Metrics:   NewMetrics(f.Cached, false),
		Clock:     f.clock,
	}
	return f
}

// view creates a view of one page.
func (f *fixture) view(name string) *v1.MarkdownView {
	f.Helper()
	view := &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "docs", UID: types.UID("uid-of-" + name), Generation: 1},
		Spec: v1.MarkdownViewSpec{Markdowns: map[string]string{
			"SUMMARY.md": "- [Start](start.md)\n", "start.md": "# Start\n",
		}},
		Status: v1.MarkdownViewStatus{ObservedGeneration: -1},
	}
	f.Must(f.Admin.Create(f.Context(), view))
	return view
}

// update changes a view as a user does.
func (f *fixture) update(name string, change func(*v1.MarkdownView)) {
	f.Helper()
	fakecluster.Edit(f.Cluster, "user", &v1.MarkdownView{}, "docs", name, func(v *v1.MarkdownView) {
		v.Generation++
		change(v)
	})
}

// reconcile reconciles a view and returns it.
func (f *fixture) reconcile(name string) *v1.MarkdownView {
	f.Helper()
	result, err := f.tryReconcile(name)
	f.Must(err)
	view := fakecluster.Get(f.Cluster, &v1.MarkdownView{}, "docs", name)
	if !conditions.IsTrue(view, meta.ReadyCondition) && result.RequeueAfter == 0 && !conditions.IsStalled(view) {
		f.Errorf("%s isn't Ready, and isn't looked at again by itself", name)
	}
	return view
}

func (f *fixture) tryReconcile(name string) (ctrl.Result, error) {
	logger := funcr.New(func(_, line string) { f.lines = append(f.lines, line) }, funcr.Options{Verbosity: map[bool]int{true: 1}[f.debug]})
	ctx := logr.NewContext(f.Context(), logger)
	key := types.NamespacedName{Namespace: "docs", Name: name}
	result, err := f.Reconcile(ctx, ctrl.Request{NamespacedName: key})
	view := &v1.MarkdownView{}
	if f.Admin.Get(f.Context(), key, view) == nil && len(view.Status.Conditions) > 0 && view.Status.Conditions[0].ObservedGeneration == view.Generation {
		f.checkConditions(view)
	}
	return result, err
}

// logged returns the lines since it was called last.
func (f *fixture) logged() []string {
	lines := f.lines
	f.lines = nil
	return lines
}

// rollOut has a view's pods become ready, as many as are wanted.
func (f *fixture) rollOut(name string) {
	f.Helper()
	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-"+name)
	replicas := *deployment.Spec.Replicas
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: replicas, UpdatedReplicas: replicas, AvailableReplicas: replicas, ReadyReplicas: replicas,
	}
	f.Must(f.Admin.Status().Update(f.Context(), deployment))
}

// stopRollout has none of a view's replicas be of the current template.
func (f *fixture) stopRollout(name string) {
	f.Helper()
	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-"+name)
	deployment.Status.UpdatedReplicas = 0
	f.Must(f.Admin.Status().Update(f.Context(), deployment))
}

// served creates a view and has it served.
func (f *fixture) served(name string) {
	f.Helper()
	f.view(name)
	f.reconcile(name)
	f.rollOut(name)
	f.ready(f.reconcile(name), metav1.ConditionTrue, v1.HealthyReason, "")
	f.Requests()
	f.logged()
	f.events.GetEvents()
}

// checkConditions holds a view's status against Flux's rules.
func (f *fixture) checkConditions(view *v1.MarkdownView) {
	f.Helper()
	checker := check.NewChecker(nil, &check.Conditions{NegativePolarity: []string{meta.StalledCondition, meta.ReconcilingCondition}})
	checker.DisableFetch = true
	if fail, warn := checker.Check(f.Context(), view); fail != nil || warn != nil {
		f.Errorf("the conditions of %s break Flux's rules: %v %v\n%v", view.Name, fail, warn, view.Status.Conditions)
	}
}

// ready checks the Ready condition.
func (f *fixture) ready(view *v1.MarkdownView, status metav1.ConditionStatus, reason, message string) {
	f.Helper()
	condition := conditions.Get(view, meta.ReadyCondition)
	if condition == nil {
		f.Fatalf("%s has no Ready condition", view.Name)
	}
	f.checkConditions(view)
	if condition.Status != status || condition.Reason != reason || !strings.Contains(condition.Message, message) {
		f.Fatalf("%s is Ready=%s, %s: %s; want %s, %s: %s", view.Name, condition.Status, condition.Reason, condition.Message, status, reason, message)
	}
}

// eventMessages lists the events since it was called last.
func (f *fixture) eventMessages() []string {
	var messages []string
	for _, e := range f.events.GetEvents() {
		messages = append(messages, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
	}
	return messages
}

// exists reports whether there is a ConfigMap.
func (f *fixture) exists(configMap string) bool {
	f.Helper()
	var list corev1.ConfigMapList
	f.Must(f.Admin.List(f.Context(), &list, client.InNamespace("docs")))
	for i := range list.Items {
		if list.Items[i].Name == configMap {
			return true
		}
	}
	return false
}

// isView reports whether a request is about a view: its status is written without asking
// for the view back.
func isView(object client.Object) bool {
	partial, isPartial := object.(*metav1.PartialObjectMetadata)
	_, isWhole := object.(*v1.MarkdownView)
	return isWhole || isPartial && partial.Kind == v1.Kind
}

package integration

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/conditions/check"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/product"
)

// patience is how long a test waits for what should take a second or two.
const patience = time.Minute

// fixture is a namespace of a test's own, in a cluster with the product.
type fixture struct {
	*testing.T
	*product.Product
	namespace string
}

// newFixture makes a namespace in the cluster that tests share.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	clustertest.Need(t, shared, cluster.Controllers)
	t.Parallel()
	return fixtureIn(t, installed)
}

func fixtureIn(t *testing.T, p *product.Product) *fixture {
	t.Helper()
	return &fixture{T: t, Product: p, namespace: clustertest.Namespace(t, p.Cluster)}
}

// newCluster starts a cluster for one test, with the product and no controller.
func newCluster(t *testing.T) *fixture {
	t.Helper()
	clustertest.Need(t, shared, cluster.Faults, cluster.Controllers, cluster.SimulatedNodes, cluster.RequestLog)
	t.Parallel()
	p, err := product.Install(t.Context(), clustertest.Start(t, cluster.Options{
		Nodes: 1,
		// A node that isn't heard of during a fault is no fault: simulated pods
		// don't get ready again as those of a kubelet do.
		Args: map[string][]string{cluster.ControllerManager: {"--node-monitor-grace-period=1h"}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return fixtureIn(t, p)
}

// controller runs a controller in the test's cluster.
func (f *fixture) controller(name string, args ...string) *cluster.Component {
	f.Helper()
	component, err := f.RunController(f.Context(), name, args...)
	if err != nil {
		f.Fatal(err)
	}
	return component
}

func (f *fixture) component(name string) *cluster.Component {
	f.Helper()
	component, err := f.Cluster.Component(name)
	if err != nil {
		f.Fatal(err)
	}
	return component
}

// view returns a view with two pages.
func (f *fixture) view(name string) *v1.MarkdownView {
	return &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace},
		Spec: v1.MarkdownViewSpec{Markdowns: map[string]string{
			"SUMMARY.md": "# Summary\n\n- [Start](start.md)\n- [Next](next.md)\n",
			"start.md":   "# Start\n",
			"next.md":    "# Next\n",
		}},
	}
}

func (f *fixture) create(object client.Object) {
	f.Helper()
	if err := f.Client.Create(f.Context(), object); err != nil {
		f.Fatal(err)
	}
}

// get reads an object of the test's namespace; false if there is none.
func (f *fixture) get(object client.Object, name string) bool {
	f.Helper()
	err := f.Client.Get(f.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, object)
	if client.IgnoreNotFound(err) != nil {
		f.Fatal(err)
	}
	return err == nil
}

// update changes an object as kubectl edit does, again if it was changed
// meanwhile.
func update[T client.Object](f *fixture, object T, name string, change func(T)) {
	f.Helper()
	f.eventually("the update of "+name, func() string {
		if !f.get(object, name) {
			return "it doesn't exist"
		}
		change(object)
		if err := f.Client.Update(f.Context(), object, client.FieldOwner("kubectl-edit")); err != nil {
			return err.Error()
		}
		return ""
	})
}

// eventually waits until a condition holds; it returns what is missing.
func (f *fixture) eventually(what string, missing func() string) {
	f.Helper()
	clustertest.Eventually(f, patience, clustertest.Often, what, missing)
}

// status waits until a view of its current generation has a Ready condition, and
// checks that Flux's rules hold for it.
func (f *fixture) status(name string, want metav1.ConditionStatus, reason string) *v1.MarkdownView {
	f.Helper()
	view := &v1.MarkdownView{}
	f.eventually(fmt.Sprintf("%s to be Ready=%s, %s", name, want, reason), func() string {
		if !f.get(view, name) {
			return "the view doesn't exist"
		}
		ready := conditions.Get(view, meta.ReadyCondition)
		switch {
		case ready == nil:
			return "it has no Ready condition"
		case ready.ObservedGeneration != view.Generation:
			return "its Ready condition is of an earlier generation: " + ready.Message
		}
		checkConditions(f.T, view) // in between, too
		if ready.Status != want || ready.Reason != reason {
			return fmt.Sprintf("it is Ready=%s, %s: %s", ready.Status, ready.Reason, ready.Message)
		}
		return ""
	})
	return view
}

func (f *fixture) ready(name string) *v1.MarkdownView {
	f.Helper()
	return f.status(name, metav1.ConditionTrue, v1.HealthyReason)
}

func checkConditions(t *testing.T, view *v1.MarkdownView) {
	t.Helper()
	checker := check.NewChecker(nil, &check.Conditions{NegativePolarity: []string{meta.StalledCondition, meta.ReconcilingCondition}})
	checker.DisableFetch = true
	fail, warn := checker.Check(t.Context(), view)
	if err := errors.Join(fail, warn); err != nil {
		t.Errorf("the conditions of %s break Flux's rules: %v\n%v", view.Name, err, view.Status.Conditions)
	}
}

// requests returns the controller's requests in the test's namespace, events
// aside.
func (f *fixture) requests(since cluster.Mark) []cluster.Request {
	f.Helper()
	list, err := f.Cluster.Requests(f.Context(), since, cluster.By(controllerUser), cluster.In(f.namespace), cluster.Not(cluster.Events))
	if err != nil {
		f.Fatal(err)
	}
	return list
}

func (f *fixture) mark() cluster.Mark {
	f.Helper()
	mark, err := f.Cluster.Mark(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return mark
}

// atMost fails if the controller made more requests than its budget.
func (f *fixture) atMost(budget int, since cluster.Mark) {
	f.Helper()
	list := f.requests(since)
	f.Logf("%d requests, at most %d are allowed", len(list), budget)
	if len(list) > budget {
		f.Errorf("the controller made %d requests, may make at most %d:\n%s", len(list), budget, lines(list))
	}
}

func lines(list []cluster.Request) string {
	var b strings.Builder
	for _, r := range list {
		b.WriteString("  " + r.String() + "\n")
	}
	return b.String()
}

// events returns the reasons and messages of a view's events.
func (f *fixture) events(name string) []string {
	f.Helper()
	var list corev1.EventList
	if err := f.Client.List(f.Context(), &list, client.InNamespace(f.namespace)); err != nil {
		f.Fatal(err)
	}
	var messages []string
	for _, event := range list.Items {
		if event.InvolvedObject.Kind == v1.Kind && event.InvolvedObject.Name == name {
			messages = append(messages, event.Reason+": "+event.Message)
		}
	}
	slices.Sort(messages)
	return messages
}

// deployment is that of the view docs.
func (f *fixture) deployment() *appsv1.Deployment {
	f.Helper()
	deployment := &appsv1.Deployment{}
	if !f.get(deployment, "viewer-docs") {
		f.Fatal("Deployment viewer-docs doesn't exist")
	}
	return deployment
}

// configMap is the first of the view docs.
func (f *fixture) configMap() *corev1.ConfigMap {
	f.Helper()
	configMap := &corev1.ConfigMap{}
	if !f.get(configMap, "markdowns-docs") {
		f.Fatal("ConfigMap markdowns-docs doesn't exist")
	}
	return configMap
}

// logHas says what is missing in a program's log, which stays when it is started
// again.
func (f *fixture) logHas(program *cluster.Component, times int, text string) string {
	f.Helper()
	content, err := os.ReadFile(program.LogFile())
	if err != nil {
		return err.Error()
	}
	if got := strings.Count(string(content), text); got < times {
		return fmt.Sprintf("its log says %q %d times", text, got)
	}
	return ""
}

func readyMessage(view *v1.MarkdownView) string {
	return conditions.GetMessage(view, meta.ReadyCondition)
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// event waits for an event of a view whose reason and message begin like this.
func (f *fixture) event(view, begin string) {
	f.Helper()
	f.eventually("the event "+begin, func() string {
		events := f.events(view)
		if slices.ContainsFunc(events, func(event string) bool { return strings.HasPrefix(event, begin) }) {
			return ""
		}
		return "there are only:\n" + strings.Join(events, "\n")
	})
}

package integration

import (
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

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/product"
	"github.com/zoetrope/markdown-view/test/product/producttest"
)

// patience is how long a test waits for what should take a second or two: the machine may
// be busy with much else.
const patience = 3 * time.Minute

// fixture is a namespace of a test's own, in a cluster with the product.
type fixture struct {
	*producttest.Fixture
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
	f := producttest.New(t, p, patience)
	return &fixture{f, f.Namespace}
}

// newCluster starts a cluster for one test, with the product and no controller.
func newCluster(t *testing.T, apiServerArgs ...string) *fixture {
	t.Helper()
	clustertest.Need(t, shared, cluster.Faults, cluster.Controllers, cluster.SimulatedNodes, cluster.RequestLog)
	t.Parallel()
	p, err := installed.InstallIn(t.Context(), clustertest.Start(t, cluster.Options{
		Nodes: 1,
		// A node that isn't heard of during a fault is no fault: simulated pods
		// don't get ready again as those of a kubelet do.
		Args: map[string][]string{
			cluster.ControllerManager: {"--node-monitor-grace-period=1h"},
			cluster.Etcd:              {"--quota-backend-bytes=8589934592"}, // large books fill the usual 2 GiB
			cluster.APIServer:         apiServerArgs,
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return fixtureIn(t, p)
}

// The names by which this package's tests call what producttest has.
func (f *fixture) must(err error)                             { f.Helper(); f.Must(err) }
func (f *fixture) create(object client.Object)                { f.Helper(); f.Create(object) }
func (f *fixture) get(object client.Object, name string) bool { f.Helper(); return f.Get(object, name) }
func (f *fixture) eventually(what string, missing func() string) {
	f.Helper()
	f.Eventually(what, missing)
}
func (f *fixture) ready(name string) *v1.MarkdownView {
	f.Helper()
	return f.status(name, metav1.ConditionTrue, v1.HealthyReason)
}
func (f *fixture) mark() cluster.Mark      { f.Helper(); return f.Mark() }
func (f *fixture) settled(names ...string) { f.Helper(); f.Settled(names...) }
func (f *fixture) caughtUp()               { f.Helper(); f.CaughtUp() }

func (f *fixture) status(name string, want metav1.ConditionStatus, reason string, words ...string) *v1.MarkdownView {
	f.Helper()
	return f.Status(name, want, reason, words...)
}

// rolloutFailed waits until the view docs says so, and why. At first, on a busy machine, it can't
// tell more than that too much time has passed.
func (f *fixture) rolloutFailed(words ...string) {
	f.Helper()
	f.status("docs", metav1.ConditionFalse, v1.RolloutFailedReason, words...)
}

func update[T client.Object](f *fixture, object T, name string, change func(T)) {
	f.Helper()
	producttest.Update(f.Fixture, object, name, change)
}

func (f *fixture) kubectl(input string, args ...string) (string, error) {
	f.Helper()
	clustertest.Need(f, f.Cluster, cluster.Faults) // or there is no kubectl of that version
	return f.Kubectl(input, args...)
}

func (f *fixture) mustKubectl(input string, args ...string) string {
	f.Helper()
	out, err := f.kubectl(input, args...)
	f.must(err)
	return out
}

func differs(got, want string) string     { return producttest.Differs(got, want) }
func lines(list []cluster.Request) string { return producttest.Lines(list) }

// controller runs a controller in the test's cluster.
func (f *fixture) controller(name string, args ...string) *cluster.Component {
	f.Helper()
	component, err := f.RunController(f.Context(), name, args...)
	f.must(err)
	return component
}

func (f *fixture) component(name string) *cluster.Component {
	f.Helper()
	component, err := f.Cluster.Component(name)
	f.must(err)
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

// largeView returns a view with two pages that need two ConfigMaps.
func (f *fixture) largeView(name string) *v1.MarkdownView {
	view := f.view(name)
	view.Spec.Markdowns["next.md"] = strings.Repeat("# Next\n", 90_000)
	view.Spec.Markdowns["start.md"] = strings.Repeat("# Start\n", 90_000)
	return view
}

// requests returns the controller's requests in the test's namespace, events
// aside.
func (f *fixture) requests(since cluster.Mark) []cluster.Request {
	f.Helper()
	return f.Requests(since, cluster.By(controllerUser), cluster.Not(cluster.Events))
}

// requestReconciliation has a view looked at, as flux reconcile does, and waits until it was.
func (f *fixture) requestReconciliation(name, at string) {
	f.Helper()
	update(f, &v1.MarkdownView{}, name, func(v *v1.MarkdownView) {
		v.Annotations = map[string]string{meta.ReconcileRequestAnnotation: at}
	})
	f.eventually("the request to be handled", func() string {
		view := &v1.MarkdownView{}
		f.get(view, name)
		return differs(view.Status.LastHandledReconcileAt, at)
	})
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
	return producttest.Live[appsv1.Deployment](f.Fixture, "viewer-docs")
}

// configMap is the first of the view docs.
func (f *fixture) configMap() *corev1.ConfigMap {
	f.Helper()
	return producttest.Live[corev1.ConfigMap](f.Fixture, "markdowns-docs")
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

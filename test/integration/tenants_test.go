package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/runtime/conditions"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// TestSourcesHarmNoOtherTenant has two tenants, of which one is hostile. Each test has
// two namespaces and a controller of its own for them.
func TestSourcesHarmNoOtherTenant(t *testing.T) {
	f, served := newSourcesCluster(t)
	for name, test := range map[string]func(f, other *fixture, served *sources){
		"hanging servers delay nobody else":                hangingServersDelayNobodyElse,
		"what sources hold isn't published by others":      nothingIsPublishedByOthers,
		"addresses of artifacts are no scanner of ports":   addressesAreNoPortScanner,
		"a first fetch is progress, and fails by one word": aFirstFetchIsProgress,
		"a receiver of events that hangs delays nothing":   eventsDelayNothing,
		"a kind that can't be listed delays nobody else":   unlistedKindsDelayNobodyElse,
	} {
		t.Run(name, func(t *testing.T) {
			served.setUp()
			test(fixtureIn(t, f.Product), fixtureIn(t, f.Product), served)
		})
	}
}

// tenantsController runs a controller of two namespaces, until the test ends.
func (f *fixture) tenantsController(name string, other *fixture) *cluster.Component {
	f.Helper()
	controller := f.controller(name, "--namespaces="+f.namespace+","+other.namespace)
	f.killLater(controller)
	return controller
}

// hangingServersDelayNobodyElse has one tenant name a hundred sources whose artifacts never
// arrive. The other one's commits and repairs take as long as ever.
func hangingServersDelayNobodyElse(f, hostile *fixture, served *sources) {
	const views, rounds = 100, 5
	f.tenantsController("hanging", hostile)

	f.measuredSources(served)
	served.offer(hostile, "served", "# First\n")
	hostile.create(sourceView(hostile.namespace, "served"))
	hostile.ready("served")

	served.hang(hostile.namespace)
	for i := range views {
		name := fmt.Sprintf("hanging-%d", i)
		served.offer(hostile, name, fmt.Sprintf("# Page %d\n", i))
		hostile.create(sourceView(hostile.namespace, name))
	}
	newer := served.offer(hostile, "served", "# Second\n")
	hostile.fetches("served", newer)

	f.within(time.Second, func(view string) [][]time.Duration {
		var commits, repairs []time.Duration
		for round := range rounds {
			commits = append(commits, f.commit(served, view, round))
			if round >= 3 {
				continue // a fight, from then on
			}
			f.must(f.Client.Delete(f.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "viewer-" + view}}))
			repairs = append(repairs, f.seconds("the repair", func() bool { return f.get(&corev1.Service{}, "viewer-"+view) }))
		}
		f.ready(view)
		return [][]time.Duration{commits, repairs}
	})
}

// measuredSources makes the views that within measures, of sources.
func (f *fixture) measuredSources(served *sources) {
	f.Helper()
	for round := range measures {
		view := measured(round)
		served.offer(f, view, "# First\n")
		f.create(sourceView(f.namespace, view))
		f.ready(view)
	}
}

// commit has a view's source offer another page, and returns how long it takes until that is
// applied.
func (f *fixture) commit(served *sources, view string, round int) time.Duration {
	f.Helper()
	page := fmt.Sprintf("# Commit %d of %s\n", round, view)
	served.offer(f, view, page)
	return f.seconds("the commit to be applied", func() bool {
		configMap := &corev1.ConfigMap{}
		return f.get(configMap, "markdowns-"+view) && configMap.Data["start.md"] == page
	})
}

// fetches waits until a view says that a revision is being fetched: it isn't Ready then,
// and has not failed.
func (f *fixture) fetches(name, revision string) {
	f.Helper()
	f.eventually(name+" to say that it fetches "+revision, func() string {
		view := &v1.MarkdownView{}
		f.get(view, name)
		if view.Status.LastAttemptedRevision != revision || conditions.IsReady(view) || !conditions.IsReconciling(view) ||
			!strings.Contains(readyMessage(view), "fetching the artifact "+revision) {
			return fmt.Sprintf("it attempts %s: %v", view.Status.LastAttemptedRevision, view.Status.Conditions)
		}
		return ""
	})
}

// seconds is how long it takes until a condition holds.
func (f *fixture) seconds(what string, done func() bool) time.Duration {
	f.Helper()
	start := time.Now()
	clustertest.Eventually(f, patience, 10*time.Millisecond, what, func() string {
		if !done() {
			return "not yet"
		}
		return ""
	})
	return time.Since(start).Round(time.Millisecond)
}

// nothingIsPublishedByOthers: a view in another namespace names the source, and sources
// there say that they have the same artifact.
func nothingIsPublishedByOthers(f, other *fixture, served *sources) {
	f.tenantsController("published", other)
	served.offer(f, "docs", "# Secret\n")
	f.create(sourceView(f.namespace, "docs"))
	f.ready("docs")
	known := served.artifact(f, "docs")

	reader := sourceView(other.namespace, "reader")
	reader.Spec.ContentFrom[0].SourceRef.Namespace = f.namespace
	reader.Spec.ContentFrom[0].SourceRef.Name = "docs"
	other.create(reader)
	other.status("reader", metav1.ConditionFalse, v1.AccessDeniedReason)

	dead := known
	dead.URL = strings.ReplaceAll(served.url(other, "dead", "gone"), "gone", strings.TrimPrefix(known.Digest, "sha256:"))
	served.set(other, "dead", &dead)
	other.create(sourceView(other.namespace, "dead"))
	other.status("dead", metav1.ConditionFalse, v1.ArtifactFailedReason)

	served.set(other, "copied", &known)
	other.create(sourceView(other.namespace, "copied"))
	copied := other.status("copied", metav1.ConditionFalse, v1.AccessDeniedReason)
	if !strings.Contains(readyMessage(copied), "another namespace") {
		f.Errorf("the view says: %s", readyMessage(copied))
	}
	var configMaps corev1.ConfigMapList
	f.must(f.Client.List(f.Context(), &configMaps))
	for _, configMap := range configMaps.Items {
		if configMap.Namespace == other.namespace && strings.Contains(configMap.Data["start.md"], "Secret") {
			f.Errorf("%s is published in another namespace", configMap.Name)
		}
	}
}

// addressesAreNoPortScanner has a tenant write addresses of the cluster's own into a source:
// whatever is there, the view says the same and nothing is asked.
func addressesAreNoPortScanner(f, other *fixture, served *sources) {
	product := *f.Product
	product.Env = nil // only the hosts of Flux's own controllers
	f.Product = &product
	f.tenantsController("addresses", other)
	served.offer(f, "docs", "# Start\n")
	artifact := served.artifact(f, "docs")
	messages := map[string]string{}
	for name, address := range map[string]string{
		"open":   served.server.Listener.Addr().String(),
		"closed": freeAddress(f.T),
	} {
		artifact.URL = "http://" + address + "/externalartifact/" + f.namespace + "/docs/x.tar.gz"
		served.set(f, name, &artifact)
		f.create(sourceView(f.namespace, name))
		view := f.status(name, metav1.ConditionFalse, v1.AccessDeniedReason)
		messages[name] = strings.NewReplacer(name, "NAME", address, "ADDRESS").Replace(readyMessage(view))
	}
	if messages["open"] != messages["closed"] {
		f.Errorf("a port that is open and one that isn't are told apart:\n%s\n%s", messages["open"], messages["closed"])
	}
	if asked := served.asked.Load(); asked != 0 {
		f.Errorf("the address was asked %d times", asked)
	}
}

// aFirstFetchIsProgress: nobody is warned of what only takes its time, and how it fails is
// for the log.
func aFirstFetchIsProgress(f, other *fixture, served *sources) {
	controller := f.tenantsController("first", other)
	goOn := served.hang(f.namespace)
	first := served.offer(f, "docs", "# Start\n")
	f.create(sourceView(f.namespace, "docs"))
	f.fetches("docs", first)
	goOn()
	f.ready("docs")
	for _, event := range f.events("docs") {
		if strings.HasPrefix(event, v1.ArtifactFailedReason) {
			f.Errorf("an event says: %s", event)
		}
	}

	served.answer(f.namespace, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "I'm a teapot", http.StatusTeapot) })
	served.offer(f, "docs", "# Next\n")
	view := f.status("docs", metav1.ConditionFalse, v1.ArtifactFailedReason)
	if strings.Contains(readyMessage(view), "418") || strings.Contains(readyMessage(view), "teapot") {
		f.Errorf("the view tells what the server answers: %s", readyMessage(view))
	}
	f.eventually("the log to tell it", func() string { return f.logHas(controller, 1, "418") })
}

// unlistedKindsDelayNobodyElse takes the right to list sources: a worker that waits for
// their cache would wait long.
func unlistedKindsDelayNobodyElse(f, hostile *fixture, _ *sources) {
	const views, limit = 30, 5 * time.Second
	role := &rbacv1.ClusterRole{}
	f.must(f.Client.Get(f.Context(), client.ObjectKey{Name: "markdown-view-controller"}, role))
	role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.APIGroups, sourcev1.GroupVersion.Group)
	})
	f.must(f.Client.Update(f.Context(), role))
	defer func() { f.must(f.ApplyRoles(f.Context())) }()
	for i := range views {
		hostile.create(sourceView(hostile.namespace, fmt.Sprint("unlisted-", i)))
	}
	f.tenantsController("unlisted", hostile)
	hostile.eventually("the controller to be at work", func() string {
		if err := hostile.logHas(f.component("unlisted"), 1, "forbidden"); err != "" {
			return err
		}
		return ""
	})
	f.create(f.view("docs"))
	// Not until it is Ready: what a busy machine takes to start pods isn't the controller's.
	took := f.seconds("a view of its own pages to be applied", func() bool { return f.get(&corev1.Service{}, "viewer-docs") })
	f.Logf("a view was applied in %s", took)
	if took > limit {
		f.Errorf("that is more than %s", limit)
	}
	f.ready("docs")
	hostile.status("unlisted-0", metav1.ConditionFalse, v1.ArtifactFailedReason)
}

// eventsDelayNothing has the receiver of events take them and never answer.
func eventsDelayNothing(f, other *fixture, served *sources) {
	const views, limit = 10, 30 * time.Second
	served.hang("")
	metrics := freeAddress(f.T)
	f.killLater(f.controller("events", "--namespaces="+f.namespace+","+other.namespace,
		"--metrics-addr="+metrics, "--events-addr="+served.server.URL))
	for i := range views {
		f.create(f.view(fmt.Sprint("docs-", i)))
	}
	took := f.seconds("all views to be applied", func() bool {
		applied := true
		for i := range views {
			applied = applied && f.get(&corev1.Service{}, fmt.Sprint("viewer-docs-", i))
		}
		return applied
	})
	f.Logf("%d views were applied in %s", views, took)
	if took > limit {
		f.Errorf("that is more than %s", limit)
	}
	for i := range views {
		f.ready(fmt.Sprint("docs-", i))
	}
	f.eventually("the receiver to be asked", func() string {
		if served.asked.Load() == 0 {
			return "it wasn't"
		}
		return ""
	})
	text, err := scrape(metrics)
	f.must(err)
	if !strings.Contains(text, "\nmarkdownview_events_dropped_total ") {
		f.Errorf("what is dropped isn't served as a metric")
	}
}

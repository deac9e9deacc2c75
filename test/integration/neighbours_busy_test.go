package integration

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// TestABusyNeighbourDelaysNobody has two tenants, of whom one does things again and again
// while the other's edits and repairs are measured. Events have a receiver that never
// answers.
func TestABusyNeighbourDelaysNobody(t *testing.T) {
	c, served := newSourcesCluster(t)
	served.setUp()
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server doesn't notice that the client has left
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		receiver.CloseClientConnections()
		receiver.Close()
	})
	c.controller("controller", "--events-addr="+receiver.URL, "--watch-label-selector=shard notin (away)")
	for name, neighbour := range map[string]func(f *fixture, served *sources){
		"that fights over an object":                             fightsOn,
		"that adds a key and takes the label off a moment later": takesLabelsOff,
		"whose views leave the shard and come back":              leavesTheShard,
		"whose views are looked at each second":                  looksEachSecond,
		"with hanging servers in many namespaces":                hangsInManyNamespaces,
	} {
		t.Run(name, func(t *testing.T) {
			hostile, other := fixtureIn(t, c.Product), fixtureIn(t, c.Product)
			_, before := other.latencies("before")
			neighbour(hostile, served)
			t.Logf("without a neighbour repairs take %v", before)
			other.undelayed()
		})
	}
}

// goesOn does something again and again until the test ends.
func (f *fixture) goesOn(do func(round int)) {
	f.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for round := 0; f.Context().Err() == nil; round++ {
			do(round)
		}
	}()
	f.Cleanup(func() { <-ended })
}

// tryPatch changes an object as kubectl patch does, whatever comes of it.
func (f *fixture) tryPatch(object client.Object, patch string) {
	_ = f.Client.Patch(f.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("kubectl-patch"))
}

func fightsOn(f *fixture, _ *sources) {
	f.create(f.view("docs"))
	f.ready("docs")
	f.goesOn(func(round int) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "viewer-docs"}}
		f.tryPatch(service, fmt.Sprintf(`{"spec": {"ports": [{"name": "http", "port": %d, "protocol": "TCP", "targetPort": 99}]}}`, 81+round%2))
	})
}

func takesLabelsOff(f *fixture, _ *sources) {
	f.create(f.view("docs"))
	f.ready("docs")
	f.goesOn(func(round int) {
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "markdowns-docs"}}
		f.tryPatch(configMap, fmt.Sprintf(`{"data": {"foreign-%d.md": "# Foreign\n"}}`, round))
		f.tryPatch(configMap, `{"metadata": {"labels": {"app.kubernetes.io/created-by": null}}}`)
	})
}

// leavesTheShard has views go out of what the controller looks after, while it writes their
// status.
func leavesTheShard(f *fixture, _ *sources) {
	const views = 10
	for i := range views {
		f.create(f.view(fmt.Sprint("docs-", i)))
	}
	f.goesOn(func(round int) {
		view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprint("docs-", round%views)}}
		f.tryPatch(view, fmt.Sprintf(`{"metadata": {"labels": {"shard": null}}, "spec": {"markdowns": {"next.md": "# Round %d\n"}}}`, round))
		f.tryPatch(view, `{"metadata": {"labels": {"shard": "away"}}}`)
	})
}

// looksEachSecond has views of as many ConfigMaps as a view may name. Looking at them costs
// no request.
func looksEachSecond(f *fixture, _ *sources) {
	const views, configMaps = 4, 64
	var sources []v1.ContentSource
	for i := range configMaps {
		name := fmt.Sprint("pages-", i)
		f.create(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
			Data:       map[string]string{name + ".md": "# A page\n"},
		})
		sources = append(sources, v1.ContentSource{ConfigMapRef: &v1.ConfigMapSource{Name: name}})
	}
	for i := range views {
		view := f.view(fmt.Sprint("docs-", i))
		view.Spec.ContentFrom, view.Spec.Interval = sources, &metav1.Duration{Duration: time.Second}
		f.create(view)
	}
	for i := range views {
		f.ready(fmt.Sprint("docs-", i))
	}
	f.caughtUp()
	since := f.mark()
	select {
	case <-time.After(5 * time.Second): // each is looked at five times
	case <-f.Context().Done():
	}
	f.atMost(0, since)
}

// hangsInManyNamespaces has more namespaces name artifacts that never arrive than are fetched
// at once, and measures how long a good one takes.
func hangsInManyNamespaces(f *fixture, served *sources) {
	const namespaces, sourcesOfEach, rounds = 16, 5, 5
	good := fixtureIn(f.T, f.Product)
	good.measuredSources(served)
	for range namespaces {
		hostile := fixtureIn(f.T, f.Product)
		f.Cleanup(served.hang(hostile.namespace))
		for i := range sourcesOfEach {
			name := fmt.Sprint("hanging-", i)
			served.offer(hostile, name, fmt.Sprintf("# Page %d\n", i))
			hostile.create(sourceView(hostile.namespace, name))
		}
	}
	good.within(time.Second, func(view string) [][]time.Duration {
		var commits []time.Duration
		for round := range rounds {
			commits = append(commits, good.commit(served, view, round))
		}
		return [][]time.Duration{commits}
	})
	// Servers have ten seconds, and there are more of them than turns.
	good.within(8*time.Second, func(view string) [][]time.Duration {
		name := "new-" + view
		served.offer(good, name, "# New\n")
		good.create(sourceView(good.namespace, name))
		return [][]time.Duration{{good.seconds("a new source to be applied", func() bool { return good.get(&corev1.ConfigMap{}, "markdowns-"+name) })}}
	})
}

// accountsThatHangDelayNobodyElse has thirty views, each of an account of its own, whose
// writes hang in a webhook.
func accountsThatHangDelayNobodyElse(hostile, other *fixture) {
	const views = 30
	other.account("docs-deployer")
	other.deployer()
	var asked atomic.Int32
	hostile.Cleanup(hostile.webhookOn("configmaps", 10, func(r *http.Request, _ *admissionv1.AdmissionResponse) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	hostile.probe()
	probes := asked.Load()
	for i := range views {
		name := fmt.Sprint("docs-", i)
		hostile.account(name, rbacv1.PolicyRule{APIGroups: []string{"", "apps"}, Resources: []string{"configmaps", "deployments", "services"}, Verbs: []string{"create", "patch", "delete"}})
		view := hostile.view(name)
		view.Spec.ServiceAccountName = name
		hostile.create(view)
	}
	hostile.eventually("its views to keep the controller busy", func() string {
		if writes := asked.Load() - probes; writes < workersOfANamespace {
			return fmt.Sprintf("%d writes were tried", writes)
		}
		return ""
	})
	other.undelayed()
}

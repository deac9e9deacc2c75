package integration

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
	"github.com/zoetrope/markdown-view/test/product"
)

// TestTheControllerIsKilledAtEveryStep kills the controller at each of its writes,
// just before the API server gets it and just after it has done it, while a view is
// created and while a page is changed. The next one then finishes what was begun.
func TestTheControllerIsKilledAtEveryStep(t *testing.T) {
	f := newCluster(t)
	proxy := f.deadlyProxy()
	controller := f.controllerThrough(proxy)
	for _, after := range []bool{false, true} {
		// Creating writes three objects and the status, changing a page two, a copy of
		// one and the status, before anything else can happen.
		for step := 1; step <= 4; step++ {
			name := fmt.Sprintf("created-%d-%t", step, after)
			proxy.arm(controller, step, after)
			f.create(f.view(name))
			f.revive(controller)
			f.ready(name)
			f.consistent(name)
		}
		for step := 1; step <= 4; step++ {
			name := fmt.Sprintf("changed-%d-%t", step, after)
			f.create(f.view(name))
			f.ready(name)
			proxy.arm(controller, step, after)
			update(f, &v1.MarkdownView{}, name, func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Changed\n" })
			f.revive(controller)
			f.ready(name)
			f.consistent(name)
		}
	}
	f.abandoned(proxy, controller)
}

// abandoned kills the controller when it has written the second of two ConfigMaps of a view,
// and no status says so. Nobody wants that ConfigMap any more when the next one comes.
func (f *fixture) abandoned(proxy *deadlyProxy, controller *cluster.Component) {
	f.Helper()
	for name, change := range map[string]func(){
		"smaller": func() {
			update(f, &v1.MarkdownView{}, "smaller", func(v *v1.MarkdownView) { v.Spec.Markdowns = f.view("smaller").Spec.Markdowns })
		},
		"deleted": func() { f.must(f.Client.Delete(f.Context(), f.view("deleted"))) },
	} {
		f.caughtUp() // a status may be written still: it would count
		proxy.arm(controller, 2, true)
		f.create(f.largeView(name))
		f.dead(controller)
		if !f.get(&corev1.ConfigMap{}, "markdowns-"+name+".1") || f.get(&appsv1.Deployment{}, "viewer-"+name) {
			f.Errorf("%s: it wasn't killed between ConfigMaps and Deployment", name)
		}
		change()
		f.must(controller.Start(f.Context()))
		f.eventually("what nobody wants to go", func() string {
			if f.get(&corev1.ConfigMap{}, "markdowns-"+name+".1") {
				return "it is there"
			}
			return ""
		})
	}
	f.ready("smaller")
	f.consistent("smaller")
}

// revive waits until the controller is dead, and starts it again.
func (f *fixture) revive(controller *cluster.Component) {
	f.Helper()
	f.dead(controller)
	f.must(controller.Start(f.Context()))
}

func (f *fixture) dead(controller *cluster.Component) {
	f.Helper()
	f.eventually("the controller's death", func() string {
		if state, err := controller.State(f.Context()); err != nil || state.Running {
			return fmt.Sprintf("it runs: %v", err)
		}
		return ""
	})
}

// consistent checks that a view's objects are there once, belong to it, and are
// those of its last revision.
func (f *fixture) consistent(name string) {
	f.Helper()
	view := &v1.MarkdownView{}
	f.get(view, name)
	var configMaps corev1.ConfigMapList
	f.must(f.Client.List(f.Context(), &configMaps, client.InNamespace(f.namespace), client.MatchingLabels{"app.kubernetes.io/instance": name}))
	pages := slices.DeleteFunc(configMaps.Items, func(c corev1.ConfigMap) bool { return c.Annotations[v1.LastServedAnnotation] != "" })
	if len(pages) != 1 || len(configMaps.Items) > 2 {
		f.Errorf("there are %d ConfigMaps of %s, and %d copies", len(pages), name, len(configMaps.Items)-len(pages))
	}
	deployment := &appsv1.Deployment{}
	if !f.get(deployment, "viewer-"+name) {
		f.Fatalf("the Deployment of %s isn't there", name)
	}
	if got := deployment.Spec.Template.Annotations[v1.RevisionAnnotation]; got != view.Status.LastAppliedRevision {
		f.Errorf("the Deployment is of revision %s, the view of %s", got, view.Status.LastAppliedRevision)
	}
}

// deadlyProxy passes requests on to the API server, and kills the controller at one
// of its writes.
type deadlyProxy struct {
	url    string
	server *httptest.Server
	// isCut means that nothing is passed on.
	isCut atomic.Bool

	mu     sync.Mutex
	victim *cluster.Component
	writes int // left until the deadly one; 0: none is
	after  bool
}

func (f *fixture) deadlyProxy() *deadlyProxy {
	f.Helper()
	user, err := f.Cluster.User(product.User, "system:serviceaccounts", "system:authenticated")
	f.must(err)
	transport, err := rest.TransportFor(user)
	f.must(err)
	target, err := url.Parse(user.Host)
	f.must(err)
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
	}
	p := &deadlyProxy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		victim, after := p.count(r)
		switch {
		case p.isCut.Load():
			panic(http.ErrAbortHandler)
		case victim == nil:
			forward.ServeHTTP(w, r)
			return
		case after:
			forward.ServeHTTP(httptest.NewRecorder(), r) // the answer gets lost
		}
		if err := victim.Kill(context.WithoutCancel(r.Context())); err != nil {
			f.Error(err)
		}
	}))
	f.Cleanup(server.Close)
	p.url, p.server = server.URL, server
	return p
}

// cut ends all connections, and lets nothing through until mend.
func (p *deadlyProxy) cut() {
	p.isCut.Store(true)
	p.server.CloseClientConnections()
}

func (p *deadlyProxy) mend() { p.isCut.Store(false) }

// arm has the proxy kill the victim at its n-th write from now.
func (p *deadlyProxy) arm(victim *cluster.Component, n int, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.victim, p.writes, p.after = victim, n, after
}

// count returns whom to kill at a request, and whether after it.
func (p *deadlyProxy) count(r *http.Request) (*cluster.Component, bool) {
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writes == 0 {
		return nil, false
	}
	if p.writes--; p.writes > 0 {
		return nil, false
	}
	return p.victim, p.after
}

// controllerThrough runs a controller that knows the API server by the proxy only.
func (f *fixture) controllerThrough(proxy *deadlyProxy) *cluster.Component {
	f.Helper()
	kubeconfig := filepath.Join(f.TempDir(), "kubeconfig")
	f.must(cluster.WriteKubeconfig(kubeconfig, &rest.Config{Host: proxy.url}))
	controller, err := f.Cluster.Run(f.Context(), supervise.Process{
		Name: "controller", Path: f.Program("controller"),
		Args: []string{"--metrics-addr=0", "--health-addr=127.0.0.1:0"},
		Env:  []string{"KUBECONFIG=" + kubeconfig, "TMPDIR=" + f.Cluster.Folder()},
	})
	f.must(err)
	f.Cleanup(func() { // or the proxy would wait for its watches to end
		if err := controller.Kill(context.WithoutCancel(f.Context())); err != nil {
			f.Error(err)
		}
	})
	return controller
}

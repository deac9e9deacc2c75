package flux

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/zoetrope/markdown-view/test/cluster"
)

// Artifacts is where the product fetches source-controller's artifacts: a proxy that
// counts, and that can be told to give wrong answers.
type Artifacts struct {
	server *httptest.Server

	mu     sync.Mutex
	asked  []string
	faults map[string]http.HandlerFunc
}

func newArtifacts(_ context.Context, c *cluster.Cluster, storage string) (*Artifacts, error) {
	dial := (&net.Dialer{}).DialContext
	if c.Supports(cluster.Node) == nil {
		dial = c.DialNode
	}
	a := &Artifacts{faults: map[string]http.HandlerFunc{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: storage}) },
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	}
	var err error
	a.server, err = serve(c.MachineAddress(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := a.note(r.URL.Path); fault != nil {
			fault(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	return a, err
}

func (a *Artifacts) note(path string) http.HandlerFunc {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, path)
	for part, fault := range a.faults {
		if strings.Contains(path, part) {
			return fault
		}
	}
	return nil
}

// Host is the proxy's, for SOURCE_CONTROLLER_LOCALHOST.
func (a *Artifacts) Host() string { return a.server.Listener.Addr().String() }

// URL is the proxy's address.
func (a *Artifacts) URL() string { return a.server.URL }

// Asked is how often artifacts were asked for whose path holds part, a namespace
// say.
func (a *Artifacts) Asked(part string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	count := 0
	for _, path := range a.asked {
		if strings.Contains(path, part) {
			count++
		}
	}
	return count
}

// Answer has requests for artifacts whose path holds part answered so; nil: by
// source-controller again.
func (a *Artifacts) Answer(part string, answer http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if answer == nil {
		delete(a.faults, part)
		return
	}
	a.faults[part] = answer
}

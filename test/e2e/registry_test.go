package e2e

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const registryUser, registryPassword = "reader", "let-me-in"

// privateRegistry has the images of the node's registry, for whoever logs in.
type privateRegistry struct {
	name  string
	files atomic.Int64 // those of images that were asked for with a login
	proxy http.Handler
}

// servePrivately has the node pull the images of a registry with this name from one that
// demands a login.
func (f *fixture) servePrivately(name string) *privateRegistry {
	f.Helper()
	registry := &privateRegistry{name: name, proxy: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: shared.Registry()})}
	listener, err := net.Listen("tcp", net.JoinHostPort(shared.MachineAddress(), "0"))
	f.Must(err)
	server := &http.Server{Handler: registry, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	f.Cleanup(func() { _ = server.Close() })
	f.Must(shared.Redirect(name, listener.Addr().String()))
	return registry
}

func (r *privateRegistry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if user, password, _ := request.BasicAuth(); user != registryUser || password != registryPassword {
		w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if strings.Contains(request.URL.Path, "/blobs/") {
		r.files.Add(1)
	}
	r.proxy.ServeHTTP(w, request)
}

package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestClientsOfAccountsShareTheirConnections writes as many accounts: each is named to the
// API server, nothing else is asked of it, and there is no connection for each.
func TestClientsOfAccountsShareTheirConnections(t *testing.T) {
	const accounts = 50
	var mu sync.Mutex
	connections, users := map[net.Conn]bool{}, map[string]int{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		users[r.Method+" "+r.URL.Path+" as "+r.Header.Get("Impersonate-User")]++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Success"}`)
	}))
	server.EnableHTTP2 = true
	server.Config.ConnState = func(connection net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		connections[connection] = connections[connection] || state == http.StateNew
	}
	server.StartTLS()
	t.Cleanup(server.Close)

	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), apimeta.RESTScopeNamespace)
	own := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, BearerToken: "own"}
	newClient := impersonating(own, client.Options{Scheme: clientgoscheme.Scheme, Mapper: mapper})
	for i := range accounts {
		c, err := newClient(fmt.Sprint("account-", i))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "pages"}}); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(connections) > 2 {
		t.Errorf("there are %d connections", len(connections))
	}
	if len(users) != accounts {
		t.Errorf("other requests than one for each account: %v", users)
	}
	for i := range accounts {
		if request := fmt.Sprint("DELETE /api/v1/namespaces/docs/configmaps/pages as account-", i); users[request] != 1 {
			t.Errorf("%s: %d", request, users[request])
		}
	}
	if own.Impersonate.UserName != "" {
		t.Errorf("the controller itself acts as %s", own.Impersonate.UserName)
	}
}

func BenchmarkClientOfAnAccount(b *testing.B) {
	newClient := impersonating(&rest.Config{Host: "https://localhost", TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
		client.Options{Scheme: clientgoscheme.Scheme, Mapper: apimeta.NewDefaultRESTMapper(nil)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newClient("account"); err != nil {
			b.Fatal(err)
		}
	}
}

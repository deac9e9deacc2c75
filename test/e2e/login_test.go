package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"github.com/oauth2-proxy/mockoidc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/product/producttest"
)

// TestABookIsReadBehindALogin has the oauth2-proxy of docs/exposing.md before a book, with an
// identity provider that knows one user.
func TestABookIsReadBehindALogin(t *testing.T) {
	f := newFixture(t)
	f.needsGateway()
	f.installGatewayAPI()
	f.applyGateway()
	view := f.view("handbook", map[string]string{"start.md": "# For us only\n"})
	view.Spec.StaticServer = &v1.StaticServer{}
	view.Spec.BookToml = "[output.html]\nsite-url = \"/handbook/\"\n"
	f.create(view)
	f.applyLogin(f.identityProvider())
	f.Ready("handbook")
	g := f.newGateway()
	const page = "https://docs.example.test/handbook/start.html"

	stranger := g.client()
	stranger.Jar = nil
	f.wantsLogin(stranger, page)
	f.wantsLogin(stranger, "https://docs.example.test/handbook/searchindex.js")
	if status, body := f.fetch(stranger, "https://docs.example.test/handbook"+generator.RevisionPath); status != http.StatusOK || !strings.HasPrefix(body, "sha256:") {
		t.Errorf("the revision is answered with %d: %s", status, body)
	}
	reader := f.login(g, page)
	if status, body := f.fetch(reader, page); status != http.StatusOK || !strings.Contains(body, "For us only") {
		t.Errorf("with a session the page is answered with %d: %.300s", status, body)
	}

	// Around the gateway, which tidies paths up.
	proxy := net.JoinHostPort(f.clusterIP(f.namespace, "login"), "80")
	for _, path := range []string{"/handbook/.markdown-view/../start.html", "/handbook/.markdown-view/%2e%2e/start.html", "/handbook/.markdown-view/revision/../../start.html", "//handbook/start.html"} {
		if answer := f.raw(proxy, "GET "+path+" HTTP/1.1\r\nHost: docs.example.test\r\n"); answer == http.StatusOK {
			t.Errorf("%s is answered without a login", path)
		}
	}

	producttest.Update(f.Fixture, &v1.MarkdownView{}, "handbook", func(view *v1.MarkdownView) {
		view.Spec.StaticServer, view.Spec.BookToml = nil, ""
	})
	f.Ready("handbook")
	const socket = "GET /__livereload HTTP/1.1\r\nHost: docs.example.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
	if answer := f.raw(proxy, socket); answer == http.StatusSwitchingProtocols {
		t.Error("mdBook's socket is opened without a login")
	}
	request, err := http.NewRequestWithContext(f.Context(), http.MethodGet, page, nil)
	f.Must(err)
	cookies := ""
	for _, cookie := range reader.Jar.Cookies(request.URL) {
		cookies += fmt.Sprintf("Cookie: %s=%s\r\n", cookie.Name, cookie.Value)
	}
	if answer := f.raw(proxy, socket+cookies); answer != http.StatusSwitchingProtocols {
		t.Errorf("with a session mdBook's socket is answered with %d", answer)
	}
}

// identityProvider starts one on this machine.
func (f *fixture) identityProvider() *mockoidc.MockOIDC {
	f.Helper()
	provider, err := mockoidc.NewServer(nil)
	f.Must(err)
	var config net.ListenConfig
	listener, err := config.Listen(f.Context(), "tcp", net.JoinHostPort(shared.MachineAddress(), "0"))
	f.Must(err)
	f.Must(provider.Start(listener, nil))
	f.Cleanup(func() { f.Must(provider.Shutdown()) })
	provider.QueueUser(&mockoidc.MockUser{Subject: "1", Email: "jane@example.test", EmailVerified: true})
	return provider
}

// applyLogin applies the proxy, which here finds the book without DNS.
func (f *fixture) applyLogin(provider *mockoidc.MockOIDC) {
	f.Helper()
	program, image, err := build.OAuth2Proxy(f.Context(), build.Stderr())
	f.Must(err)
	recipe := f.exposing("A login in front")
	if !strings.Contains(recipe, "image: quay.io/"+image+"\n") {
		f.Fatalf("docs/exposing.md has another image than %s, which is tested", image)
	}
	f.Must(shared.PushFiles(f.Context(), image, map[string]string{"bin/oauth2-proxy": program}, "--entrypoint=/bin/oauth2-proxy"))
	f.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login", Namespace: f.namespace}, StringData: map[string]string{
		"client-id": provider.ClientID, "client-secret": provider.ClientSecret, "cookie-secret": strings.Repeat("c", 32),
	}})
	f.eventually("the book's Service", func() string {
		if !f.get(&corev1.Service{}, "viewer-handbook") {
			return "it isn't there"
		}
		return ""
	})
	recipe = strings.NewReplacer(
		"http://viewer-handbook/", "http://"+f.clusterIP(f.namespace, "viewer-handbook")+"/",
		"https://id.example.test", provider.Issuer(),
	).Replace(recipe)
	f.kubectlWith(recipe, "apply", "--server-side", "-f", "-")
	f.kubectl("rollout", "status", "deployment/login", "--timeout=3m")
}

// wantsLogin asks without a session, and wants to be sent to the identity provider.
func (f *fixture) wantsLogin(client *http.Client, address string) {
	f.Helper()
	request, err := http.NewRequestWithContext(f.Context(), http.MethodGet, address, nil)
	f.Must(err)
	response, err := client.Do(request)
	f.Must(err)
	_ = response.Body.Close()
	if location := response.Header.Get("Location"); response.StatusCode != http.StatusFound || !strings.Contains(location, "/oidc/authorize?") {
		f.Errorf("without a session %s is answered with %s, to %q", address, response.Status, location)
	}
}

// login returns a client that has asked for a page, was sent to the identity provider, and
// came back with a session.
func (f *fixture) login(g *gateway, address string) *http.Client {
	f.Helper()
	client := g.client()
	transport := client.Transport.(*http.Transport)
	toGateway := transport.DialContext
	transport.DialContext = nil
	direct := transport.Clone()
	transport.DialContext = toGateway
	client.Transport = byHost{"docs.example.test": transport, "": direct}
	client.CheckRedirect = nil
	jar, err := cookiejar.New(nil)
	f.Must(err)
	client.Jar = jar
	if status, body := f.fetch(client, address); status != http.StatusOK || !strings.Contains(body, "For us only") {
		f.Fatalf("after the login the page is answered with %d: %.300s", status, body)
	}
	return client
}

// byHost has each host asked through a transport of its own.
type byHost map[string]http.RoundTripper

// RoundTrip asks the request's host.
func (b byHost) RoundTrip(request *http.Request) (*http.Response, error) {
	if transport, ok := b[request.URL.Host]; ok {
		return transport.RoundTrip(request)
	}
	return b[""].RoundTrip(request)
}

func (f *fixture) fetch(client *http.Client, address string) (int, string) {
	f.Helper()
	request, err := http.NewRequestWithContext(f.Context(), http.MethodGet, address, nil)
	f.Must(err)
	response, err := client.Do(request)
	f.Must(err)
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	f.Must(err)
	return response.StatusCode, string(body)
}

// raw sends a request as it stands, and returns the answer's status.
func (f *fixture) raw(address, request string) int {
	f.Helper()
	connection, err := shared.DialNode(f.Context(), "tcp", address)
	f.Must(err)
	defer func() { _ = connection.Close() }()
	_, err = io.WriteString(connection, request+"\r\n")
	f.Must(err)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	f.Must(err)
	_ = response.Body.Close()
	return response.StatusCode
}

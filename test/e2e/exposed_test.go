package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/browser"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/product/producttest"
	"github.com/zoetrope/markdown-view/test/viewer"
)

func unmarshal(text string, into any) error { return json.Unmarshal([]byte(text), into) }

// installGatewayAPI has the API server judge Gateways and HTTPRoutes by Gateway API's own
// definitions.
func (f *fixture) installGatewayAPI() {
	f.Helper()
	folder, err := output(f.Context(), "..", "", "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api")
	f.Must(err)
	for _, kind := range []string{"gateways", "httproutes"} {
		f.kubectl("apply", "--server-side", "-f", filepath.Join(strings.TrimSpace(folder), "config", "crd", "standard", "gateway.networking.k8s.io_"+kind+".yaml"))
		f.kubectl("wait", "crd/"+kind+".gateway.networking.k8s.io", "--for=condition=Established", "--timeout=1m")
	}
}

// exposing returns the manifests below a heading of docs/exposing.md.
func (f *fixture) exposing(heading string) string {
	f.Helper()
	return strings.Join(recipes(f.T, "exposing.md", heading), "\n---\n")
}

// applyGateway applies the one of docs/exposing.md, in a namespace of its own, with a
// certificate.
func (f *fixture) applyGateway() {
	f.Helper()
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.gateways()}})
	f.Cleanup(func() { f.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.gateways()}}) })
	f.makeCertificate(f.gateways())
	f.cluster(strings.ReplaceAll(f.exposing("TLS"), "namespace: gateways", "namespace: "+f.gateways()), "apply", "--server-side", "-f", "-")
}

// applyExample applies an example in the test's namespace.
func (f *fixture) applyExample(name string) {
	f.Helper()
	folder := f.TempDir()
	f.Must(os.CopyFS(filepath.Join(folder, "example"), os.DirFS(filepath.Join("../../examples", filepath.FromSlash(name)))))
	kustomization := "namespace: " + f.namespace + "\nresources: [example]\n"
	f.Must(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(kustomization), 0o600))
	f.kubectlWith(f.kustomize(folder), "apply", "--server-side", "-f", "-")
}

// kustomize builds a kustomization.
func (f *fixture) kustomize(folder string) string {
	f.Helper()
	path := "PATH=" + filepath.Dir(tool("fn")) + string(filepath.ListSeparator) + os.Getenv("PATH")
	manifests, err := output(f.Context(), folder, "", "env", path, tool("kustomize"), "build", "--enable-alpha-plugins", "--enable-exec", ".")
	f.Must(err)
	return manifests
}

// strippedRoute is that of docs/exposing.md for a gateway that takes the path off.
const strippedRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: guide}
spec:
  parentRefs: [{name: public, namespace: gateways}]
  hostnames: [docs.example.test]
  rules:
  - matches: [{path: {type: Exact, value: /guide}}]
    filters:
    - {type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /guide/}}}
  - matches: [{path: {type: PathPrefix, value: /guide}}]
    filters:
    - {type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}
    backendRefs: [{name: viewer-guide, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: docs}
spec:
  parentRefs: [{name: public, namespace: gateways}]
  hostnames: [draft.example.test]
  rules:
  - backendRefs: [{name: viewer-docs, port: 80}]
`

func TestBooksAreReadThroughAGateway(t *testing.T) {
	f := newFixture(t)
	f.needsGateway()
	f.installGatewayAPI()
	f.applyGateway()
	f.applyExample("exposed/controller/gateway")
	guide := f.view("guide", map[string]string{"begin.md": "# Begin\n\n[more](more.md)\n", "more.md": "# More\n"})
	guide.Spec.StaticServer = &v1.StaticServer{}
	guide.Spec.BookToml = "[output.html]\nsite-url = \"/guide/\"\n"
	f.create(guide)
	f.create(f.view("docs", map[string]string{"start.md": "# A draft\n"}))
	f.kubectlWith(strippedRoute, "apply", "--server-side", "-f", "-")
	for _, name := range []string{"acme-handbook", "guide", "docs"} {
		f.Ready(name)
	}
	g := f.newGateway()
	reader := g.browser()

	for name, book := range map[string]struct{ home, first, next string }{
		"below a path": {"https://docs.example.test/handbook/", "start", "on-call"},
		"below a path that the gateway takes off": {"https://docs.example.test/guide/", "begin", "more"},
		"at a host of its own":                    {"https://handbook.example.test/", "start", "on-call"},
	} {
		t.Run(name, func(t *testing.T) {
			reader := reader.In(t)
			browser.Do(reader, "open the book", chromedp.Navigate(book.home))
			browser.Do(reader, "see the first page", chromedp.WaitVisible("h1#"+book.first))
			browser.Do(reader, "turn the page", chromedp.Click(`#mdbook-sidebar a[href$="`+book.next+`.html"]`))
			browser.Do(reader, "see the next page", chromedp.WaitVisible("h1#"+book.next))
			if !strings.HasPrefix(browser.Do(reader, "look at the address", chromedp.Location()), book.home) {
				t.Error("the page turned to is outside of the book")
			}
			browser.Do(reader, "get lost", chromedp.Navigate(book.home+"no/such/page.html"))
			browser.Do(reader, "see so", chromedp.WaitVisible("h1#document-not-found-404"))
			styled := browser.Do(reader, "look at the style", chromedp.Evaluate[bool](`getComputedStyle(document.querySelector("#mdbook-menu-bar")).display === "flex"`))
			if !styled && !strings.Contains(name, "host") {
				t.Error("the page for unknown addresses has no style")
			}
		})
	}
	browser.Do(reader, "go back home", chromedp.Navigate("https://docs.example.test/handbook/no/such/page.html"))
	browser.Do(reader, "click on a chapter", chromedp.Click(`#mdbook-sidebar a[href$="start.html"]`))
	browser.Do(reader, "see it", chromedp.WaitVisible("h1#start"))
	f.openSearch(reader)
	browser.Do(reader, "search", chromedp.SendKeys(`#mdbook-searchbar`, "whoever"))
	browser.Do(reader, "see a result", chromedp.WaitVisible(`#mdbook-searchresults a`))
	reader.Screenshot("below-a-path.png")

	browser.Do(reader, "open what mdBook itself serves", chromedp.Navigate("https://draft.example.test/"))
	socket := browser.Do(reader, "open a socket", chromedp.Evaluate[string](
		`new Promise(end => { const s = new WebSocket("wss://draft.example.test/__livereload"); s.onopen = () => end("open"); s.onerror = () => end("failed"); })`,
		chromedp.EvalAwaitPromise))
	if socket != "open" {
		t.Errorf("the socket by which mdBook's own server has pages reloaded: %s", socket)
	}
	f.checkRedirect(g)
	f.checkHeaders(g)
	f.checkPushes(g)
	f.measureReaders(g)
	if wide := f.kubectl("get", "mdview", "acme-handbook", "-o", "wide"); !strings.Contains(wide, "serves revision "+f.revision()[:len("sha256:")+12]+"\n") {
		t.Errorf("kubectl get -o wide doesn't show the short revision %s:\n%s", f.revision(), wide)
	}
}

// revision is that of the book.
func (f *fixture) revision() string {
	f.Helper()
	view := &v1.MarkdownView{}
	f.get(view, "acme-handbook")
	return view.Status.LastAppliedRevision
}

// checkRedirect asks without TLS.
func (f *fixture) checkRedirect(g *gateway) {
	f.Helper()
	request, err := http.NewRequestWithContext(f.Context(), http.MethodGet, "http://docs.example.test/handbook/start.html", nil)
	f.Must(err)
	response, err := g.client().Do(request)
	f.Must(err)
	_ = response.Body.Close()
	if location := response.Header.Get("Location"); response.StatusCode != http.StatusMovedPermanently || location != "https://docs.example.test/handbook/start.html" {
		f.Errorf("a request without TLS is answered with %s, to %q", response.Status, location)
	}
}

// checkHeaders holds the static server's answers to what docs/exposing.md says of them.
func (f *fixture) checkHeaders(g *gateway) {
	f.Helper()
	for path, want := range map[string]struct {
		status   int
		location string
		cache    string
		body     string
	}{
		"/handbook/start.html":                {status: 200, cache: "no-cache", body: "Whoever is"},
		"/handbook":                           {status: 301, location: "handbook/", cache: "no-cache"},
		"/handbook/team":                      {status: 301, location: "team/", cache: "no-cache"},
		"/handbook/no-such-page":              {status: 404, cache: "no-cache", body: `<base href="/handbook/">`},
		"/handbook/css/general-00000000.css":  {status: 404, cache: "no-cache"},
		"/handbook" + generator.RevisionPath:  {status: 200, cache: "no-cache", body: f.revision()},
		"/handbook" + generator.HealthPath:    {status: 200, cache: "no-cache", body: "ok"},
		"/handbook/%2e%2e/etc/passwd":         {status: 404},
		f.asset(g, "/handbook/", "general"):   {status: 200, cache: "public, max-age=31536000, immutable"},
		f.asset(g, "/handbook/", "clipboard"): {status: 200, cache: "public, max-age=31536000, immutable"},
	} {
		request, err := http.NewRequestWithContext(f.Context(), http.MethodGet, "https://docs.example.test"+path, nil)
		f.Must(err)
		response, err := g.client().Do(request)
		f.Must(err)
		body, err := io.ReadAll(response.Body)
		f.Must(err)
		_ = response.Body.Close()
		if response.StatusCode != want.status || response.Header.Get("Location") != want.location || !strings.Contains(string(body), want.body) {
			f.Errorf("%s is answered with %d, to %q: %.300s", path, response.StatusCode, response.Header.Get("Location"), body)
		}
		if want.cache != "" && response.Header.Get("Cache-Control") != want.cache {
			f.Errorf("%s may be cached: %q", path, response.Header.Get("Cache-Control"))
		}
		if want.cache != "" && (response.Header.Get("X-Content-Type-Options") != "nosniff" || response.Header.Get("Content-Security-Policy") == "") {
			f.Errorf("%s lacks headers: %v", path, response.Header)
		}
	}
}

// asset finds the path of one of mdBook's own files in the first page.
func (f *fixture) asset(g *gateway, base, name string) string {
	f.Helper()
	page := g.site("docs.example.test").Page(base)
	for part := range strings.SplitSeq(page, `"`) {
		if strings.Contains(part, name+"-") && !strings.ContainsAny(part, " \n<") {
			return base + part
		}
	}
	f.Fatalf("the page has no file called %s", name)
	return ""
}

// pushes is how often the book changes while somebody reads.
const pushes = 10

func (f *fixture) checkPushes(g *gateway) {
	f.Helper()
	site := g.site("docs.example.test")
	reader := site.Reader("/handbook/start.html")
	var ready [pushes + 1]time.Time
	edition := func(n int) string { return fmt.Sprintf("Edition %d.", n) }
	for n := 1; n <= pushes; n++ {
		producttest.Update(f.Fixture, &v1.MarkdownView{}, "acme-handbook", func(view *v1.MarkdownView) {
			view.Spec.Markdowns["start.md"] = "# Start\n\n" + edition(n) + "\n"
		})
		f.Ready("acme-handbook")
		ready[n] = time.Now()
	}
	seen := reader.Count()
	f.eventually("another second of reading", func() string { return atLeast(reader, seen+10) })
	answers := reader.End()
	for _, a := range viewer.Failures(answers) {
		f.Errorf("at %s: %s", a.At.Format(time.StampMilli), a.Failed)
	}
	stale := 0
	for _, a := range answers {
		for n := 1; n < pushes; n++ {
			if strings.Contains(a.Body, edition(n)) && a.At.After(ready[n+1]) {
				stale++
			}
		}
	}
	f.Logf("%d answers through the gateway during %d pushes, %d failed, %d stale", len(answers), pushes, len(viewer.Failures(answers)), stale)
	if stale > 0 {
		f.Errorf("%d old pages were served after the view was Ready", stale)
	}
	if last := answers[len(answers)-1]; !strings.Contains(last.Body, edition(pushes)) {
		f.Errorf("the last answer isn't the last edition: %.200s", last.Body)
	}
}

// measureReaders has many readers ask for a page as often as they can, through the gateway
// and past it.
func (f *fixture) measureReaders(g *gateway) {
	f.Helper()
	const readers, each = 32, 100
	through := g.client()
	past := &http.Client{Transport: &http.Transport{DialContext: shared.DialNode}}
	text := ""
	for _, way := range []struct {
		name, address string
		client        *http.Client
	}{
		{"through the gateway, with TLS", "https://docs.example.test/handbook/start.html", through},
		{"past it, at the Service", "http://" + f.clusterIP(f.namespace, "viewer-acme-handbook") + "/handbook/start.html", past},
	} {
		transport := way.client.Transport.(*http.Transport)
		transport.DisableKeepAlives, transport.MaxIdleConnsPerHost = false, readers
		var failed, size atomic.Int64
		began := time.Now()
		var group sync.WaitGroup
		for range readers {
			group.Go(func() {
				for range each {
					got, err := read(f.Context(), way.client, way.address)
					if err != nil {
						failed.Add(1)
						f.Logf("%s: %v", way.name, err)
					}
					size.Store(got)
				}
			})
		}
		group.Wait()
		transport.CloseIdleConnections()
		text += fmt.Sprintf("%s: %.0f pages a second of %d bytes to %d readers, %d of %d failed\n",
			way.name, readers*each/time.Since(began).Seconds(), size.Load(), readers, failed.Load(), readers*each)
		if failed.Load() > 0 {
			f.Errorf("%d requests failed %s", failed.Load(), way.name)
		}
	}
	f.Log(text)
	clustertest.Keep(f.T, "figures-gateway.txt", []byte(text))
}

// read asks for a page, and returns how many bytes were sent for it.
func read(ctx context.Context, client *http.Client, address string) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return size, err
}

func TestABookOfTheFunctionIsReadThroughAnIngress(t *testing.T) {
	f := newFixture(t)
	f.needsGateway()
	f.installGatewayAPI()
	f.makeCertificate(f.namespace)
	f.applyExample("exposed/function/ingress")
	f.kubectl("rollout", "status", "deployment/acme-viewer-handbook", "--timeout=3m")
	g := f.newGateway()
	g.site("docs.example.test").Shows("/handbook/team/on-call.html", "Go back to")
	g.site("handbook.example.test").Shows("/team/on-call.html", "Go back to")
	deployed := f.kubectl("get", "deployment", "acme-viewer-handbook", "-o", `jsonpath={.spec.template.metadata.annotations.view\.zoetrope\.github\.io/revision}`)
	g.site("docs.example.test").Shows("/handbook"+generator.RevisionPath, deployed)
}

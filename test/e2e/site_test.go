package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
)

// site is what the Service of the view docs serves. On the node of its own it is asked at
// its address, as by anyone in the cluster; in an existing cluster through the API
// server.
type site struct {
	f      *fixture
	base   *url.URL
	client *http.Client
}

func (f *fixture) site() *site {
	f.Helper()
	name := generator.ViewerName("docs")
	if shared.Supports(cluster.Node) != nil {
		return f.proxiedSite(name)
	}
	service := &corev1.Service{}
	if !f.get(service, name) {
		f.Fatalf("there is no Service %s", name)
	}
	return &site{
		f:    f,
		base: &url.URL{Scheme: "http", Host: service.Spec.ClusterIP, Path: "/"},
		client: &http.Client{
			Timeout: 5 * time.Second,
			// Each request finds a pod for itself.
			Transport: &http.Transport{DialContext: shared.DialNode, DisableKeepAlives: true},
		},
	}
}

func (f *fixture) proxiedSite(service string) *site {
	f.Helper()
	client, err := rest.HTTPClientFor(shared.Config)
	if err != nil {
		f.Fatal(err)
	}
	base, err := url.Parse(fmt.Sprintf("%s/api/v1/namespaces/%s/services/%s/proxy/", strings.TrimSuffix(shared.Config.Host, "/"), f.namespace, service))
	if err != nil {
		f.Fatal(err)
	}
	return &site{f: f, base: base, client: client}
}

// ask asks once.
func (s *site) ask(ctx context.Context, path string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.JoinPath(path).String(), nil)
	if err != nil {
		return 0, "", err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	content, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	return response.StatusCode, string(content), err
}

// page returns a page. A Service's rules are in force up to a second later than
// its Deployment is available.
func (s *site) page(path string) string {
	s.f.Helper()
	var content string
	s.f.eventually(path+" to be served", func() string {
		status, body, err := s.ask(s.f.Context(), path)
		if err != nil {
			return err.Error()
		}
		content = body
		if status != http.StatusOK {
			return http.StatusText(status)
		}
		return ""
	})
	return content
}

// shows waits until a page holds a text.
func (s *site) shows(path, text string) {
	s.f.Helper()
	s.f.eventually(fmt.Sprintf("%s to show %q", path, text), func() string {
		if got := s.page(path); !strings.Contains(got, text) {
			return "it doesn't"
		}
		return ""
	})
}

// local serves the site on a port of this machine, for a browser.
func (s *site) local() string {
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(s.base); r.Out.Host = r.In.Host },
		Transport: s.client.Transport,
	})
	s.f.Cleanup(server.Close)
	return server.URL
}

// answer is what a client was told, and when it asked.
type answer struct {
	at     time.Time
	body   string
	failed string
}

// reader asks for the first page ten times a second, whatever becomes of the answers.
type reader struct {
	stop    context.CancelFunc
	group   sync.WaitGroup
	mu      sync.Mutex
	answers []answer
}

func (s *site) reader() *reader {
	ctx, stop := context.WithCancel(s.f.Context())
	r := &reader{stop: stop}
	s.f.Cleanup(stop)
	r.group.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				r.group.Go(func() { r.ask(s) })
			}
		}
	})
	return r
}

func (r *reader) ask(s *site) {
	a := answer{at: time.Now()}
	status, body, err := s.ask(context.WithoutCancel(s.f.Context()), "/")
	switch {
	case err != nil:
		a.failed = err.Error()
	case status != http.StatusOK:
		a.failed = http.StatusText(status)
	}
	a.body = body
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = append(r.answers, a)
}

// count is how many answers there are by now.
func (r *reader) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.answers)
}

// end stops asking and returns all answers in the order in which they were asked
// for.
func (r *reader) end() []answer {
	r.stop()
	r.group.Wait()
	slices.SortFunc(r.answers, func(a, b answer) int { return a.at.Compare(b.at) })
	return r.answers
}

// failures are the answers that are none.
func failures(answers []answer) []answer {
	return slices.DeleteFunc(slices.Clone(answers), func(a answer) bool { return a.failed == "" })
}

// Package viewer has the sites that real viewers serve, for tests. Their images are
// viewerimage's.
package viewer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// patience is how long a test waits for a page that should take seconds: the pods
// of all tests share two cores.
const patience = 3 * time.Minute

const (
	// firstLimit is how long Page waits for an answer at first. A request that is made as soon
	// as pods are ready may get lost, and is never answered.
	firstLimit = 2 * time.Second
	// lastLimit is much later than a busy machine answers.
	lastLimit = 30 * time.Second
)

// Site is what a view's Service serves. On the node of its own it is asked at
// its address, as by anyone in the cluster; in an existing cluster through the API
// server.
type Site struct {
	t      testing.TB
	base   *url.URL
	client *http.Client
}

// NewSite finds that of a view.
func NewSite(t testing.TB, c *cluster.Cluster, namespace, view string) *Site {
	t.Helper()
	name := generator.ViewerName(view)
	if c.Supports(cluster.Node) != nil {
		return proxiedSite(t, c, namespace, name)
	}
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	service, err := clients.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return SiteAt(t, c, service.Spec.ClusterIP)
}

// SiteAt is what is served at an address of the cluster's network.
func SiteAt(t testing.TB, c *cluster.Cluster, host string) *Site {
	return &Site{
		t:    t,
		base: &url.URL{Scheme: "http", Host: host, Path: "/"},
		client: &http.Client{
			Timeout: lastLimit,
			// Each request finds a pod for itself.
			Transport: &http.Transport{DialContext: c.DialNode, DisableKeepAlives: true},
		},
	}
}

// SiteThrough is what is served at a URL, asked for by a client.
func SiteThrough(t testing.TB, base *url.URL, client *http.Client) *Site {
	return &Site{t: t, base: base, client: client}
}

func proxiedSite(t testing.TB, c *cluster.Cluster, namespace, service string) *Site {
	t.Helper()
	client, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(fmt.Sprintf("%s/api/v1/namespaces/%s/services/%s/proxy/", strings.TrimSuffix(c.Config.Host, "/"), namespace, service))
	if err != nil {
		t.Fatal(err)
	}
	return &Site{t: t, base: base, client: client}
}

// eventually waits until a condition holds; it returns what is missing.
func (s *Site) eventually(what string, missing func() string) {
	s.t.Helper()
	clustertest.Eventually(s.t, patience, clustertest.Often, what, missing)
}

// Ask asks once.
func (s *Site) Ask(ctx context.Context, path string) (status int, body string, err error) {
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

// Page returns a page. A Service's rules are in force up to a second later than
// its Deployment is available.
func (s *Site) Page(path string) string {
	s.t.Helper()
	var content string
	limit := firstLimit
	s.eventually(path+" to be served", func() string {
		ctx, cancel := context.WithTimeout(s.t.Context(), limit)
		defer cancel()
		status, body, err := s.Ask(ctx, path)
		if errors.Is(err, context.DeadlineExceeded) {
			limit = min(2*limit, lastLimit)
		}
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

// Shows waits until a page holds a text.
func (s *Site) Shows(path, text string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%s to show %q", path, text), func() string {
		if got := s.Page(path); !strings.Contains(got, text) {
			return "it doesn't"
		}
		return ""
	})
}

// Local serves the site on a port of this machine, for a browser.
func (s *Site) Local() string {
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(s.base); r.Out.Host = r.In.Host },
		Transport: s.client.Transport,
	})
	s.t.Cleanup(server.Close)
	return server.URL
}

// Answer is what a client was told, and when it asked.
type Answer struct {
	At   time.Time
	Body string
	// Failed says what went wrong; empty: nothing.
	Failed string
}

// Reader is somebody who asks ten times a second, whatever becomes of the answers.
type Reader struct {
	stop    context.CancelFunc
	group   sync.WaitGroup
	mu      sync.Mutex
	answers []Answer
}

// Reader asks for a page ten times a second, until its End.
func (s *Site) Reader(path string) *Reader {
	ctx, stop := context.WithCancel(s.t.Context())
	r := &Reader{stop: stop}
	s.t.Cleanup(stop)
	r.group.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				r.group.Go(func() { r.ask(s, path) })
			}
		}
	})
	return r
}

func (r *Reader) ask(s *Site, path string) {
	a := Answer{At: time.Now()}
	status, body, err := s.Ask(context.WithoutCancel(s.t.Context()), path)
	switch {
	case err != nil:
		a.Failed = err.Error()
	case status != http.StatusOK:
		a.Failed = http.StatusText(status)
	}
	a.Body = body
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = append(r.answers, a)
}

// Count is how many answers there are by now.
func (r *Reader) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.answers)
}

// End stops asking and returns all answers in the order in which they were asked
// for.
func (r *Reader) End() []Answer {
	r.stop()
	r.group.Wait()
	slices.SortFunc(r.answers, func(a, b Answer) int { return a.At.Compare(b.At) })
	return r.answers
}

// Failures are the answers that are none.
func Failures(answers []Answer) []Answer {
	return slices.DeleteFunc(slices.Clone(answers), func(a Answer) bool { return a.Failed == "" })
}

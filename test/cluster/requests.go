package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Request is one request that the API server answered.
type Request struct {
	// User is who asked; if somebody impersonated a user, that user.
	User string
	// Impersonator is the one who did. Usually empty.
	Impersonator string
	// UserAgent is what the client called itself.
	UserAgent string
	// Verb is get, list, watch, create, update, patch (server-side apply too),
	// delete or deletecollection; for a path that is no resource it is the
	// HTTP method in lower case.
	Verb string
	// Resource is the plural with its group, as in kubectl ("pods",
	// "deployments.apps"), empty for a path that is no resource.
	Resource    string
	Subresource string
	Namespace   string
	// Name is empty for a list, a watch of many, and a create with
	// generateName.
	Name string
	// URI is the path and the query.
	URI string
	// Code is the HTTP status.
	Code int
	// Received is when the API server got it.
	Received time.Time
}

// String is for messages of failed tests.
func (r Request) String() string {
	what := r.URI
	if r.Resource != "" {
		what = strings.Join(slices.DeleteFunc([]string{r.Resource, r.Namespace, r.Name, r.Subresource},
			func(part string) bool { return part == "" }), "/")
	}
	return fmt.Sprintf("%s %s: %d for %s (%s)", r.Verb, what, r.Code, r.User, r.UserAgent)
}

// Mark is a point in the request log.
type Mark int

// Mark returns the point in the request log before which are all requests that
// were answered by now.
func (c *Cluster) Mark(ctx context.Context) (Mark, error) {
	if err := c.Supports(RequestLog); err != nil {
		return 0, err
	}
	return c.requests.mark(ctx, c.clients.discovery.RESTClient())
}

// Requests returns the requests that were answered since a mark (0: since the
// start) and that pass all filters, in the order in which they were answered.
// Every request of every client is there, once: a watch when it begins, the
// API server's own too. Nothing that a client has got an answer to is missing.
func (c *Cluster) Requests(ctx context.Context, since Mark, filters ...Filter) ([]Request, error) {
	until, err := c.Mark(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(c.requests.between(since, until), func(r Request) bool {
		return slices.ContainsFunc(filters, func(keep Filter) bool { return !keep(r) })
	}), nil
}

// Filter says which requests to keep.
type Filter func(Request) bool

// By keeps the requests of a user. A service account's name is
// system:serviceaccount:<namespace>:<name>.
func By(user string) Filter {
	return func(r Request) bool { return r.User == user }
}

// ByAgent keeps the requests of clients whose user agent begins like this.
func ByAgent(prefix string) Filter {
	return func(r Request) bool { return strings.HasPrefix(r.UserAgent, prefix) }
}

// In keeps the requests for objects of a namespace.
func In(namespace string) Filter {
	return func(r Request) bool { return r.Namespace == namespace }
}

// On keeps the requests for a resource ("deployments.apps"), for one
// subresource of it ("deployments.apps/status"), or for any ("pods/*").
func On(resource string) Filter {
	name, subresource := splitResource(resource)
	return func(r Request) bool {
		return r.Resource == name && (subresource == "*" || r.Subresource == subresource)
	}
}

// Writes keeps the requests that can change something.
func Writes(r Request) bool {
	return !slices.Contains([]string{"get", "list", "watch", "head", "options"}, r.Verb)
}

// Events keeps the requests for events, of both their groups.
func Events(r Request) bool {
	return r.Resource == "events" || r.Resource == "events.events.k8s.io"
}

// Leases keeps the requests for leases, with which leaders are elected.
func Leases(r Request) bool { return r.Resource == "leases.coordination.k8s.io" }

// Not keeps what another filter doesn't.
func Not(other Filter) Filter {
	return func(r Request) bool { return !other(r) }
}

// CountBy counts requests by what a function makes of them, for messages and
// tables: verb and resource, say. The result is sorted, "  3 patch pods".
func CountBy(requests []Request, key func(Request) string) []string {
	counts := map[string]int{}
	for _, request := range requests {
		counts[key(request)]++
	}
	type count struct {
		key string
		n   int
	}
	var sorted []count
	for key, n := range counts {
		sorted = append(sorted, count{key, n})
	}
	slices.SortFunc(sorted, func(a, b count) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.key, b.key)) })
	lines := make([]string, len(sorted))
	for i, entry := range sorted {
		lines[i] = fmt.Sprintf("%3d %s", entry.n, entry.key)
	}
	return lines
}

// splitResource splits "pods/status" at the slash.
func splitResource(resource string) (name, subresource string) {
	name, subresource, _ = strings.Cut(resource, "/")
	return name, subresource
}

package main

import (
	"net/http"
	"path"
	"slices"
)

// ofSmallObjects are the resources whose watches aren't compressed: for each event of a rollout
// it takes the controller a twentieth of its processor time, and the API server more, to save a
// few kilobytes. Views and ConfigMaps hold pages, and stay compressed: connections read ahead.
var ofSmallObjects = []string{"pods", "deployments", "services"}

// plainWatches asks for watches of small objects as they are.
type plainWatches struct{ next http.RoundTripper }

// newPlainWatches is a wrapper for a client's configuration.
func newPlainWatches(next http.RoundTripper) http.RoundTripper { return plainWatches{next} }

// RoundTrip is an http.RoundTripper's.
func (p plainWatches) RoundTrip(request *http.Request) (*http.Response, error) {
	isWatch := request.Method == http.MethodGet && request.URL.Query().Get("watch") == "true"
	if isWatch && slices.Contains(ofSmallObjects, path.Base(request.URL.Path)) {
		request = request.Clone(request.Context())
		request.Header.Set("Accept-Encoding", "identity")
	}
	return p.next.RoundTrip(request)
}

// WrappedRoundTripper is what client-go looks for below a wrapper.
func (p plainWatches) WrappedRoundTripper() http.RoundTripper { return p.next }

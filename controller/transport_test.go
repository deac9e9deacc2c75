package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// TestOnlyWatchesOfSmallObjectsArePlain asks for what the controller does, and sees what is sent.
func TestOnlyWatchesOfSmallObjectsArePlain(t *testing.T) {
	for target, want := range map[string]string{
		"GET /api/v1/pods?allowWatchBookmarks=true&watch=true":             "identity",
		"GET /api/v1/namespaces/docs/services?watch=true":                  "identity",
		"GET /apis/apps/v1/deployments?watch=true":                         "identity",
		"GET /api/v1/configmaps?watch=true":                                "",
		"GET /apis/view.zoetrope.github.io/v1/markdownviews?watch=true":    "",
		"GET /apis/source.toolkit.fluxcd.io/v1/gitrepositories?watch=true": "",
		"GET /api/v1/pods": "",
		"GET /api/v1/namespaces/docs/configmaps/pods":                               "",
		"PATCH /apis/apps/v1/namespaces/docs/deployments?watch=true&fieldManager=x": "",
	} {
		method, address, _ := strings.Cut(target, " ")
		request := httptest.NewRequest(method, address, nil)
		var sent string
		response, err := newPlainWatches(roundTrip(func(request *http.Request) (*http.Response, error) {
			sent = request.Header.Get("Accept-Encoding")
			return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody}, nil
		})).RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusTeapot {
			t.Fatalf("%s: the answer is lost: %v", target, err)
		}
		_ = response.Body.Close()
		if sent != want {
			t.Errorf("%s: Accept-Encoding is %q, want %q", target, sent, want)
		}
		if request.Header.Get("Accept-Encoding") != "" {
			t.Errorf("%s: the caller's request is changed", target)
		}
	}
}

package artifact

import (
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	const flux = "http://source-controller.flux-system.svc.cluster.local."
	const path = "/gitrepository/docs/handbook/abc.tar.gz"
	const unknown, foreign, none = "name it in --artifact-hosts", "another namespace's source", "no address"
	tests := map[string]struct {
		url     string
		more    []string
		instead string
		want    string // of the error; empty: it is allowed
		asked   string // the address; empty: the url
	}{
		"source-controller's":                      {url: flux + path},
		"without the dot at the end":               {url: "http://source-controller.flux-system.svc.cluster.local" + path},
		"source-watcher's":                         {url: "http://source-watcher.flux-system.svc.cluster.local./externalartifact/docs/handbook/abc.tar.gz"},
		"in other letters":                         {url: "HTTP://Source-Controller.flux-system.svc.cluster.local.:80" + path, asked: "http://Source-Controller.flux-system.svc.cluster.local.:80" + path},
		"another port of it":                       {url: flux + ":8080" + path, want: unknown},
		"another host":                             {url: "http://kubernetes.default.svc" + path, want: unknown},
		"a cloud's metadata":                       {url: "http://169.254.169.254/latest/docs/x", want: unknown},
		"a host that begins like it":               {url: "http://source-controller.flux-system.svc.cluster.local.example.com" + path, want: unknown},
		"a host before an at sign":                 {url: "http://source-controller.flux-system.svc.cluster.local@example.com" + path, want: none},
		"another scheme":                           {url: "ftp://source-controller.flux-system.svc.cluster.local" + path, want: none},
		"no address":                               {url: path, want: none},
		"nothing":                                  {url: "", want: none},
		"another namespace's":                      {url: flux + "/gitrepository/other/handbook/abc.tar.gz", want: foreign},
		"another namespace's, by a way around":     {url: flux + "/gitrepository/docs/../other/handbook/abc.tar.gz", want: foreign},
		"another namespace's, by an encoded way":   {url: flux + "/gitrepository/docs/..%2fother/handbook/abc.tar.gz", want: foreign},
		"nobody's":                                 {url: flux + "/docs/", want: foreign},
		"a host that was named":                    {url: "https://artifacts.example.com/x.tar.gz", more: []string{"artifacts.example.com"}},
		"a host that was named, with another port": {url: "https://artifacts.example.com:8443/x.tar.gz", more: []string{"artifacts.example.com"}, want: unknown},
		"a host and a port that were named":        {url: "http://127.0.0.1:8443/x.tar.gz", more: []string{"127.0.0.1:8443"}},
		"an address of IPv6":                       {url: "http://[::1]:8443/x.tar.gz", more: []string{"[::1]:8443"}},
		"a Flux elsewhere":                         {url: "http://source-controller.gitops.svc/gitrepository/other/x/x", more: []string{"source-controller.gitops.svc"}, want: foreign},
		"another host in its place":                {url: "http://anything:1" + path, instead: "localhost:9790", asked: "http://localhost:9790" + path},
		"another namespace's, in its place":        {url: "http://anything/gitrepository/other/x/x", instead: "localhost:9790", want: foreign},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hosts, err := NewHosts(append(test.more, DefaultHosts...), test.instead)
			if err != nil {
				t.Fatal(err)
			}
			got, err := hosts.resolve(own, test.url)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %q, %v; want the error %q", got, err, test.want)
			case test.want == "" && test.asked == "" && got != test.url, test.asked != "" && got != test.asked:
				t.Errorf("%s is asked", got)
			}
		})
	}
}

func TestHostsThatAreNone(t *testing.T) {
	for _, entry := range []string{"", "http://example.com", "example.com/path", ":80", "a b"} {
		if _, err := NewHosts([]string{entry}, ""); err == nil {
			t.Errorf("%q is taken", entry)
		}
	}
}

package artifact

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// DefaultHosts are those of Flux's own controllers, as Flux installs them.
var DefaultHosts = []string{
	"source-controller.flux-system.svc.cluster.local",
	"source-watcher.flux-system.svc.cluster.local",
}

// Hosts are where artifacts may be fetched from. An address is what whoever may write the
// status of a source says it is: others would have the controller look around in the
// cluster's network.
type Hosts struct {
	// addresses are a host and a port each.
	addresses map[string]bool
	// instead takes the place of each address's host; empty means that none does.
	instead string
}

// NewHosts returns the hosts of a list, each a name or an IP address, with a port unless
// it is that of http and https. instead is asked in the place of all of them, whatever an
// address says; empty means that they are asked themselves.
func NewHosts(list []string, instead string) (Hosts, error) {
	h := Hosts{addresses: map[string]bool{}, instead: instead}
	for _, entry := range list {
		host, port, err := net.SplitHostPort(entry)
		if err != nil {
			host, port = strings.Trim(entry, "[]"), ""
		}
		if _, notANumber := strconv.ParseUint(cmp.Or(port, "80"), 10, 16); notANumber != nil || host == "" || strings.ContainsAny(host, "/@ ") {
			return Hosts{}, fmt.Errorf("%q is no host, or host:port", entry)
		}
		ports := []string{port}
		if port == "" {
			ports = []string{"80", "443"}
		}
		for _, port := range ports {
			h.addresses[address(host, port)] = true
		}
	}
	return h, nil
}

// address is a host and a port in the form that they are compared in.
func address(host, port string) string {
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(host, ".")), port)
}

// Check says why an artifact may not be fetched from its address, on behalf of its source.
// It asks nobody.
func (h Hosts) Check(of Source, artifactURL string) error {
	_, err := h.resolve(of, artifactURL)
	return err
}

// resolve returns the address that is to be asked for an artifact.
func (h Hosts) resolve(of Source, artifactURL string) (string, error) {
	u, err := url.Parse(artifactURL)
	if err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("its artifact has no address that could be fetched from")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if h.instead == "" && !h.addresses[address(u.Hostname(), port)] {
		return "", fmt.Errorf("its artifact is at the host %q, which this controller fetches nothing from: name it in --artifact-hosts", u.Host)
	}
	if (h.instead != "" || isFlux(u.Hostname())) && !isOwn(of, u) {
		return "", fmt.Errorf("its artifact is one of another namespace's source, or of none: %s", u.Path)
	}
	if h.instead != "" {
		u.Host = h.instead
	}
	return u.String(), nil
}

// isFlux reports whether a host is, by its name, one of Flux's own controllers.
func isFlux(host string) bool {
	name, _, _ := strings.Cut(strings.ToLower(host), ".")
	return name == "source-controller" || name == "source-watcher"
}

// isOwn reports whether one of Flux's own controllers would serve the artifact of the
// source there: its paths are those of github.com/fluxcd/pkg/artifact, a kind, the
// source's namespace and its name.
func isOwn(of Source, u *url.URL) bool {
	parts := strings.Split(u.Path, "/")
	return u.RawPath == "" && path.Clean(u.Path) == u.Path && len(parts) > 3 && parts[2] == of.Namespace
}

package e2e

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/browser"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/viewer"
)

// gateway is an nginx that does what Gateways, HTTPRoutes and Ingresses say: of what these
// can say it knows what the examples and docs/exposing.md do, and takes nothing else.
type gateway struct {
	f *fixture
	// address is for TLS, plain is without.
	address, plain string
}

// location is one of the gateway's, by host. An empty host is any other.
type location struct {
	host, match string
	directives  []string
	plain       bool // without TLS
}

const gatewayConfig = `pid /tmp/nginx.pid;
error_log stderr warn;
events {}
http {
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
  access_log off;
  proxy_http_version 1.1;
  proxy_set_header Host $host;
  proxy_set_header X-Forwarded-Proto $scheme;
  proxy_set_header Upgrade $http_upgrade;
  map $http_upgrade $keep { "" close; default upgrade; }
  proxy_set_header Connection $keep;
%s}
`

// newGateway starts one for the routes that are there.
func (f *fixture) newGateway() *gateway {
	f.Helper()
	type server struct {
		host  string
		plain bool
	}
	var order []server
	servers := map[server][]location{}
	for _, l := range append(f.httpRoutes(), f.ingresses()...) {
		of := server{l.host, l.plain}
		if servers[of] == nil {
			order = append(order, of)
		}
		servers[of] = append(servers[of], l)
	}
	files := map[string]string{}
	text := ""
	for _, of := range order {
		if of.plain {
			text += fmt.Sprintf("  server {\n    listen 8080;\n    server_name %s;\n", cmp.Or(of.host, "_"))
		} else {
			text += fmt.Sprintf("  server {\n    listen 8443 ssl;\n    server_name %s;\n    ssl_certificate /etc/gateway/%[1]s.crt;\n    ssl_certificate_key /etc/gateway/%[1]s.key;\n", of.host)
			secret := f.certificateFor(of.host)
			files[of.host+".crt"], files[of.host+".key"] = string(secret.Data[corev1.TLSCertKey]), string(secret.Data[corev1.TLSPrivateKeyKey])
		}
		taken := map[string]bool{}
		for _, l := range servers[of] {
			if !taken[l.match] {
				text += fmt.Sprintf("    location %s {\n      %s;\n    }\n", l.match, strings.Join(l.directives, ";\n      "))
			}
			taken[l.match] = true
		}
		text += "  }\n"
	}
	files["nginx.conf"] = fmt.Sprintf(gatewayConfig, text)
	f.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "gateway", Namespace: f.namespace}, Data: files})
	f.create(f.gatewayPod())
	g := &gateway{f: f}
	f.eventually("the gateway to run", func() string {
		pod := &corev1.Pod{}
		if !f.get(pod, "gateway") || pod.Status.PodIP == "" || pod.Status.Phase != corev1.PodRunning {
			return string(cmp.Or(pod.Status.Phase, "it isn't there"))
		}
		g.address, g.plain = at(pod, 8443), at(pod, 8080)
		connection, err := shared.DialNode(f.Context(), "tcp", g.address)
		if err != nil {
			return err.Error()
		}
		_ = connection.Close()
		return ""
	})
	return g
}

func (f *fixture) gatewayPod() *corev1.Pod {
	nobody := int64(65532)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "gateway", Namespace: f.namespace},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64),
			SecurityContext:               &corev1.PodSecurityContext{RunAsUser: &nobody},
			Containers: []corev1.Container{{
				Name: "nginx", Image: generator.DefaultServerImage, Command: []string{"nginx"}, TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				Args:         []string{"-e", "stderr", "-c", "/etc/gateway/nginx.conf", "-g", "daemon off;"},
				VolumeMounts: []corev1.VolumeMount{{Name: "gateway", MountPath: "/etc/gateway"}, {Name: "scratch", MountPath: "/tmp"}},
			}},
			Volumes: []corev1.Volume{
				{Name: "gateway", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "gateway"}}}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}
}

// httpRoutes reads the HTTPRoutes of books and of gateways, as the listeners that they are
// attached to serve them.
func (f *fixture) httpRoutes() []location {
	f.Helper()
	var locations []location
	for _, namespace := range []string{f.namespace, f.gateways()} {
		var list gatewayv1.HTTPRouteList
		f.Must(unmarshal(f.kubectl("get", "httproutes", "--namespace", namespace, "-o", "json"), &list))
		for _, route := range list.Items {
			for _, listener := range f.listenersOf(route) {
				for _, rule := range route.Spec.Rules {
					for _, host := range append(route.Spec.Hostnames, make([]gatewayv1.Hostname, 1)...)[:max(1, len(route.Spec.Hostnames))] {
						for _, l := range f.ruleOf(string(host), rule) {
							l.plain = listener.Protocol == gatewayv1.HTTPProtocolType
							locations = append(locations, l)
						}
					}
				}
			}
		}
	}
	return locations
}

// gateways is the namespace of the test's Gateway.
func (f *fixture) gateways() string { return f.namespace + "-gateways" }

// listeners reads those of the Gateway.
func (f *fixture) listeners() []gatewayv1.Listener {
	f.Helper()
	var list gatewayv1.GatewayList
	f.Must(unmarshal(f.kubectl("get", "gateways", "--namespace", f.gateways(), "-o", "json"), &list))
	if len(list.Items) == 0 {
		return nil
	}
	return list.Items[0].Spec.Listeners
}

// listenersOf are those that a route is attached to.
func (f *fixture) listenersOf(route gatewayv1.HTTPRoute) []gatewayv1.Listener {
	f.Helper()
	var attached []gatewayv1.Listener
	for _, listener := range f.listeners() {
		section := route.Spec.ParentRefs[0].SectionName
		from := *listener.AllowedRoutes.Namespaces.From
		if (section == nil || *section == listener.Name) &&
			(from == gatewayv1.NamespacesFromAll || from == gatewayv1.NamespacesFromSame && route.Namespace == f.gateways()) {
			attached = append(attached, listener)
		}
	}
	return attached
}

// certificateFor is what a listener, or an Ingress, names for a host.
func (f *fixture) certificateFor(host string) *corev1.Secret {
	f.Helper()
	_, domain, _ := strings.Cut(host, ".")
	namespace, name := f.namespace, ""
	for _, listener := range f.listeners() {
		if listener.TLS != nil && string(*listener.Hostname) == "*."+domain {
			namespace, name = f.gateways(), string(listener.TLS.CertificateRefs[0].Name)
		}
	}
	var list networkingv1.IngressList
	f.Must(unmarshal(f.kubectl("get", "ingresses", "-o", "json"), &list))
	for _, ingress := range list.Items {
		for _, tls := range ingress.Spec.TLS {
			if slices.Contains(tls.Hosts, host) {
				name = tls.SecretName
			}
		}
	}
	secret := &corev1.Secret{}
	f.Must(f.Client.Get(f.Context(), client.ObjectKey{Namespace: namespace, Name: name}, secret))
	return secret
}

// makeCertificate makes the Secret of docs/exposing.md, as kubectl create secret tls does.
func (f *fixture) makeCertificate(namespace string) {
	f.Helper()
	crt, key, err := cert.GenerateSelfSignedCertKey("example.test", nil, []string{"*.example.test"})
	f.Must(err)
	f.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "docs-tls", Namespace: namespace}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key},
	})
}

func (f *fixture) ruleOf(host string, rule gatewayv1.HTTPRouteRule) []location {
	f.Helper()
	kind, path := gatewayv1.PathMatchPathPrefix, "/"
	if len(rule.Matches) == 1 {
		kind, path = *rule.Matches[0].Path.Type, *rule.Matches[0].Path.Value
	}
	stripped, redirect := false, ""
	for _, filter := range rule.Filters {
		switch {
		case filter.URLRewrite != nil && *filter.URLRewrite.Path.ReplacePrefixMatch == "/":
			stripped = true
		case filter.RequestRedirect != nil && filter.RequestRedirect.Path == nil:
			return []location{{host: host, match: "/", directives: []string{
				fmt.Sprintf("return %d %s://$host$request_uri", *filter.RequestRedirect.StatusCode, *filter.RequestRedirect.Scheme),
			}}}
		case filter.RequestRedirect != nil:
			redirect = *filter.RequestRedirect.Path.ReplaceFullPath
		default:
			f.Fatalf("the gateway doesn't know the filter %s", filter.Type)
		}
	}
	switch {
	case redirect != "" && kind == gatewayv1.PathMatchExact:
		return []location{{host: host, match: "= " + path, directives: []string{"return 302 " + redirect}}}
	case redirect != "" || kind != gatewayv1.PathMatchPathPrefix || len(rule.BackendRefs) != 1:
		f.Fatalf("the gateway doesn't know rules such as %v", rule)
	}
	backend := rule.BackendRefs[0]
	return f.prefix(host, path, string(backend.Name), fmt.Sprint(*backend.Port), stripped)
}

// ingresses reads the namespace's Ingresses.
func (f *fixture) ingresses() []location {
	f.Helper()
	var list networkingv1.IngressList
	f.Must(unmarshal(f.kubectl("get", "ingresses", "-o", "json"), &list))
	var locations []location
	for _, ingress := range list.Items {
		for _, rule := range ingress.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				if *path.PathType != networkingv1.PathTypePrefix {
					f.Fatalf("the gateway doesn't know paths of the type %s", *path.PathType)
				}
				service := path.Backend.Service
				locations = append(locations, f.prefix(rule.Host, path.Path, service.Name, cmp.Or(service.Port.Name, fmt.Sprint(service.Port.Number)), false)...)
			}
		}
	}
	return locations
}

// prefix passes a path and all below it to a port of a Service, by number or name.
func (f *fixture) prefix(host, path, backend, port string, stripped bool) []location {
	f.Helper()
	service := &corev1.Service{}
	if !f.get(service, backend) {
		f.Fatalf("a route of %s leads to the Service %s, which isn't there", host, backend)
	}
	target := ""
	for _, p := range service.Spec.Ports {
		if p.Name == port || fmt.Sprint(p.Port) == port {
			target = fmt.Sprintf("http://%s", net.JoinHostPort(service.Spec.ClusterIP, fmt.Sprint(p.Port)))
		}
	}
	if target == "" {
		f.Fatalf("a route of %s leads to the port %s of the Service %s, which it doesn't have", host, port, backend)
	}
	if stripped {
		target += "/"
	}
	pass := []string{"proxy_pass " + target}
	if path == "/" {
		return []location{{host: host, match: "/", directives: pass}}
	}
	return []location{{host: host, match: path + "/", directives: pass}, {host: host, match: "= " + path, directives: pass}}
}

// site is what the gateway serves of a host.
func (g *gateway) site(host string) *viewer.Site {
	return viewer.SiteThrough(g.f, &url.URL{Scheme: "https", Host: host, Path: "/"}, g.client())
}

// client asks the gateway for any host, believes the certificate's own authority only, and
// doesn't follow redirects.
func (g *gateway) client() *http.Client {
	g.f.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(g.certificate())
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if strings.HasSuffix(address, ":80") {
					return shared.DialNode(ctx, network, g.plain)
				}
				return shared.DialNode(ctx, network, g.address)
			},
		},
	}
}

func (g *gateway) certificate() []byte {
	g.f.Helper()
	return g.f.certificateFor("docs.example.test").Data[corev1.TLSCertKey]
}

// browser is one for which every host is the gateway's, and its key is known.
func (g *gateway) browser() *browser.Browser {
	g.f.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(g.f.Context(), "tcp", "127.0.0.1:0")
	g.f.Must(err)
	g.f.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go g.forward(connection)
		}
	}()
	certificates, err := cert.ParseCertsPEM(g.certificate())
	g.f.Must(err)
	key := sha256.Sum256(certificates[0].RawSubjectPublicKeyInfo)
	return browser.Start(g.f.T,
		chromedp.Flag("host-resolver-rules", "MAP * "+listener.Addr().String()),
		chromedp.Flag("ignore-certificate-errors-spki-list", base64.StdEncoding.EncodeToString(key[:])))
}

func (g *gateway) forward(from net.Conn) {
	defer func() { _ = from.Close() }()
	to, err := shared.DialNode(context.WithoutCancel(g.f.Context()), "tcp", g.address)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() { _, _ = io.Copy(to, from) }()
	_, _ = io.Copy(from, to)
}

// needsGateway skips a test where there is no nginx, or no node to dial.
func (f *fixture) needsGateway() {
	f.Helper()
	if err := shared.Supports(cluster.Node); err != nil {
		f.Skip(err)
	}
	if _, err := os.Stat(tool("nginx")); err != nil {
		f.Skip("there is no nginx: make has it from the packages of Debian and Ubuntu")
	}
}

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/product/producttest"
	"github.com/zoetrope/markdown-view/test/viewer"
)

// fluxPolicies are those that `flux install` makes.
const fluxPolicies = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow-egress, namespace: flux-system}
spec:
  podSelector: {}
  policyTypes: [Ingress, Egress]
  ingress: [{from: [{podSelector: {}}]}]
  egress: [{}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow-scraping, namespace: flux-system}
spec:
  podSelector: {}
  policyTypes: [Ingress]
  ingress: [{from: [{namespaceSelector: {}}], ports: [{port: 8080, protocol: TCP}]}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow-webhooks, namespace: flux-system}
spec:
  podSelector: {matchLabels: {app: notification-controller}}
  policyTypes: [Ingress]
  ingress: [{from: [{namespaceSelector: {}}]}]
`

// tenant has a book of each front end, and one that mdBook itself serves.
const tenant = `
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namePrefix: acme-
resources: [controller/markdownview.yaml, draft.yaml]
generators: [built.yaml]
components: [network-policy]
`

// attempt is a connection that is tried.
type attempt struct {
	from    *corev1.Pod
	to      string // address and port
	allowed bool
}

func TestNetworkPoliciesLetThroughWhatIsNeededAndNothingElse(t *testing.T) {
	f := newExclusiveFixture(t) // the controller's policy is everybody's
	f.needsGateway()
	books := f.applyTenant()
	controller := f.podOf("markdown-view-system", "app.kubernetes.io/name=markdown-view-controller")
	for _, namespace := range []string{"gateways", "flux-system"} {
		f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		f.Cleanup(func() { f.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}) })
	}
	gateway, neighbour, stranger := f.listener("gateways", "gateway"), f.listener(f.namespace, "neighbour"), f.listener("default", "stranger")
	f.Cleanup(func() { f.remove(stranger) })
	source, notification := f.listener("flux-system", "source-controller"), f.listener("flux-system", "notification-controller")

	apiServer, outside := net.JoinHostPort(f.clusterIP("default", "kubernetes"), "443"), shared.Registry()
	attempts := []attempt{
		{controller, apiServer, true},
		{controller, at(neighbour, 53), true}, // as DNS would be
		{controller, at(source, 9090), true},
		{controller, at(notification, 9090), true},
		{controller, at(neighbour, 9090), false},
		{controller, at(source, 8080), false},
		{controller, outside, false},
		{stranger, at(controller, 8080), true}, // as Prometheus does
		{stranger, at(controller, 9440), false},
		{stranger, at(source, 9090), false},
		{neighbour, at(source, 9090), false},
	}
	for i := range books {
		book := &books[i]
		attempts = append(attempts,
			attempt{gateway, at(book, 3000), true},
			attempt{neighbour, at(book, 3000), false},
			attempt{stranger, at(book, 3000), false},
			attempt{controller, at(book, 3000), false},
			attempt{&books[(i+1)%len(books)], at(book, 3000), false},
			attempt{book, apiServer, false},
			attempt{book, outside, false},
			attempt{book, at(gateway, 8080), false},
			attempt{book, at(neighbour, 53), false},
		)
	}
	everything := make([]attempt, len(attempts))
	for i, a := range attempts {
		everything[i] = attempt{a.from, a.to, true}
	}
	f.checkAttempts("without anything that enforces policies", everything)

	f.cluster(fluxPolicies, "apply", "--server-side", "-f", "-")
	f.enforcePolicies()
	f.checkAttempts("with Flux's own policies", []attempt{{controller, at(source, 9090), false}})
	f.cluster("", "apply", "--server-side", "-k", "../../config/flux")
	f.checkAttempts("with all policies", attempts)

	// Whoever is let in reads; and what writes, probes and pulls goes on.
	for _, service := range []string{"viewer-acme-handbook", "viewer-acme-draft", "acme-viewer-built"} {
		f.siteFrom(gateway, f.clusterIP(f.namespace, service)).Shows("/start.html", "<h1")
	}
	producttest.Update(f.Fixture, &v1.MarkdownView{}, "acme-handbook", func(view *v1.MarkdownView) {
		view.Spec.Markdowns["start.md"] = "# Another page\n"
	})
	f.Ready("acme-handbook")
	f.siteFrom(gateway, f.clusterIP(f.namespace, "viewer-acme-handbook")).Shows("/start.html", "Another page")

	// As with a login in front.
	f.kubectl("label", "pod", "neighbour", "app.kubernetes.io/name=login")
	_, admitted, _ := strings.Cut(documented(t, "exposing.md", "A login in front", "  ```")[0], "  - from:\n")
	f.kubectl("patch", "networkpolicy", "acme-books", "--type=merge", "--patch",
		"spec:\n  ingress:\n  - ports: [{port: http, protocol: TCP}]\n    from:\n"+admitted)
	f.checkAttempts("with a login in front", []attempt{
		{neighbour, at(f.bookPod(), 3000), true},
		{gateway, at(f.bookPod(), 3000), false},
	})
}

// bookPod is one of the handbook's.
func (f *fixture) bookPod() *corev1.Pod {
	f.Helper()
	pods := f.Pods("acme-handbook")
	if len(pods) == 0 {
		f.Fatal("the handbook has no pod")
	}
	return &pods[0]
}

// applyTenant applies a namespace's books with the policy among the examples, and returns
// their pods.
func (f *fixture) applyTenant() []corev1.Pod {
	f.Helper()
	folder := f.TempDir()
	for target, source := range map[string]string{"controller": "controller/gateway", "network-policy": "network-policy"} {
		f.Must(os.CopyFS(filepath.Join(folder, target), os.DirFS(filepath.Join("../../examples/exposed", filepath.FromSlash(source)))))
	}
	view, err := os.ReadFile("../../examples/exposed/function/gateway/markdownview.yaml")
	f.Must(err)
	for name, text := range map[string]string{
		"kustomization.yaml": tenant + "namespace: " + f.namespace + "\n",
		"built.yaml":         strings.Replace(string(view), "name: handbook", "name: built", 1),
		"draft.yaml":         "{apiVersion: view.zoetrope.github.io/v1, kind: MarkdownView, metadata: {name: draft}, spec: {markdowns: {SUMMARY.md: '[Start](start.md)', start.md: '# Start'}}}\n",
	} {
		f.Must(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	f.kubectlWith(f.kustomize(folder), "apply", "--server-side", "-f", "-")
	f.Ready("acme-handbook")
	f.Ready("acme-draft")
	f.kubectl("rollout", "status", "deployment/acme-viewer-built", "--timeout=3m")
	pods := &corev1.PodList{}
	f.Must(f.Client.List(f.Context(), pods, client.InNamespace(f.namespace), client.MatchingLabels{"app.kubernetes.io/created-by": "markdown-view-controller"}))
	if len(pods.Items) != 3 {
		f.Fatalf("three books have %d pods", len(pods.Items))
	}
	return pods.Items
}

// checkAttempts waits until all are answered, or not, as is wanted.
func (f *fixture) checkAttempts(when string, attempts []attempt) {
	f.Helper()
	f.eventually("connections "+when, func() string {
		wrong := make([]string, len(attempts))
		var group sync.WaitGroup
		for i, a := range attempts {
			group.Go(func() {
				limit := 2 * time.Second
				if a.allowed {
					limit = 15 * time.Second
				}
				ctx, cancel := context.WithTimeout(f.Context(), limit)
				defer cancel()
				connection, err := shared.DialPod(ctx, a.from, "tcp", a.to)
				if err == nil {
					_ = connection.Close()
				}
				if (err == nil) != a.allowed {
					wrong[i] = fmt.Sprintf("%s/%s to %s: %v\n", a.from.Namespace, a.from.Name, a.to, err)
				}
			})
		}
		group.Wait()
		return strings.Join(wrong, "")
	})
}

// listener is a pod that takes connections at the ports that policies speak of.
func (f *fixture) listener(namespace, name string) *corev1.Pod {
	f.Helper()
	const config = "pid /tmp/nginx.pid; error_log stderr; events {} http { access_log off; server { listen 53; listen 8080; listen 9090; return 200; } }"
	f.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Data: map[string]string{"nginx.conf": config}})
	pod := f.gatewayPod()
	pod.Name, pod.Namespace, pod.Labels = name, namespace, map[string]string{"app": name}
	pod.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}} // for the port of DNS
	pod.Spec.Volumes[0].ConfigMap.Name = name
	f.create(pod)
	return f.podOf(namespace, "app="+name)
}

// podOf waits for one of the pods with a label to run, and returns it.
func (f *fixture) podOf(namespace, label string) *corev1.Pod {
	f.Helper()
	pods := &corev1.PodList{}
	selector, err := metav1.ParseToLabelSelector(label)
	f.Must(err)
	f.eventually("a pod with the label "+label, func() string {
		f.Must(f.Client.List(f.Context(), pods, client.InNamespace(namespace), client.MatchingLabels(selector.MatchLabels)))
		if len(pods.Items) == 0 || pods.Items[0].Status.Phase != corev1.PodRunning || pods.Items[0].Status.PodIP == "" {
			return "it doesn't run"
		}
		return ""
	})
	return &pods.Items[0]
}

func (f *fixture) clusterIP(namespace, service string) string {
	f.Helper()
	return f.kubectl("get", "service", service, "--namespace", namespace, "-o", "jsonpath={.spec.clusterIP}")
}

// siteFrom is what a pod reads at an address.
func (f *fixture) siteFrom(pod *corev1.Pod, address string) *viewer.Site {
	return viewer.SiteThrough(f, &url.URL{Scheme: "http", Host: address, Path: "/"}, &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return shared.DialPod(ctx, pod, network, address)
		}},
	})
}

func at(pod *corev1.Pod, port int) string {
	return net.JoinHostPort(pod.Status.PodIP, fmt.Sprint(port))
}

// remove deletes an object, without waiting.
func (f *fixture) remove(object client.Object) {
	f.Must(client.IgnoreNotFound(f.Client.Delete(context.WithoutCancel(f.Context()), object)))
}

// cluster runs kubectl for what has a namespace of its own.
func (f *fixture) cluster(stdin string, args ...string) string {
	f.Helper()
	out, err := shared.Kubectl(f.Context(), stdin, args...)
	f.Must(err)
	return out
}

package examples

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"

	"github.com/zoetrope/markdown-view/generator"
)

// backend matches the names of Services in HTTPRoutes and Ingresses: what else is called
// so in them has no "viewer-" in its name.
var backend = regexp.MustCompile(`(?m)name: (\S*viewer-\S*)$`)

// backends returns what the routes among manifests lead to.
func backends(t *testing.T, manifests string) []string {
	t.Helper()
	var found []string
	for _, document := range documents(t, manifests) {
		if !regexp.MustCompile(`(?m)^kind: (HTTPRoute|Ingress)$`).MatchString(document) {
			continue
		}
		for _, match := range backend.FindAllStringSubmatch(document, -1) {
			found = append(found, match[1])
		}
	}
	return found
}

func TestRoutesLeadToTheBooksServiceWhateverThePrefix(t *testing.T) {
	for name, test := range map[string]struct{ example, service string }{
		"the function, an HTTPRoute":   {"exposed/function/gateway", "acme-viewer-handbook"},
		"the function, an Ingress":     {"exposed/function/ingress", "acme-viewer-handbook"},
		"the controller, an HTTPRoute": {"exposed/controller/gateway", "viewer-acme-handbook"},
		"the controller, an Ingress":   {"exposed/controller/ingress", "viewer-acme-handbook"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copyOf(t, test.example)
			got := build(t, dir, ".")
			if got.failed {
				t.Fatal(got.stderr)
			}
			if diff := cmp.Diff([]string{test.service, test.service}, backends(t, got.stdout)); diff != "" {
				t.Error(diff)
			}
			services := parse(t, got.stdout).services
			if len(services) == 1 && services[0].Name != test.service || len(services) == 0 && regexp.MustCompile("^acme-").MatchString(test.service) {
				t.Errorf("the Service isn't called so: %v", parse(t, got.stdout).names)
			}

			// Another book in the same kustomization has a route of its own.
			write(t, dir, "other.yaml", `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: guide}, spec: {rules: [{backendRefs: [{name: viewer-guide, port: 80}]}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: guide}, spec: {defaultBackend: {service: {name: viewer-guide, port: {name: http}}}}}
---
{apiVersion: view.zoetrope.github.io/v1, kind: MarkdownView, metadata: {name: guide}, spec: {markdowns: {SUMMARY.md: "- [A](a.md)", a.md: A}}}
`)
			kustomization := textOf(t, dir, "kustomization.yaml")
			write(t, dir, "kustomization.yaml", regexp.MustCompile(`(?m)^resources:\n`).ReplaceAllString(kustomization, "resources:\n- other.yaml\n"))
			got = build(t, dir, ".")
			found := backends(t, got.stdout)
			slices.Sort(found)
			want := []string{test.service, test.service, "viewer-guide", "viewer-guide"}
			slices.Sort(want)
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("%s\n%s", diff, got.stderr)
			}
		})
	}
}

func TestTheExamplesHTTPRouteConfigurationIsTheProjects(t *testing.T) {
	got := textOf(t, ".", "exposed/function/gateway/kustomizeconfig.yaml")
	if diff := cmp.Diff(textOf(t, repository, kustomizeconfig+"/httproute.yaml"), got); diff != "" {
		t.Errorf("the copy differs (-%s +examples/exposed/function/gateway):\n%s", kustomizeconfig, diff)
	}
}

func TestRoutesOfAllExamplesAreTheSame(t *testing.T) {
	for _, file := range []string{"gateway/httproute.yaml", "ingress/ingress.yaml"} {
		if diff := cmp.Diff(textOf(t, ".", "exposed/function/"+file), textOf(t, ".", "exposed/controller/"+file)); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

func TestTheNetworkPolicySelectsBooksOfBothFrontEndsWhateverThePrefix(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, "exposed")
	write(t, dir, "kustomization.yaml", `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: tenant
namePrefix: t-
nameSuffix: "-1"
resources: [function/gateway]
components: [network-policy]
labels:
- pairs: {team: docs}
`)
	built := buildAlike(t, dir)
	var policy networkingv1.NetworkPolicy
	for _, document := range documents(t, built) {
		if strings.Contains(document, "kind: NetworkPolicy\n") {
			unmarshal(t, document, &policy)
		}
	}
	pod := parse(t, built).deployments[0].Spec.Template
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	for frontEnd, labels := range map[string]map[string]string{"function": pod.Labels, "controller": generator.Labels("t-handbook-1")} {
		if policy.Namespace != "tenant" || !selector.Matches(k8slabels.Set(labels)) {
			t.Errorf("the policy of %s for %s doesn't select the pods of the %s: %v", policy.Namespace, selector, frontEnd, labels)
		}
	}
	if got := policy.Spec.Ingress[0].Ports[0].Port.String(); got != pod.Spec.Containers[0].Ports[0].Name {
		t.Errorf("the policy lets in to the port %s, the pods have %v", got, pod.Spec.Containers[0].Ports)
	}
	if len(policy.Spec.PolicyTypes) != 2 || len(policy.Spec.Egress) != 0 {
		t.Errorf("the pods are let out: %v", policy.Spec)
	}
}

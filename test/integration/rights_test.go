package integration

import (
	"cmp"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

var serviceAccountGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + systemNamespace, "system:authenticated"}

// TestTheServiceAccountHasNoRightsButItsOwn asks the API server what the controller may
// do: in the test's namespace, or in another one that is named before the resource.
func TestTheServiceAccountHasNoRightsButItsOwn(t *testing.T) {
	f := newFixture(t)
	for _, permission := range []string{
		"list markdownviews.view.zoetrope.github.io",
		"patch markdownviews.view.zoetrope.github.io/status",
		"update markdownviews.view.zoetrope.github.io/finalizers", // for owner references that block deletion
		"create configmaps", "patch configmaps", "delete configmaps", "watch configmaps",
		"create deployments.apps", "patch deployments.apps", "watch deployments.apps",
		"create services", "patch services", "watch services",
		"list replicasets.apps", "list pods", "create events", "patch events",
		"create markdown-view-system/leases.coordination.k8s.io",
		"update markdown-view-system/leases.coordination.k8s.io markdown-view-controller",
	} {
		if !f.may(controllerUser, serviceAccountGroups, permission) {
			t.Errorf("the controller may not: %s", permission)
		}
	}
	for _, permission := range []string{
		"get secrets", "list secrets", "create secrets", "get markdownviews.view.zoetrope.github.io",
		"create markdownviews.view.zoetrope.github.io", "update markdownviews.view.zoetrope.github.io",
		"patch markdownviews.view.zoetrope.github.io", "delete markdownviews.view.zoetrope.github.io",
		"delete deployments.apps", "delete services", "get services", "get deployments.apps", "deletecollection configmaps",
		"get replicasets.apps", "watch replicasets.apps", "patch replicasets.apps", "update deployments.apps", "update services", "update configmaps",
		"patch deployments.apps/scale", "patch deployments.apps/status",
		"create pods", "delete pods", "create pods/exec", "get pods/log", "create pods/eviction", "create pods/portforward",
		"list nodes", "list namespaces", "create namespaces",
		"create serviceaccounts", "create serviceaccounts/token", "impersonate users", "impersonate serviceaccounts",
		"create roles.rbac.authorization.k8s.io", "bind clusterroles.rbac.authorization.k8s.io",
		"escalate clusterroles.rbac.authorization.k8s.io", "create rolebindings.rbac.authorization.k8s.io",
		"create leases.coordination.k8s.io", "update leases.coordination.k8s.io",
		"get markdown-view-system/secrets",
		"delete markdown-view-system/leases.coordination.k8s.io markdown-view-controller",
		"patch customresourcedefinitions.apiextensions.k8s.io",
		"create validatingwebhookconfigurations.admissionregistration.k8s.io",
		"* *.*",
	} {
		if f.may(controllerUser, serviceAccountGroups, permission) {
			t.Errorf("the controller may: %s", permission)
		}
	}
}

// may asks for one permission: a verb, [namespace/]resource[.group][/subresource],
// and a name.
func (f *fixture) may(user string, groups []string, permission string) bool {
	f.Helper()
	parts := append(strings.Fields(permission), "")
	attributes := &authorizationv1.ResourceAttributes{Namespace: f.namespace, Verb: parts[0], Name: parts[2]}
	resource := parts[1]
	if rest, ok := strings.CutPrefix(resource, systemNamespace+"/"); ok {
		attributes.Namespace, resource = systemNamespace, rest
	}
	resource, attributes.Subresource, _ = strings.Cut(resource, "/")
	attributes.Resource, attributes.Group, _ = strings.Cut(resource, ".")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: groups, ResourceAttributes: attributes,
	}}
	f.create(review)
	return review.Status.Allowed
}

// unseen are rights without a request of that name in the request log.
var unseen = func() map[string]string {
	reasons := map[string]string{
		"update markdownviews.view.zoetrope.github.io/finalizers": "needed for owner references that block deletion",
	}
	for _, resource := range []string{"configmaps", "deployments.apps", "services"} {
		reasons["create "+resource] = "an apply of what doesn't exist is a patch, and needs it too"
	}
	for _, resource := range []string{"configmaps", "deployments.apps", "services", "pods", "markdownviews.view.zoetrope.github.io"} {
		reasons["list "+resource] = "a watch that begins with a list is one request, where the API server knows it"
	}
	reasons["list replicasets.apps"] = "no pod fails here; TestLostPodsOfTheLastGoodPagesAreReplaced needs it"
	for _, resource := range []string{"gitrepositories", "ocirepositories", "buckets", "externalartifacts"} {
		for _, verb := range []string{"list ", "watch "} {
			reasons[verb+resource+".source.toolkit.fluxcd.io"] = "this cluster has no Flux"
		}
	}
	return reasons
}()

// TestEveryRightIsUsed has a controller do all that it does, and looks for each rule
// of its roles among its requests.
func TestEveryRightIsUsed(t *testing.T) {
	clustertest.Need(t, shared, cluster.RequestLog, cluster.Faults)
	f := newFixture(t)
	f.doEverything()

	var missing []string
	f.eventually("all rights to be used", func() string {
		requests, err := shared.Requests(t.Context(), 0, cluster.By(controllerUser))
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		for _, r := range requests {
			resource := r.Resource
			if r.Subresource != "" {
				resource += "/" + r.Subresource
			}
			used[r.Verb+" "+resource] = true
			if r.Code == http.StatusForbidden && (r.Namespace == f.namespace || r.Namespace == systemNamespace) {
				t.Errorf("forbidden: %s", r)
			}
		}
		missing = nil
		for _, right := range f.rights() {
			if !used[right] && unseen[right] == "" {
				missing = append(missing, right)
			}
		}
		return strings.Join(missing, ", ")
	})
	rights := f.rights()
	for right := range unseen {
		if !slices.Contains(rights, right) {
			t.Errorf("no role gives %q any more", right)
		}
	}
}

// doEverything has a controller elect itself, read pages and what isn't ours, prune
// pages, and record the same event twice.
func (f *fixture) doEverything() {
	f.Helper()
	f.runController("controller-rights", "--namespaces="+f.namespace, "--enable-leader-election", "--watch-label-selector=rights=all")

	f.create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "pages", Namespace: f.namespace},
		Data:       map[string]string{"more.md": strings.Repeat("more than one ConfigMap holds\n", 30000)},
	})
	big := f.view("big")
	big.Spec.ContentFrom = []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: "pages"}}}
	big.Spec.Markdowns["next.md"] = strings.Repeat("# Next\n", 50000)
	f.create(big)
	f.ready("big")
	update(f, &v1.MarkdownView{}, "big", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Next\n" })
	f.ready("big")
	for _, text := range []string{"once", "twice"} {
		update(f, &corev1.ConfigMap{}, "markdowns-big", func(c *corev1.ConfigMap) { c.Data["foreign.md"] = text })
		f.eventually("the repair", func() string {
			configMap := &corev1.ConfigMap{}
			f.get(configMap, "markdowns-big")
			return differs(configMap.Data["foreign.md"], "")
		})
	}

	f.create(foreignObjects(f.namespace)["Deployment viewer-docs"])
	f.create(f.view("docs"))
	f.status("docs", metav1.ConditionFalse, v1.ConflictReason)
	service := foreignObjects(f.namespace)["Service viewer-docs"]
	service.SetName("viewer-other")
	f.create(service)
	f.create(f.view("other"))
	f.status("other", metav1.ConditionFalse, v1.ConflictReason)
}

// TestAControllerOfOneNamespaceNeedsNoOtherRights gives it the rights that
// docs/controller.md says.
func TestAControllerOfOneNamespaceNeedsNoOtherRights(t *testing.T) {
	clustertest.Need(t, shared, cluster.RequestLog, cluster.Faults)
	f := newFixture(t)
	user := "system:serviceaccount:" + f.namespace + ":controller"
	f.bind(user, "markdown-view-controller")
	f.eventually("its rights", func() string {
		if !f.may(user, serviceAccountGroups, "patch deployments.apps") {
			return "they aren't in force"
		}
		return ""
	})
	address := freeAddress(t)
	f.runControllerAs(user, "controller-of-one", "--metrics-addr="+address, "--namespaces="+f.namespace)
	f.create(f.view("docs"))
	f.ready("docs")
	f.eventually("this controller to have seen the view", func() string {
		text, err := scrape(address)
		if err != nil {
			return err.Error()
		}
		if !strings.Contains(text, "gotk_reconcile_duration_seconds_count{") {
			return "it has reconciled nothing"
		}
		return ""
	})
	requests, err := shared.Requests(t.Context(), 0, cluster.By(user))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		if r.Code == http.StatusForbidden && r.Resource != "" {
			t.Errorf("forbidden: %s", r)
		}
	}
}

// TestNotReadyWhileANamespaceCantBeListed has a controller of two namespaces lack its rights in
// one: it lives, and isn't ready, so that no upgrade replaces one that works by it.
func TestNotReadyWhileANamespaceCantBeListed(t *testing.T) {
	f := newFixture(t)
	other := fixtureIn(t, installed)
	user := "system:serviceaccount:" + f.namespace + ":controller"
	f.bind(user, "markdown-view-controller")
	address := freeAddress(t)
	f.runControllerAs(user, "controller-of-two", "--health-addr="+address, "--namespaces="+f.namespace+","+other.namespace)
	f.eventually("the controller to live, and not to be ready", func() string {
		return cmp.Or(answers(address, "/healthz", http.StatusOK), answers(address, "/readyz", http.StatusInternalServerError))
	})
	f.eventually("the refused lists to be logged", func() string {
		log, err := os.ReadFile(f.component("controller-of-two").LogFile())
		if err != nil {
			return err.Error()
		}
		if !strings.Contains(string(log), "is forbidden") || !strings.Contains(string(log), other.namespace) {
			return "they aren't"
		}
		return answers(address, "/readyz", http.StatusInternalServerError)
	})
	other.bind(user, "markdown-view-controller")
	f.eventually("the controller to be ready", func() string { return answers(address, "/readyz", http.StatusOK) })
}

// answers says what else than a status is answered at a path; empty if that is.
func answers(address, path string, want int) string {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != want {
		return path + " answers " + response.Status
	}
	return ""
}

// rights are what the controller's roles give, one verb and resource each.
func (f *fixture) rights() []string {
	f.Helper()
	var clusterRole rbacv1.ClusterRole
	var role rbacv1.Role
	for name, object := range map[client.ObjectKey]client.Object{
		{Name: "markdown-view-controller"}:                                             &clusterRole,
		{Name: "markdown-view-controller-leader-election", Namespace: systemNamespace}: &role,
	} {
		if err := admin.Get(f.Context(), name, object); err != nil {
			f.Fatal(err)
		}
	}
	var list []string
	for _, rule := range append(clusterRole.Rules, role.Rules...) {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					name, subresource, found := strings.Cut(resource, "/")
					if group != "" {
						name += "." + group
					}
					if found {
						name += "/" + subresource
					}
					list = append(list, verb+" "+name)
				}
			}
		}
	}
	return list
}

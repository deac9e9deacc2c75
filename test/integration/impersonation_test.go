package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/product/producttest"
)

// newImpersonationCluster starts a cluster with config/impersonation, and a controller whose
// views are written as the account docs-deployer unless they name another one. It has no
// rights of its own to write their objects.
func newImpersonationCluster(t *testing.T) *fixture {
	t.Helper()
	f := newCluster(t)
	for _, object := range f.build("resources: [ROOT/config/default]\ncomponents: [ROOT/config/impersonation]\n") {
		if object.GetKind() == "ClusterRole" || object.GetKind() == "ClusterRoleBinding" {
			if object.GetName() == "markdown-view-controller" && object.GetKind() == "ClusterRole" {
				withoutWrites(t, object)
			}
			f.must(f.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership))
		}
	}
	f.controller("controller", "--default-service-account=docs-deployer")
	return f
}

// withoutWrites takes the rights to write what views expand to from a role.
func withoutWrites(t *testing.T, role *unstructured.Unstructured) {
	t.Helper()
	rules, _, err := unstructured.NestedSlice(role.Object, "rules")
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, entry := range rules {
		rule := entry.(map[string]any)
		resource := rule["resources"].([]any)[0]
		if resource != "configmaps" && resource != "services" && resource != "deployments" {
			continue
		}
		rule["verbs"] = slices.DeleteFunc(rule["verbs"].([]any), func(verb any) bool {
			return verb == "create" || verb == "patch" || verb == "delete"
		})
		taken++
	}
	if err := unstructured.SetNestedSlice(role.Object, rules, "rules"); err != nil || taken != 3 {
		t.Fatalf("%d rules, %v", taken, err)
	}
}

// TestViewsAreWrittenAsServiceAccounts has two tenants, or one, in namespaces of their own.
func TestViewsAreWrittenAsServiceAccounts(t *testing.T) {
	f := newImpersonationCluster(t)
	for name, test := range map[string]func(f, other *fixture){
		"every write is the account's":             everyWriteIsTheAccounts,
		"a narrow account harms nobody else":       aNarrowAccountHarmsNobodyElse,
		"rights are taken and given back":          rightsAreTakenAndGivenBack,
		"an account is deleted and made again":     anAccountIsDeletedAndMadeAgain,
		"a view moves from one account to another": aViewMovesFromOneAccountToAnother,
		"drift is left for an account":             driftIsLeftForAnAccount,
		"writes that hang delay nobody else":       accountsThatHangDelayNobodyElse,
	} {
		t.Run(name, func(t *testing.T) {
			test(fixtureIn(t, f.Product), fixtureIn(t, f.Product))
		})
	}
}

// account makes a service account with a role of the test's namespace.
func (f *fixture) account(name string, rules ...rbacv1.PolicyRule) {
	f.Helper()
	f.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace}})
	if len(rules) > 0 {
		f.must(f.Cluster.Grant(f.Context(), f.userOf(name), f.namespace, rules...))
	}
}

func (f *fixture) userOf(account string) string {
	return "system:serviceaccount:" + f.namespace + ":" + account
}

// deployer binds the default account to the role that the component has for it.
func (f *fixture) deployer() *rbacv1.RoleBinding {
	f.Helper()
	const account = "docs-deployer"
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: f.namespace},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: f.namespace}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "markdown-view-deployer"},
	}
	f.create(binding)
	f.eventually("the rights of "+account, func() string {
		if !f.may(f.userOf(account), []string{"system:serviceaccounts", "system:serviceaccounts:" + f.namespace, "system:authenticated"}, "patch services") {
			return "they aren't in force"
		}
		return ""
	})
	return binding
}

// asked lists the requests by, or as somebody by, the controller since a mark: those in the
// test's namespace, and those for no namespace that ask for the rights of its accounts.
func (f *fixture) asked(since cluster.Mark) []cluster.Request {
	f.Helper()
	list, err := f.Cluster.Requests(f.Context(), since, cluster.Not(cluster.Events))
	f.must(err)
	var asked []cluster.Request
	for _, r := range list {
		mine := strings.HasPrefix(r.User, "system:serviceaccount:"+f.namespace+":") && r.Impersonator == controllerUser
		if r.User == controllerUser && r.Namespace == f.namespace || mine {
			asked = append(asked, r)
		}
	}
	return asked
}

func (f *fixture) atMostAsked(budget int, since cluster.Mark) {
	f.Helper()
	list := f.asked(since)
	f.Logf("%d requests, at most %d are allowed", len(list), budget)
	if len(list) > budget {
		f.Errorf("the controller made %d requests, may make at most %d:\n%s", len(list), budget, lines(list))
	}
}

// denied waits until a view says what its account lacks.
func (f *fixture) denied(name string, words ...string) {
	f.Helper()
	f.status(name, metav1.ConditionFalse, v1.AccessDeniedReason, words...)
}

// everyWriteIsTheAccounts goes through the life of a view, within the budgets of one without
// an account.
func everyWriteIsTheAccounts(f, _ *fixture) {
	f.account("docs-deployer")
	f.deployer()
	f.Fence(func(of *producttest.Fixture) {
		fence := &fixture{of, of.Namespace}
		fence.account("docs-deployer")
		fence.deployer()
	})
	f.create(f.view("first")) // the kinds of reviews are looked up once
	f.settled("first")

	begin := f.mark()
	view := f.view("docs")
	view.Spec.Markdowns["next.md"] = strings.Repeat("# Next\n", 90_000)
	view.Spec.Markdowns["start.md"] = strings.Repeat("# Start\n", 90_000)
	f.create(view)
	f.ready("docs")
	f.atMostAsked(8, begin) // with a second ConfigMap, and pages that are too large to wait for their turn: they are read again

	since := f.mark()
	f.create(f.view("small"))
	f.ready("small")
	f.atMostAsked(6, since)

	f.settled("small")
	since = f.mark()
	update(f, &appsv1.Deployment{}, "viewer-small", func(d *appsv1.Deployment) { *d.Spec.Template.Spec.TerminationGracePeriodSeconds = 60 })
	f.eventually("the repair", func() string {
		deployment := &appsv1.Deployment{}
		f.get(deployment, "viewer-small")
		return differs(fmt.Sprint(*deployment.Spec.Template.Spec.TerminationGracePeriodSeconds), "6")
	})
	f.caughtUp()
	f.ready("small")
	f.atMostAsked(3, since)

	f.settled("small")
	since = f.mark()
	f.requestReconciliation("small", "now")
	f.atMostAsked(1, since) // the status

	f.settled("first", "docs", "small")
	since = f.mark()
	f.must(f.component("controller").Restart(f.Context()))
	f.create(f.view("after-restart"))
	f.ready("after-restart")
	f.atMostAsked(7, since) // one reads the large pages of docs

	update(f, &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["foreign.md"] = "x" })
	f.eventually("the key to go", func() string { return differs(f.configMap().Data["foreign.md"], "") })
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Next\n" })
	f.eventually("the second ConfigMap to be pruned", func() string {
		if f.get(&corev1.ConfigMap{}, "markdowns-docs.1") {
			return "it is there"
		}
		return ""
	})
	f.create(f.view("taken"))
	taken := f.ready("taken")
	update(f, &v1.MarkdownView{}, "taken", func(v *v1.MarkdownView) { v.Spec.Suspend = true })
	f.caughtUp()
	update(f, &appsv1.Deployment{}, "viewer-taken", func(d *appsv1.Deployment) { d.OwnerReferences = nil })
	update(f, &v1.MarkdownView{}, "taken", func(v *v1.MarkdownView) { v.Spec.Suspend = false })
	f.eventually("the Deployment to be the view's", func() string {
		deployment := &appsv1.Deployment{}
		f.get(deployment, "viewer-taken")
		if !metav1.IsControlledBy(deployment, taken) {
			return "it isn't"
		}
		return ""
	})
	seen := map[string]bool{}
	for _, r := range f.asked(begin) {
		ours := r.Resource == "configmaps" || r.Resource == "deployments.apps" || r.Resource == "services"
		if cluster.Writes(r) && ours && r.User == controllerUser {
			f.Errorf("the controller wrote it itself: %s", r)
		}
		if r.User != controllerUser && ours {
			seen[r.Verb+" "+r.Resource] = true
		}
	}
	for _, right := range []string{"patch configmaps", "delete configmaps", "patch deployments.apps", "patch services"} {
		if !seen[right] {
			f.Errorf("the account was never seen to %s", right)
		}
	}
}

// aNarrowAccountHarmsNobodyElse: the account may not write Services, so nothing is written.
func aNarrowAccountHarmsNobodyElse(f, other *fixture) {
	other.account("docs-deployer")
	other.deployer()
	other.create(other.view("docs"))
	other.ready("docs")

	f.account("narrow", rbacv1.PolicyRule{APIGroups: []string{"", "apps"}, Resources: []string{"configmaps", "deployments"}, Verbs: []string{"create", "patch", "delete"}})
	since := f.mark()
	view := f.view("docs")
	view.Spec.ServiceAccountName = "narrow"
	f.create(view)
	f.denied("docs", f.userOf("narrow"), "create or patch Service viewer-docs", "nothing is written")
	for name, object := range map[string]client.Object{"markdowns-docs": &corev1.ConfigMap{}, "viewer-docs": &appsv1.Deployment{}} {
		if f.get(object, name) {
			f.Errorf("%s is there", name)
		}
	}
	for _, r := range f.asked(since) {
		if cluster.Writes(r) && r.Namespace == f.namespace && r.User != controllerUser {
			f.Errorf("it was tried: %s", r)
		}
	}

	update(other, &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "theirs" })
	other.eventually("the other's repair", func() string {
		if other.deployment().Spec.Template.Spec.Containers[0].Image == "theirs" {
			return "it isn't done"
		}
		return ""
	})
	other.ready("docs")
}

// rightsAreTakenAndGivenBack while the controller runs, without a word to it.
func rightsAreTakenAndGivenBack(f, _ *fixture) {
	f.account("docs-deployer")
	binding := f.deployer()
	f.create(f.view("docs"))
	f.ready("docs")
	before := f.configMap().ResourceVersion

	f.must(f.Client.Delete(f.Context(), binding.DeepCopy()))
	f.eventually("the rights to be gone", func() string {
		if f.may(f.userOf("docs-deployer"), []string{"system:authenticated"}, "patch services") {
			return "they are in force"
		}
		return ""
	})
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
		v.Spec.Markdowns["next.md"] = "# Changed\n"
		v.Spec.Interval = &metav1.Duration{Duration: 2e9}
	})
	f.denied("docs", f.userOf("docs-deployer"), "patch ConfigMap markdowns-docs", "patch Deployment viewer-docs")
	if f.configMap().ResourceVersion != before {
		f.Error("the pages were written")
	}
	f.must(f.Client.Delete(f.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", Namespace: f.namespace}}))

	f.deployer()
	f.ready("docs")
	if got := f.configMap().Data["next.md"]; got != "# Changed\n" {
		f.Errorf("the page is %q", got)
	}
	if !f.get(&corev1.Service{}, "viewer-docs") {
		f.Error("the Service isn't back")
	}
}

// anAccountIsDeletedAndMadeAgain: its rights stay, as bindings name accounts that aren't there.
func anAccountIsDeletedAndMadeAgain(f, _ *fixture) {
	f.deployer()
	f.create(f.view("docs"))
	f.denied("docs", "ServiceAccount docs-deployer doesn't exist", "default of the controller")

	f.account("docs-deployer")
	f.ready("docs")
	f.must(f.Client.Delete(f.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "docs-deployer", Namespace: f.namespace}}))
	f.denied("docs", "ServiceAccount docs-deployer doesn't exist")
	since := f.mark()
	f.must(f.Client.Delete(f.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", Namespace: f.namespace}}))
	f.create(f.view("other"))
	f.denied("other", "ServiceAccount docs-deployer doesn't exist")
	for _, r := range f.asked(since) {
		if r.User != controllerUser {
			f.Errorf("somebody who isn't there was acted as: %s", r)
		}
	}
	f.account("docs-deployer")
	f.ready("docs")
	f.ready("other")
	if !f.get(&corev1.Service{}, "viewer-docs") {
		f.Error("the Service isn't back")
	}
}

// aViewMovesFromOneAccountToAnother and keeps its objects; one that lacks a right for a
// single write is told so by the API server.
func aViewMovesFromOneAccountToAnother(f, _ *fixture) {
	f.account("docs-deployer")
	f.deployer()
	f.account("nobody")
	f.create(f.view("docs"))
	f.ready("docs")
	deployment := f.deployment()
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.ServiceAccountName = "nobody" })
	f.ready("docs")
	f.must(f.Client.Delete(f.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", Namespace: f.namespace}}))
	f.denied("docs", f.userOf("nobody"), "cannot patch resource", "viewer-docs")
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.ServiceAccountName = "" })
	f.ready("docs")
	if after := f.deployment(); after.UID != deployment.UID || after.Generation != deployment.Generation {
		f.Errorf("the Deployment was changed: generation %d, was %d", after.Generation, deployment.Generation)
	}
}

// TestServiceAccountsNeedTheirComponent: without it a view that names one says what to
// install.
func TestServiceAccountsNeedTheirComponent(t *testing.T) {
	f := newFixture(t)
	f.account("docs-deployer")
	view := f.view("docs")
	view.Spec.ServiceAccountName = "docs-deployer"
	f.create(view)
	f.denied("docs", "install config/impersonation")
	if f.get(&corev1.ConfigMap{}, "markdowns-docs") {
		t.Error("the pages were written")
	}
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.ServiceAccountName = "" })
	f.ready("docs")
}

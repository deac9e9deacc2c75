package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// cluster answers what an account may do, and counts.
type cluster struct {
	status  authorizationv1.SubjectRulesReviewStatus
	refusal error
	// may are rights that are only known when they are asked for one by one.
	may   map[string]bool
	asked []string
	users []string
}

// accounts of a cluster with the account docs/deployer.
func (c *cluster) accounts(accounts ...string) *Accounts {
	objects := []client.Object{}
	for _, name := range append(accounts, "deployer") {
		objects = append(objects, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: name}})
	}
	store := fake.NewClientBuilder().WithObjects(objects...).Build()
	return &Accounts{Metadata: store, NewClient: func(user string) (client.Client, error) {
		c.users = append(c.users, user)
		return interceptor.NewClient(store, interceptor.Funcs{Create: c.create}), nil
	}}
}

func (c *cluster) create(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
	switch review := object.(type) {
	case *authorizationv1.SelfSubjectRulesReview:
		c.asked = append(c.asked, "all in "+review.Spec.Namespace)
		review.Status = c.status
	case *authorizationv1.SelfSubjectAccessReview:
		a := review.Spec.ResourceAttributes
		c.asked = append(c.asked, a.Verb+" "+a.Resource+" "+a.Name)
		review.Status.Allowed = c.may[a.Verb+" "+a.Resource]
	}
	return c.refusal
}

func viewOf(name, account string) *v1.MarkdownView {
	return &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: name}, Spec: v1.MarkdownViewSpec{ServiceAccountName: account}}
}

func needs() []Need {
	return []Need{
		{Verb: "create", Resource: "configmaps", Name: "markdowns-a", Object: "ConfigMap markdowns-a"},
		{Verb: "patch", Resource: "configmaps", Name: "markdowns-a", Object: "ConfigMap markdowns-a"},
		{Verb: "patch", Group: "apps", Resource: "deployments", Name: "viewer-a", Object: "Deployment viewer-a"},
	}
}

func rule(verb, group, resource string, names ...string) authorizationv1.ResourceRule {
	return authorizationv1.ResourceRule{Verbs: strings.Split(verb, ","), APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names}
}

func TestRightsAreAskedForBeforeTheFirstWrite(t *testing.T) {
	const may = "system:serviceaccount:docs:deployer may not "
	all := []string{"all in docs"}
	for name, test := range map[string]struct {
		cluster cluster
		needs   []Need
		want    string // "" if it may be written
		asked   []string
	}{
		"all by wildcards": {
			cluster: cluster{status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{rule("*", "*", "*")}}},
			needs:   needs(), asked: all,
		},
		"each by a rule of its own, some by name": {
			cluster: cluster{status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{
				rule("create,patch", "", "configmaps"), rule("get", "apps", "deployments"), rule("patch", "apps", "deployments", "other", "viewer-a"),
			}}},
			needs: needs(), asked: all,
		},
		"another object's name and another group": {
			cluster: cluster{status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{
				rule("create,patch", "", "configmaps", "other"), rule("patch", "", "deployments"),
			}}},
			needs: needs(), asked: all,
			want: may + "create or patch ConfigMap markdowns-a, patch Deployment viewer-a, so that nothing is written: ",
		},
		"nothing of what is known, but another authorizer allows some": {
			cluster: cluster{
				status: authorizationv1.SubjectRulesReviewStatus{Incomplete: true, ResourceRules: []authorizationv1.ResourceRule{rule("create", "", "configmaps")}},
				may:    map[string]bool{"patch configmaps": true},
			},
			needs: needs(), want: may + "patch Deployment viewer-a, so that",
			asked: []string{"all in docs", "patch configmaps markdowns-a", "patch deployments viewer-a"},
		},
		"one object, whose write tells": {needs: needs()[:2]},
		"nothing":                       {},
		"what may not be asked": {
			cluster: cluster{refusal: forbidden("selfsubjectrulesreviews", `User "system:serviceaccount:docs:deployer" cannot create resource "selfsubjectrulesreviews"`)},
			needs:   needs(), asked: all,
		},
		"somebody who may not be impersonated": {
			cluster: cluster{refusal: forbidden("serviceaccounts", `User "controller" cannot impersonate resource "serviceaccounts"`)},
			needs:   needs(), asked: all, want: "install config/impersonation",
		},
		"an API server that doesn't answer": {
			cluster: cluster{refusal: errors.New("connection refused")},
			needs:   needs(), asked: all, want: "connection refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			writer, err := test.cluster.accounts().Writer(t.Context(), viewOf("a", "deployer"), test.needs)
			if test.want == "" && (err != nil || writer == nil) {
				t.Errorf("%v, %v", writer, err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if diff := cmp.Diff(test.asked, test.cluster.asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func forbidden(resource, message string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "any", errors.New(message))
}

// TestRefusalsAreExplained tells the account's rights from what forbids, too.
func TestRefusalsAreExplained(t *testing.T) {
	denied := forbidden("services", `User "system:serviceaccount:docs:deployer" cannot patch resource "services" in API group "" in the namespace "docs"`)
	for name, test := range map[string]struct {
		err    error
		reason string // "" for an error that stays what it is
	}{
		"nothing":                           {},
		"the account lacks a right":         {fmt.Errorf("apply Service viewer-a: %w", denied), v1.AccessDeniedReason},
		"the controller may not act as it":  {forbidden("serviceaccounts", `User "controller" cannot impersonate resource "serviceaccounts"`), v1.AccessDeniedReason},
		"a quota":                           {forbidden("configmaps", "exceeded quota: pages"), ""},
		"a policy that quotes a right":      {forbidden("configmaps", `ValidatingAdmissionPolicy denied request: User "else" cannot do this`), ""},
		"another error with the same words": {errors.New(denied.Error()), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&cluster{}).accounts().Explain(viewOf("a", "deployer"), test.err)
			known, ok := errors.AsType[*outcome.Error](err)
			if ok != (test.reason != "") || ok && (known.Reason != test.reason || known.State != outcome.Retrying) {
				t.Errorf("got %v", err)
			}
			if !ok && !errors.Is(err, test.err) {
				t.Errorf("got %v, want %v", err, test.err)
			}
		})
	}
	if err := (&cluster{}).accounts().Explain(viewOf("a", ""), denied); !errors.Is(err, denied) {
		t.Errorf("without an account: %v", err)
	}
}

func TestAnAccountHasToExist(t *testing.T) {
	for name, test := range map[string]struct{ named, standard, want string }{
		"none is named":                {},
		"it is there":                  {named: "deployer"},
		"it isn't":                     {named: "gone", want: "ServiceAccount gone doesn't exist, so that nothing is written: create it, or name another one by spec.serviceAccountName"},
		"the default is there":         {standard: "deployer"},
		"the default isn't":            {standard: "gone", want: "the default of the controller"},
		"the default isn't, but named": {named: "deployer", standard: "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			accounts := (&cluster{}).accounts()
			accounts.Default = test.standard
			err := accounts.Check(t.Context(), viewOf("a", test.named))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestClientsAreBoundedAndReleased has more accounts than there may be clients.
func TestClientsAreBoundedAndReleased(t *testing.T) {
	c := &cluster{}
	var names []string
	for i := range 3 * maxClients {
		names = append(names, fmt.Sprint("account-", i))
	}
	accounts := c.accounts(names...)
	write := func(view *v1.MarkdownView) {
		t.Helper()
		if err := accounts.Check(t.Context(), view); err != nil {
			t.Fatal(err)
		}
		if _, err := accounts.Writer(t.Context(), view, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range names {
		write(viewOf(fmt.Sprint("view-", i), name))
		write(viewOf("first", names[0])) // is used all the time
		if len(accounts.clients) > maxClients {
			t.Fatalf("there are %d clients", len(accounts.clients))
		}
	}
	if made := len(c.users); made != len(names) {
		t.Errorf("%d clients were made, not one for each of %d accounts", made, len(names))
	}

	last := len(names) - 1
	shared := viewOf("shared", names[last])
	write(shared)
	accounts.Release(types.NamespacedName{Namespace: "docs", Name: fmt.Sprint("view-", last)})
	if accounts.clients[types.NamespacedName{Namespace: "docs", Name: names[last]}] == nil {
		t.Error("a client that another view uses was released")
	}
	shared.Spec.ServiceAccountName = "deployer"
	write(shared)
	if accounts.clients[types.NamespacedName{Namespace: "docs", Name: names[last]}] != nil {
		t.Error("the client of an account that no view has any more is there")
	}
	for i := range names {
		accounts.Release(types.NamespacedName{Namespace: "docs", Name: fmt.Sprint("view-", i)})
	}
	for _, view := range []*v1.MarkdownView{shared, viewOf("first", "")} {
		view.Spec.ServiceAccountName = ""
		if err := accounts.Check(t.Context(), view); err != nil {
			t.Fatal(err)
		}
	}
	if len(accounts.clients) > 0 || len(accounts.byView) > 0 {
		t.Errorf("%d clients and %d views are left", len(accounts.clients), len(accounts.byView))
	}
}

// TestAnAccountThatIsGoneIsReleased: there is nobody to act as.
func TestAnAccountThatIsGoneIsReleased(t *testing.T) {
	accounts := (&cluster{}).accounts("gone-soon")
	view := viewOf("a", "gone-soon")
	if _, err := accounts.Writer(t.Context(), view, nil); err != nil {
		t.Fatal(err)
	}
	store := accounts.Metadata.(client.Client)
	if err := store.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "gone-soon"}}); err != nil {
		t.Fatal(err)
	}
	if err := accounts.Check(t.Context(), view); err == nil {
		t.Error("it is still there")
	}
	if len(accounts.clients) > 0 {
		t.Errorf("%d clients are left", len(accounts.clients))
	}
}

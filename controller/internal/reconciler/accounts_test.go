package reconciler

import (
	"context"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/account"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// withAccount has views written as the account docs/deployer, which may do what
// the rules say.
func (f *fixture) withAccount(rules ...authorizationv1.ResourceRule) *authorizationv1.SubjectRulesReviewStatus {
	f.Helper()
	rights := &authorizationv1.SubjectRulesReviewStatus{ResourceRules: rules}
	f.Must(f.Admin.Create(f.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "deployer"}}))
	f.Accounts = &account.Accounts{Default: "deployer", Metadata: f.Admin, NewClient: func(user string) (client.Client, error) {
		f.lines = append(f.lines, "made a client for "+user)
		return interceptor.NewClient(f.Cached.(client.WithWatch), interceptor.Funcs{
			Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				object.(*authorizationv1.SelfSubjectRulesReview).Status = *rights
				return nil
			},
		}), nil
	}}
	return rights
}

var everything = authorizationv1.ResourceRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}

// TestNothingIsHalfAppliedForLackOfARight: what was applied before is looked after as far
// as the account may.
func TestNothingIsHalfAppliedForLackOfARight(t *testing.T) {
	f := newFixture(t)
	rights := f.withAccount(everything)
	f.served("docs")
	rights.ResourceRules = []authorizationv1.ResourceRule{{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"*"}}}
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = "# Changed\n" })
	f.stopRollout("docs")
	view := &v1.MarkdownView{}
	_, err := f.tryReconcile("docs")
	if err == nil {
		t.Error("it isn't tried again with back-off")
	}
	f.Must(f.Admin.Get(t.Context(), client.ObjectKey{Namespace: "docs", Name: "docs"}, view))
	f.ready(view, metav1.ConditionFalse, v1.AccessDeniedReason, "system:serviceaccount:docs:deployer may not patch Deployment viewer-docs, so that nothing is written")
	for _, request := range f.Requests() {
		if !strings.Contains(request, "MarkdownView") && !strings.Contains(request, "status") {
			t.Errorf("it was written: %s", request)
		}
	}
	rights.ResourceRules = []authorizationv1.ResourceRule{everything}
	f.reconcile("docs")
	if got := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs").Data["start.md"]; got != "# Changed\n" {
		t.Errorf("the page is %q", got)
	}
}

// TestAViewWithoutItsAccountIsLeftAsItIs, and its health is reported all the same.
func TestAViewWithoutItsAccountIsLeftAsItIs(t *testing.T) {
	f := newFixture(t)
	f.withAccount(everything)
	f.served("docs")
	f.Must(f.Admin.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "deployer"}}))
	f.Must(f.Admin.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}))
	view := f.reconcile("docs")
	f.ready(view, metav1.ConditionFalse, v1.AccessDeniedReason, "ServiceAccount deployer doesn't exist")
	if message := view.Status.Conditions[0].Message; strings.Count(message, "doesn't exist") != 1 {
		t.Errorf("it is said more than once: %s", message)
	}
	if f.Admin.Get(t.Context(), client.ObjectKey{Namespace: "docs", Name: "viewer-docs"}, &corev1.Service{}) == nil {
		t.Error("the Service was restored by nobody")
	}
	f.Must(f.Admin.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "deployer"}}))
	f.ready(f.reconcile("docs"), metav1.ConditionTrue, v1.HealthyReason, "")
	f.Must(f.Admin.Get(t.Context(), client.ObjectKey{Namespace: "docs", Name: "viewer-docs"}, &corev1.Service{}))
}

// TestAViewThatIsLeftAloneHoldsNoClient: one is made again for the next write.
func TestAViewThatIsLeftAloneHoldsNoClient(t *testing.T) {
	for name, leave := range map[string]func(*fixture){
		"it is suspended": func(f *fixture) {
			f.update("docs", func(v *v1.MarkdownView) { v.Spec.Suspend = true })
			f.reconcile("docs")
			f.update("docs", func(v *v1.MarkdownView) { v.Spec.Suspend = false })
		},
		"it is deleted": func(f *fixture) {
			f.Must(f.Admin.Delete(t.Context(), &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "docs"}}))
			_, err := f.tryReconcile("docs")
			f.Must(err)
			f.view("docs")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.withAccount(everything)
			f.served("docs")
			f.reconcile("docs")
			if made := f.logged(); len(made) > 0 {
				t.Errorf("for a view that has a client: %v", made)
			}
			leave(f)
			f.reconcile("docs")
			if made := strings.Join(f.logged(), "\n"); strings.Count(made, "made a client for system:serviceaccount:docs:deployer") != 1 {
				t.Errorf("the client was kept: %s", made)
			}
		})
	}
}

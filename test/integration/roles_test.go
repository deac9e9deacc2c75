package integration

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// TestTheRolesAggregate binds users to Kubernetes' own roles in a namespace.
func TestTheRolesAggregate(t *testing.T) {
	const views = "markdownviews.view.zoetrope.github.io"
	read := []string{"get " + views, "list " + views, "watch " + views, "get " + views + "/status", "get " + views + "/scale"}
	write := []string{
		"create " + views, "update " + views, "patch " + views, "delete " + views, "deletecollection " + views,
		"update " + views + "/scale", "patch " + views + "/scale",
	}
	never := []string{"update " + views + "/status", "patch " + views + "/status", "update " + views + "/finalizers"}
	for role, test := range map[string]struct{ may, mayNot [][]string }{
		"view":  {may: [][]string{read}, mayNot: [][]string{write, never}},
		"edit":  {may: [][]string{read, write}, mayNot: [][]string{never}},
		"admin": {may: [][]string{read, write}, mayNot: [][]string{never}},
		"none":  {mayNot: [][]string{read, write, never}},
	} {
		t.Run(role, func(t *testing.T) {
			f := newFixture(t)
			user := role + "-of-" + f.namespace
			f.bind(user, role)
			for _, permissions := range test.may {
				for _, permission := range permissions {
					f.eventually(user+" to be allowed: "+permission, func() string {
						if !f.may(user, []string{"system:authenticated"}, permission) {
							return "it isn't"
						}
						return ""
					})
				}
			}
			for _, permissions := range test.mayNot {
				for _, permission := range permissions {
					if f.may(user, []string{"system:authenticated"}, permission) {
						t.Errorf("%s may %s", role, permission)
					}
				}
			}
		})
	}
}

func (f *fixture) bind(user, role string) {
	f.Helper()
	f.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "test", Namespace: f.namespace},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	})
}

// TestAnEditorWorksByKubectl does with the rights of edit what people do, and what
// they must not.
func TestAnEditorWorksByKubectl(t *testing.T) {
	f := newFixture(t)
	user := "editor-of-" + f.namespace
	f.bind(user, "edit")
	kubeconfig := f.kubeconfig(user, "system:authenticated")
	view := f.view("docs")
	view.SetGroupVersionKind(v1.GroupVersion.WithKind(v1.Kind))
	file := documents(t, []*v1.MarkdownView{view})
	f.eventually("the editor's rights", func() string {
		if out, err := f.kubectl(file, "--kubeconfig", kubeconfig, "apply", "-f", "-"); err != nil {
			return out
		}
		return ""
	})
	f.ready("docs")
	for _, args := range []string{
		"get mdview docs",
		"scale mdview docs --replicas=2",
		"annotate mdview docs reconcile.fluxcd.io/requestedAt=now",
	} {
		f.mustKubectl("", append([]string{"--kubeconfig", kubeconfig}, strings.Fields(args)...)...)
	}
	f.eventually("the annotation to be handled", func() string {
		view := &v1.MarkdownView{}
		f.get(view, "docs")
		return differs(view.Status.LastHandledReconcileAt, "now")
	})
	if got := *f.deployment().Spec.Replicas; got != 2 {
		t.Errorf("%d replicas, not 2", got)
	}
	out, err := f.kubectl("", "--kubeconfig", kubeconfig, "patch", "mdview", "docs", "--subresource=status", "--type=merge", "--patch", `{"status":{"replicas":7}}`)
	if err == nil || !strings.Contains(out, "forbidden") {
		t.Errorf("the editor wrote the status: %v, %s", err, out)
	}
}

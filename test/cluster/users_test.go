package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

func TestUserMayDoWhatItWasGranted(t *testing.T) {
	t.Parallel()
	ours, theirs := clustertest.Namespace(t, shared), clustertest.Namespace(t, shared)
	const name = "reader-of-maps"
	config, err := shared.User(name, "test:readers")
	if err != nil {
		t.Fatal(err)
	}
	user := clientFor(t, config).CoreV1()

	_, err = user.ConfigMaps(ours).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("listing before anything was granted: %v, want Forbidden", err)
	}
	err = shared.Grant(t.Context(), name, ours, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.ConfigMaps(ours).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("listing as granted: %v", err)
	}
	_, err = user.ConfigMaps(ours).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("creating, which wasn't granted: %v, want Forbidden", err)
	}
	_, err = user.ConfigMaps(theirs).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("listing in another namespace: %v, want Forbidden", err)
	}

	err = shared.Grant(t.Context(), name, "", rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"},
	}, rbacv1.PolicyRule{
		NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.ConfigMaps(theirs).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("listing in another namespace, as granted: %v", err)
	}
	if err := user.RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Error(); err != nil {
		t.Errorf("reading metrics, as granted: %v", err)
	}
}

func TestUserIsWhoItSays(t *testing.T) {
	t.Parallel()
	config, err := shared.User("somebody", "a-group", "another")
	if err != nil {
		t.Fatal(err)
	}
	self := whoAmI(t, config)
	if self.Username != "somebody" {
		t.Errorf("user: %q", self.Username)
	}
	want := map[string]bool{"a-group": true, "another": true, "system:authenticated": true}
	for _, group := range self.Groups {
		delete(want, group)
	}
	if len(want) > 0 {
		t.Errorf("groups: %v, missing %v", self.Groups, want)
	}
}

package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// newUser returns a client of a user, named after the test, that may do what
// it likes with ConfigMaps in a namespace.
func newUser(t *testing.T, namespace string) (name string, client kubernetes.Interface) {
	t.Helper()
	name = "user-of-" + t.Name()
	config, err := shared.User(name)
	if err != nil {
		t.Fatal(err)
	}
	config.UserAgent = "counted/" + t.Name()
	err = shared.Grant(t.Context(), name, namespace, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return name, clientFor(t, config)
}

func mark(t *testing.T) cluster.Mark {
	t.Helper()
	mark, err := shared.Mark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

func requests(t *testing.T, since cluster.Mark, filters ...cluster.Filter) []string {
	t.Helper()
	found, err := shared.Requests(t.Context(), since, filters...)
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(found))
	for i, request := range found {
		lines[i] = request.String()
	}
	return lines
}

func TestRequestsAreLoggedOnceAndInOrder(t *testing.T) {
	clustertest.Need(t, shared, cluster.RequestLog)
	t.Parallel()
	ctx, namespace := t.Context(), clustertest.Namespace(t, shared)
	name, client := newUser(t, namespace)
	maps := client.CoreV1().ConfigMaps(namespace)
	_, _ = maps.Get(ctx, "before", metav1.GetOptions{}) // before the mark: not counted

	since := mark(t)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}))
	must(maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"k":"v"}}`), metav1.PatchOptions{}))
	_, _ = maps.Get(ctx, "none", metav1.GetOptions{})                               // 404
	_, _ = client.CoreV1().Secrets(namespace).Get(ctx, "none", metav1.GetOptions{}) // 403
	_, _ = client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})          // 403
	must(maps.List(ctx, metav1.ListOptions{}))
	must(nil, maps.Delete(ctx, "a", metav1.DeleteOptions{}))

	who := fmt.Sprintf(" for %s (counted/%s)", name, t.Name())
	want := []string{
		"create configmaps/" + namespace + "/a: 201" + who,
		"patch configmaps/" + namespace + "/a: 200" + who,
		"get configmaps/" + namespace + "/none: 404" + who,
		"get secrets/" + namespace + "/none: 403" + who,
		"list deployments.apps: 403" + who,
		"list configmaps/" + namespace + ": 200" + who,
		"delete configmaps/" + namespace + "/a: 200" + who,
	}
	if diff := cmp.Diff(want, requests(t, since, cluster.By(name))); diff != "" {
		t.Errorf("by user (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, requests(t, since, cluster.ByAgent("counted/"+t.Name()))); diff != "" {
		t.Errorf("by user agent (-want +got):\n%s", diff)
	}
	got := requests(t, since, cluster.By(name), cluster.Writes, cluster.On("configmaps"), cluster.In(namespace))
	if diff := cmp.Diff([]string{want[0], want[1], want[6]}, got); diff != "" {
		t.Errorf("writes of ConfigMaps (-want +got):\n%s", diff)
	}
	got = requests(t, since, cluster.By(name), cluster.Not(cluster.In(namespace)))
	if diff := cmp.Diff([]string{want[4]}, got); diff != "" {
		t.Errorf("outside of the namespace (-want +got):\n%s", diff)
	}
	if got := requests(t, mark(t), cluster.By(name)); len(got) != 0 {
		t.Errorf("after another mark: %v", got)
	}
}

func TestAWatchCountsOnceWhenItBegins(t *testing.T) {
	clustertest.Need(t, shared, cluster.RequestLog)
	t.Parallel()
	namespace := clustertest.Namespace(t, shared)
	name, client := newUser(t, namespace)

	begin := mark(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch, err := client.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf("watch configmaps/%s: 200 for %s (counted/%s)", namespace, name, t.Name())}
	if diff := cmp.Diff(want, requests(t, begin, cluster.By(name))); diff != "" {
		t.Errorf("while it is open (-want +got):\n%s", diff)
	}

	end := mark(t)
	watch.Stop()
	cancel()
	for range watch.ResultChan() { // closed when the connection is
	}
	// The end is logged, some time: wait for it in the log itself.
	eventually(t, "the watch's end in the log", func(context.Context) (bool, error) {
		return auditLines(t, name, "ResponseComplete") == 1, nil
	})
	if got := requests(t, end, cluster.By(name)); len(got) != 0 {
		t.Errorf("its end was counted: %v", got)
	}
	if diff := cmp.Diff(want, requests(t, begin, cluster.By(name))); diff != "" {
		t.Errorf("after its end (-want +got):\n%s", diff)
	}
}

func TestNoRequestIsLost(t *testing.T) {
	clustertest.Need(t, shared, cluster.RequestLog)
	t.Parallel()
	const clients, each = 8, 100
	namespace := clustertest.Namespace(t, shared)
	name, client := newUser(t, namespace)
	since := mark(t)
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			for j := range each {
				_, _ = client.CoreV1().ConfigMaps(namespace).Get(t.Context(), fmt.Sprintf("map-%d-%d", i, j), metav1.GetOptions{})
			}
		})
	}
	group.Wait()
	found, err := shared.Requests(t.Context(), since, cluster.By(name))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, request := range found {
		names[request.Name] = true
	}
	if len(found) != clients*each || len(names) != clients*each {
		t.Errorf("%d requests for %d names, want %d", len(found), len(names), clients*each)
	}
	byVerb := cluster.CountBy(found, func(r cluster.Request) string { return r.Verb + " " + r.Resource })
	if diff := cmp.Diff([]string{"800 get configmaps"}, byVerb); diff != "" {
		t.Errorf("counted by verb (-want +got):\n%s", diff)
	}
}

func TestImpersonationIsSeen(t *testing.T) {
	clustertest.Need(t, shared, cluster.RequestLog)
	t.Parallel()
	since := mark(t)
	config := rest.CopyConfig(shared.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "impersonated"}
	whoAmI(t, config)
	found, err := shared.Requests(t.Context(), since, cluster.By("impersonated"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Impersonator != "admin" || found[0].Resource != "selfsubjectreviews.authentication.k8s.io" {
		t.Errorf("requests of the impersonated user: %+v", found)
	}
}

func whoAmI(t *testing.T, config *rest.Config) authenticationv1.UserInfo {
	t.Helper()
	review, err := clientFor(t, config).AuthenticationV1().SelfSubjectReviews().
		Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo
}

// auditLines counts the audit log's lines about a user's watches.
func auditLines(t *testing.T, user, stage string) int {
	t.Helper()
	count := 0
	for line := range strings.Lines(readFile(t, shared.Folder()+"/audit.log")) {
		if strings.Contains(line, `"`+user+`"`) && strings.Contains(line, `"`+stage+`"`) && strings.Contains(line, `"verb":"watch"`) {
			count++
		}
	}
	return count
}

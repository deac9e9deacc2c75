package cluster_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

func TestDeploymentRunsOnSimulatedNodes(t *testing.T) {
	clustertest.Need(t, shared, cluster.Controllers, cluster.SimulatedNodes)
	t.Parallel()
	namespace, client := clustertest.Namespace(t, shared), clientFor(t, shared.Config)
	wantAvailable(t, client, namespace, "web", 3)

	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 3 {
		t.Errorf("%d pods, want 3", len(pods.Items))
	}
	addresses := map[string]bool{}
	for _, pod := range pods.Items {
		addresses[pod.Status.PodIP] = true
		if pod.Status.Phase != corev1.PodRunning || pod.Spec.NodeName == "" {
			t.Errorf("pod %s is %s on node %q", pod.Name, pod.Status.Phase, pod.Spec.NodeName)
		}
	}
	if len(addresses) != 3 || addresses[""] {
		t.Errorf("addresses of the pods: %v, want three different ones", addresses)
	}
}

func TestChildrenOfADeletedOwnerAreCollected(t *testing.T) {
	clustertest.Need(t, shared, cluster.Controllers, cluster.SimulatedNodes)
	t.Parallel()
	namespace, client := clustertest.Namespace(t, shared), clientFor(t, shared.Config)
	owner := wantAvailable(t, client, namespace, "owner", 2)
	child, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "child",
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "Deployment", Name: owner.Name, UID: owner.UID,
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	if err := client.AppsV1().Deployments(namespace).Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment's pods, ReplicaSet and ConfigMap to go", func(ctx context.Context) (bool, error) {
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		sets, err := client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		maps, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + child.Name})
		if err != nil {
			return false, err
		}
		return len(pods.Items)+len(sets.Items)+len(maps.Items) == 0, nil
	})
}

func TestVersion(t *testing.T) {
	if err := shared.Supports(cluster.Controllers); err != nil || shared.Folder() == "" {
		t.Skip("somebody else's programs")
	}
	version, err := clientFor(t, shared.Config).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	// What a program is linked with says which version it is.
	if version.GitVersion != "v1.37.2" || version.Major != "1" || version.Minor != "37" {
		t.Errorf("the API server says it is %s (%s.%s)", version.GitVersion, version.Major, version.Minor)
	}
}

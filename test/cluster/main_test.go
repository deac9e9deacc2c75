package cluster_test

import (
	"context"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// shared is the cluster of the tests that do it no harm.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	if os.Getenv(ownerVariable) != "" {
		owner()
	}
	os.Exit(clustertest.Main(m, cluster.Options{Nodes: 2}, &shared))
}

func clientFor(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventually waits for what the cluster does by itself.
func eventually(t *testing.T, what string, done func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, done); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func newDeployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/none:1"}}},
			},
		},
	}
}

// wantAvailable makes a Deployment and waits until all its replicas serve.
func wantAvailable(t *testing.T, client kubernetes.Interface, namespace, name string, replicas int32) *appsv1.Deployment {
	t.Helper()
	deployments := client.AppsV1().Deployments(namespace)
	made, err := deployments.Create(t.Context(), newDeployment(name, replicas), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment to be Available", func(ctx context.Context) (bool, error) {
		got, err := deployments.Get(ctx, name, metav1.GetOptions{})
		return err == nil && got.Status.AvailableReplicas == replicas, err
	})
	return made
}

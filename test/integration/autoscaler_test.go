package integration

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// TestAnAutoscalerScalesAView has Kubernetes' own autoscaler scale a view whose pods
// seem to be busy, as the test's metrics server says.
func TestAnAutoscalerScalesAView(t *testing.T) {
	clustertest.Need(t, shared, cluster.Loopback, cluster.SimulatedNodes)
	f := newFixture(t)
	f.serveMetrics()
	f.create(f.view("docs"))
	f.ready("docs")
	f.autoscale(v1.GroupVersion.String(), v1.Kind, "docs")
	f.eventually("three replicas", func() string {
		hpa := &autoscalingv2.HorizontalPodAutoscaler{}
		f.get(hpa, "docs")
		view := &v1.MarkdownView{}
		f.get(view, "docs")
		if view.Spec.Replicas == nil || *view.Spec.Replicas != 3 {
			return fmt.Sprintf("the autoscaler says: %v", hpa.Status.Conditions)
		}
		return ""
	})
	view := f.ready("docs")
	if got := *f.deployment().Spec.Replicas; got != 3 || view.Status.Replicas != 3 {
		t.Errorf("the Deployment has %d replicas, the view's status says %d", got, view.Status.Replicas)
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	f.eventually("the autoscaler to see them", func() string {
		f.get(hpa, "docs")
		return differs(fmt.Sprint(hpa.Status.CurrentReplicas), "3")
	})
	for _, condition := range hpa.Status.Conditions {
		if condition.Type == autoscalingv2.AbleToScale && condition.Status != corev1.ConditionTrue {
			t.Errorf("the autoscaler isn't able to scale: %s: %s", condition.Reason, condition.Message)
		}
	}
}

// autoscale has an autoscaler scale an object to three replicas.
func (f *fixture) autoscale(apiVersion, kind, name string) {
	f.Helper()
	f.create(&autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: f.namespace},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: apiVersion, Kind: kind, Name: name},
			MaxReplicas:    3,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name:   corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(50))},
				},
			}},
		},
	})
}

func TestKubectlScalesAView(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	f.mustKubectl("", "scale", "mdview", "docs", "--replicas=2", "--current-replicas=1")
	f.ready("docs")
	f.eventually("two replicas", func() string {
		return f.scale("docs", 2, 2)
	})
	f.mustKubectl("", "scale", "mdview", "docs", "--replicas=0")
	f.ready("docs")
	f.eventually("none", func() string {
		return f.scale("docs", 0, 0)
	})
}

// scale looks at the view's scale subresource, and whether its selector finds the
// pods.
func (f *fixture) scale(name string, replicas, pods int) string {
	f.Helper()
	path := "/apis/" + v1.GroupVersion.String() + "/namespaces/" + f.namespace + "/markdownviews/" + name + "/scale"
	scale := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(f.mustKubectl("", "get", "--raw", path)), scale); err != nil {
		f.Fatal(err)
	}
	wanted, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	current, _, _ := unstructured.NestedInt64(scale.Object, "status", "replicas")
	text, _, _ := unstructured.NestedString(scale.Object, "status", "selector")
	selector, err := labels.Parse(text)
	if err != nil || selector.Empty() {
		f.Fatalf("the selector is %q: %v", text, err)
	}
	var list corev1.PodList
	if err := admin.List(f.Context(), &list, client.InNamespace(f.namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		f.Fatal(err)
	}
	if wanted != int64(replicas) || current != int64(replicas) || len(list.Items) != pods {
		return fmt.Sprintf("%d wanted, %d there, %d selected", wanted, current, len(list.Items))
	}
	return ""
}

const metricsGroup = "metrics.k8s.io"

// metricsAreServed is held while a test serves metrics.k8s.io, of which a cluster has one.
var metricsAreServed sync.Mutex

// serveMetrics serves metrics.k8s.io, by which every pod with our labels uses twice
// the CPU that it asked for. The API server finds the test by a Service that is just
// another name.
func (f *fixture) serveMetrics() {
	f.Helper()
	metricsAreServed.Lock()
	f.Cleanup(metricsAreServed.Unlock)
	certificate, ca, err := shared.ServingCertificate("metrics." + f.namespace + ".svc")
	if err != nil {
		f.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		f.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(f.answerMetrics), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	f.Cleanup(func() { _ = server.Close() })

	f.create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics", Namespace: f.namespace},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})
	api := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1beta1." + metricsGroup},
		"spec": map[string]any{
			"group": metricsGroup, "version": "v1beta1", "caBundle": base64.StdEncoding.EncodeToString(ca),
			"groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"service": map[string]any{"name": "metrics", "namespace": f.namespace, "port": int64(listener.Addr().(*net.TCPAddr).Port)},
		},
	}}
	f.create(api)
	f.Cleanup(func() { // namespaces can't be deleted while an API doesn't answer
		if err := admin.Delete(context.WithoutCancel(f.Context()), api); err != nil {
			f.Errorf("delete the APIService: %v", err)
		}
	})
}

// answerMetrics answers as the metrics server does.
func (f *fixture) answerMetrics(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch {
	case strings.HasSuffix(r.URL.Path, "/pods"):
		var pods corev1.PodList
		selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		if err == nil {
			err = admin.List(r.Context(), &pods, client.InNamespace(f.namespace), client.MatchingLabelsSelector{Selector: selector})
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer = podMetrics(pods.Items)
	case strings.HasSuffix(r.URL.Path, "/v1beta1"):
		answer = metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: metricsGroup + "/v1beta1",
			APIResources: []metav1.APIResource{{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}}},
		}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the caller sees that it is cut off
}

func podMetrics(pods []corev1.Pod) any {
	items := []any{}
	for i := range pods {
		pod := &pods[i]
		usage := pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
		usage.Add(usage)
		items = append(items, map[string]any{
			"metadata":  map[string]any{"name": pod.Name, "namespace": pod.Namespace, "labels": pod.Labels},
			"timestamp": time.Now().UTC().Add(time.Minute).Format(time.RFC3339), "window": "1s", // of a pod that has been busy since it got ready
			"containers": []any{map[string]any{"name": pod.Spec.Containers[0].Name, "usage": map[string]any{"cpu": usage.String()}}},
		})
	}
	return map[string]any{"apiVersion": metricsGroup + "/v1beta1", "kind": "PodMetricsList", "metadata": map[string]any{}, "items": items}
}

package cluster_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

func TestAPIServerCallsWebhooksOfTheTest(t *testing.T) {
	clustertest.Need(t, shared, cluster.Loopback)
	t.Parallel()
	namespace, client := clustertest.Namespace(t, shared), clientFor(t, shared.Config)
	certificate, caBundle, err := shared.ServingCertificate()
	if err != nil {
		t.Fatal(err)
	}
	webhook := httptest.NewUnstartedServer(http.HandlerFunc(refuse))
	webhook.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	webhook.StartTLS()
	defer webhook.Close()

	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration, err := configurations.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "refuse.example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &webhook.URL, CABundle: caBundle},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			SideEffects:             &none,
			FailurePolicy:           &fail,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := configurations.Delete(context.WithoutCancel(t.Context()), configuration.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()
	// The API server learns of a webhook some time after it was made.
	eventually(t, "the webhook to refuse", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
		if err == nil || strings.Contains(err.Error(), "refused by the test") {
			return err != nil, nil
		}
		return false, err
	})
}

// refuse is a validating webhook that likes nothing.
func refuse(w http.ResponseWriter, request *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "refused by the test"}}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review) // the API server notices what it doesn't get
}

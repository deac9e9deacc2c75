package integration

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// webhook answers what the API server asks it before Deployments of the test's
// namespace are written, within a second. It returns what takes it away again.
func (f *fixture) webhook(answer func(*http.Request, *admissionv1.AdmissionResponse)) (remove func()) {
	f.Helper()
	return f.webhookOn("deployments", 1, answer)
}

// webhookOn is one for another resource, and another timeout in seconds.
func (f *fixture) webhookOn(resource string, timeout int32, answer func(*http.Request, *admissionv1.AdmissionResponse)) (remove func()) {
	f.Helper()
	clustertest.Need(f, f.Cluster, cluster.Loopback)
	certificate, caBundle, err := f.Cluster.ServingCertificate()
	f.must(err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		answer(r, review.Response)
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review) // the API server notices what it doesn't get
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	f.Cleanup(func() {
		server.CloseClientConnections() // Close would wait for answers that never come
		server.Close()
	})

	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace + "-" + resource},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    resource + ".example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: caBundle},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.namespace}},
			SideEffects:             &none,
			FailurePolicy:           &fail,
			TimeoutSeconds:          &timeout,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"v1"}, Resources: []string{resource}},
			}},
		}},
	}
	f.create(configuration)
	remove = func() {
		if err := f.Client.Delete(context.WithoutCancel(f.Context()), configuration.DeepCopy()); err != nil {
			f.Error(err)
		}
	}
	return remove
}

func TestAWebhooksRefusalIsReportedAndHeals(t *testing.T) {
	f := newFixture(t)
	remove := f.webhook(func(_ *http.Request, response *admissionv1.AdmissionResponse) {
		response.Allowed = false
		response.Result = &metav1.Status{Message: "no viewers on Saturdays"}
	})
	f.inForce("refused", func(*appsv1.Deployment) bool { return false })
	f.create(f.view("docs"))
	f.status("docs", metav1.ConditionFalse, v1.ApplyFailedReason, "Deployment viewer-docs", "no viewers on Saturdays")
	remove()
	f.ready("docs")
}

func TestAWebhooksTimeoutIsReportedAndHeals(t *testing.T) {
	f, other := newFixture(t), fixtureIn(t, installed)
	answer := make(chan struct{})
	remove := f.webhook(func(r *http.Request, _ *admissionv1.AdmissionResponse) {
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	})
	defer close(answer)
	f.inForce("timed out", func(*appsv1.Deployment) bool { return false })
	f.create(f.view("docs"))
	f.status("docs", metav1.ConditionFalse, v1.ApplyFailedReason)
	other.create(other.view("docs"))
	other.ready("docs")
	remove()
	f.ready("docs")
}

// TestAWebhookThatChangesOurFieldsIsNotFought: what it makes of them isn't mistaken for
// drift either, and what it doesn't change is still repaired.
func TestAWebhookThatChangesOurFieldsIsNotFought(t *testing.T) {
	grace := v1.Patch{Target: &v1.PatchTarget{Kind: "Deployment"}, Patch: "spec: {template: {spec: {terminationGracePeriodSeconds: 7}}}"}
	for name, patches := range map[string][]v1.Patch{"one that is generated": nil, "one that a patch sets": {grace}} {
		t.Run(name, func(t *testing.T) { isNotFought(newFixture(t), patches) })
	}
}

func isNotFought(f *fixture, patches []v1.Patch) {
	f.Helper()
	defer f.webhook(func(_ *http.Request, response *admissionv1.AdmissionResponse) {
		patchType := admissionv1.PatchTypeJSONPatch
		response.PatchType = &patchType
		response.Patch = []byte(`[{"op": "replace", "path": "/spec/template/spec/terminationGracePeriodSeconds", "value": 99}]`)
	})()
	f.inForce("changed", func(d *appsv1.Deployment) bool {
		return *d.Spec.Template.Spec.TerminationGracePeriodSeconds == 99
	})
	view := f.view("docs")
	view.Spec.Patches = patches
	f.create(view)
	f.settled("docs")
	settled := f.deployment()
	if got := *settled.Spec.Template.Spec.TerminationGracePeriodSeconds; got != 99 {
		f.Fatalf("the webhook has no effect: %d", got)
	}

	since := f.mark()
	for range 3 {
		f.requestReconciliation("docs", time.Now().String())
	}
	if after := f.deployment(); after.ResourceVersion != settled.ResourceVersion {
		f.Errorf("the Deployment was written again:\n%s", lines(f.requests(since)))
	}

	update(f, &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "hacked" })
	f.eventually("the image's repair", func() string {
		if f.deployment().Spec.Template.Spec.Containers[0].Image == "hacked" {
			return "it is the wrong one"
		}
		return ""
	})
	f.ready("docs")
	for _, event := range f.events("docs") {
		if strings.Contains(event, "terminationGracePeriodSeconds") {
			f.Errorf("the webhook's change is called drift: %s", event)
		}
	}
}

// inForce waits until the API server asks the webhook, which it begins to do some
// time after it was told to.
func (f *fixture) inForce(name string, changed func(*appsv1.Deployment) bool) {
	f.Helper()
	labels := map[string]string{"app": "probe"}
	f.eventually("the webhook", func() string {
		probe := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: f.namespace},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32),
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: corev1.PodSpec{
						TerminationGracePeriodSeconds: new(int64(1)),
						Containers:                    []corev1.Container{{Name: "probe", Image: "probe"}},
					},
				},
			},
		}
		if err := f.Client.Create(f.Context(), probe); err == nil && !changed(probe) {
			return "a Deployment was not " + name
		}
		return ""
	})
}

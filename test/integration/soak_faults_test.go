package integration

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/generator"
)

// soakModes are what webhooks do with what the controller writes.
var soakModes = []string{"reject", "hang", "relabel", "change"}

// soakWebhooks are webhooks that come and go. They are asked of the controller's writes
// only, so that the soak's own actions always happen.
type soakWebhooks struct {
	url      string
	caBundle []byte
}

func (w *soakWebhooks) start(f *fixture) {
	f.Helper()
	certificate, caBundle, err := f.Cluster.ServingCertificate()
	f.must(err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(soakAnswer))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	f.Cleanup(func() {
		server.CloseClientConnections() // Close would wait for answers that never come
		server.Close()
	})
	w.url, w.caBundle = server.URL, caBundle
}

// soakAnswer answers as the path says.
func soakAnswer(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	patchType := admissionv1.PatchTypeJSONPatch
	switch strings.TrimPrefix(r.URL.Path, "/") {
	case "reject":
		response.Allowed, response.Result = false, &metav1.Status{Message: "not today"}
	case "hang":
		_, _ = io.Copy(io.Discard, r.Body) // or it isn't noticed that nobody waits any more
		<-r.Context().Done()
		return
	case "relabel":
		response.PatchType = &patchType
		response.Patch = []byte(`[{"op": "add", "path": "/metadata/labels/app.kubernetes.io~1created-by", "value": "mallory"}]`)
	case "change":
		if review.Request.Kind.Kind == "Deployment" {
			response.PatchType = &patchType
			response.Patch = []byte(`[{"op": "replace", "path": "/spec/template/spec/terminationGracePeriodSeconds", "value": 99}]`)
		}
	}
	review.Request, review.Response = nil, response
	_ = json.NewEncoder(w).Encode(review) // the API server notices what it doesn't get
}

func (w *soakWebhooks) add(tenant *soakTenant, mode string) {
	tenant.Helper()
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	url := w.url + "/" + mode
	tenant.create(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "soak-" + tenant.namespace + "-" + mode},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    mode + ".example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: w.caBundle},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: tenant.namespace}},
			MatchConditions:         []admissionregistrationv1.MatchCondition{{Name: "controller", Expression: fmt.Sprintf("request.userInfo.username == %q", controllerUser)}},
			SideEffects:             &none,
			FailurePolicy:           &fail,
			TimeoutSeconds:          new(int32(2)),
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"", "apps"}, APIVersions: []string{"v1"}, Resources: []string{"configmaps", "deployments", "services"}},
			}},
		}},
	})
	tenant.hooks[mode] = true
}

func (*soakWebhooks) remove(tenant *soakTenant, mode string) {
	tenant.Helper()
	tenant.must(tenant.Client.Delete(context.WithoutCancel(tenant.Context()), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "soak-" + tenant.namespace + "-" + mode},
	}))
	delete(tenant.hooks, mode)
}

// stranger is an object of somebody else's.
type stranger struct {
	tenant *soakTenant
	object client.Object // as it was made
}

// stranger makes an object of a name that a view wants: its ConfigMap, Deployment or Service.
func (s *soak) stranger(tenant *soakTenant, kind int, view string) *stranger {
	s.Helper()
	object := foreignObjects(tenant.namespace)[[]string{"ConfigMap markdowns-docs", "Deployment viewer-docs", "Service viewer-docs"}[kind]]
	object.SetName(strings.TrimSuffix(object.GetName(), "docs") + view)
	return s.addStranger(tenant, object)
}

// strangersWithOurLabels makes objects that look like those of the tenant's first view, but
// have other names, or another owner.
func (s *soak) strangersWithOurLabels(tenant *soakTenant) {
	s.Helper()
	for _, object := range foreignObjects(tenant.namespace) {
		object.SetName("stranger")
		object.SetLabels(generator.Labels("docs-0"))
		s.addStranger(tenant, object)
	}
	owner := s.strangers[len(s.strangers)-1].object
	gvk, err := s.Client.GroupVersionKindFor(owner)
	s.must(err)
	shard := foreignObjects(tenant.namespace)["ConfigMap markdowns-docs"]
	shard.SetName("markdowns-docs-0.7")
	shard.SetLabels(generator.Labels("docs-0"))
	shard.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)})
	s.addStranger(tenant, shard)
}

func (s *soak) addStranger(tenant *soakTenant, object client.Object) *stranger {
	s.Helper()
	if deployment, ok := object.(*appsv1.Deployment); ok {
		deployment.Spec.Replicas = new(int32)
	}
	tenant.create(object)
	added := stranger{tenant, object}
	s.strangers = append(s.strangers, added)
	return &added
}

// touched says what has become of a stranger's object that nobody had reason to change, ""
// if it is as it was. The cluster's own controllers write the status of Deployments.
func (g stranger) touched() string {
	live := reflect.New(reflect.TypeOf(g.object).Elem()).Interface().(client.Object)
	if !g.tenant.get(live, g.object.GetName()) {
		return "it is gone"
	}
	_, ofDeployment := live.(*appsv1.Deployment)
	switch {
	case live.GetUID() != g.object.GetUID():
		return "it is another one"
	case !ofDeployment && live.GetResourceVersion() != g.object.GetResourceVersion(),
		live.GetGeneration() != g.object.GetGeneration(),
		!reflect.DeepEqual(live.GetOwnerReferences(), g.object.GetOwnerReferences()), !reflect.DeepEqual(live.GetLabels(), g.object.GetLabels()):
		return fmt.Sprintf("it was changed: %v, %v, %v", live.GetLabels(), live.GetOwnerReferences(), live.GetManagedFields())
	}
	return ""
}

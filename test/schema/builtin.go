package schema

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	crdinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
)

func init() {
	crdinstall.Install(legacyscheme.Scheme)
}

// strategies are the server's rules for the kinds that this project writes.
var strategies = map[schema.GroupVersionKind]rest.RESTCreateStrategy{
	appsv1.SchemeGroupVersion.WithKind("Deployment"):                        deployment.Strategy,
	corev1.SchemeGroupVersion.WithKind("ConfigMap"):                         configmap.Strategy,
	corev1.SchemeGroupVersion.WithKind("Namespace"):                         namespace.Strategy,
	corev1.SchemeGroupVersion.WithKind("Service"):                           service.Strategy,
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"):                    serviceaccount.Strategy,
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"):               networkpolicy.Strategy,
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"):             poddisruptionbudget.Strategy,
	rbacv1.SchemeGroupVersion.WithKind("ClusterRole"):                       clusterrole.Strategy,
	rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"):                clusterrolebinding.Strategy,
	rbacv1.SchemeGroupVersion.WithKind("Role"):                              role.Strategy,
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"):                       rolebinding.Strategy,
	apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"): customresourcedefinition.NewStrategy(legacyscheme.Scheme),
}

// create returns an object of Kubernetes' own kinds, in the server's internal
// form, as the server would store it.
func create(document []byte, manifest *unstructured.Unstructured) (runtime.Object, error) {
	kind := manifest.GroupVersionKind()
	strategy, ok := strategies[kind]
	if !ok {
		return nil, fmt.Errorf("no rules for kind %s of %s: add its strategy to the package schema", kind.Kind, kind.GroupVersion())
	}
	scheme := legacyscheme.Scheme
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	versioned, _, err := strict.Decode(document, nil, nil)
	if err != nil {
		return nil, err
	}
	scheme.Default(versioned)
	internal, err := scheme.ConvertToVersion(versioned, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return nil, fmt.Errorf("convert to the internal version: %w", err)
	}
	stored, ok := internal.(object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", internal)
	}
	return internal, beforeCreate(strategy, kind, stored)
}

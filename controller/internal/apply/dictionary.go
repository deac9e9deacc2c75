package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// The kinds of objects that are packed.
const (
	configMaps = iota
	deployments
	services
	kinds
)

func kindOf(object client.Object) int {
	switch object.(type) {
	case *corev1.ConfigMap:
		return configMaps
	case *appsv1.Deployment:
		return deployments
	}
	return services
}

// dictionaries have an object of each kind, encoded, as the API server has it of a view, and
// its apply configuration: how much is left of what is packed depends on how much is like it.
var dictionaries = sync.OnceValue(func() [kinds]*s2.Dict {
	view := &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: "default", UID: "00000000-0000-0000-0000-000000000000"},
		Spec:       v1.MarkdownViewSpec{Markdowns: map[string]string{"SUMMARY.md": "- [Start](start.md)\n", "start.md": ""}},
	}
	view.Default()
	output, err := generator.Generate(view, nil)
	if err != nil {
		panic(fmt.Sprintf("generate an object for the dictionary: %v", err)) // a test generates it
	}
	owner := ownerOf(view)
	deployment := &appsv1.Deployment{}
	example(output.Deployment.WithOwnerReferences(owner), deployment)
	setDefaults(deployment)
	service := &corev1.Service{Spec: corev1.ServiceSpec{
		ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"}, Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityNone,
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, IPFamilyPolicy: new(corev1.IPFamilyPolicySingleStack),
		InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyCluster),
	}}
	example(output.Service.WithOwnerReferences(owner), service)
	configMap := &corev1.ConfigMap{}
	example(output.ConfigMaps[0].WithOwnerReferences(owner), configMap)
	all := [kinds][]byte{deployments: encodedOf(output.Deployment), services: encodedOf(output.Service), configMaps: encodedOf(output.ConfigMaps[0])}
	for _, object := range []client.Object{deployment, service, configMap} {
		Compact(object)
		encoded, err := withoutStatus(object, new([]byte))
		if err != nil {
			panic(fmt.Sprintf("encode an object for the dictionary: %v", err))
		}
		kind := kindOf(object)
		all[kind] = append(all[kind], encoded...)
	}
	var dicts [kinds]*s2.Dict
	for kind, like := range all {
		dicts[kind] = s2.MakeDict(like, nil)
	}
	return dicts
})

// example gives an object what an apply configuration sets, and managed fields like those
// that the API server notes of it.
func example(configuration any, object client.Object) {
	raw := encodedOf(configuration)
	var fields map[string]any
	if err := errors.Join(json.Unmarshal(raw, object), json.Unmarshal(raw, &fields)); err != nil {
		panic(fmt.Sprintf("convert %T for the dictionary: %v", configuration, err))
	}
	version, _ := fields["apiVersion"].(string)
	delete(fields, "apiVersion")
	delete(fields, "kind")
	object.SetManagedFields([]metav1.ManagedFieldsEntry{
		{
			Manager: generator.FieldManager, Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: version, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fieldSet(fields)),
		},
		{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate,
			APIVersion: version, FieldsType: "FieldsV1", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{}`),
		},
	})
}

func encodedOf(configuration any) []byte {
	raw, err := json.Marshal(configuration)
	if err != nil {
		panic(fmt.Sprintf("encode %T for the dictionary: %v", configuration, err))
	}
	return raw
}

// fieldSet is about what managed fields say of these fields.
func fieldSet(value any) string {
	var members []string
	switch value := value.(type) {
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(value)) {
			members = append(members, fmt.Sprintf("%q:%s", "f:"+field, fieldSet(value[field])))
		}
	case []any:
		for _, entry := range value {
			fields, ok := entry.(map[string]any)
			if !ok {
				return "{}"
			}
			members = append(members, fmt.Sprintf("%q:%s", "k:"+keyOf(fields), `{".":{},`+fieldSet(entry)[1:]))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// keyOf is about how managed fields name an entry of a list.
func keyOf(entry map[string]any) string {
	for _, keys := range [][]string{{"containerPort", "protocol"}, {"port", "protocol"}, {"mountPath"}, {"uid"}, {"name"}} {
		key := map[string]any{}
		for _, field := range keys {
			if value, there := entry[field]; there {
				key[field] = value
			}
		}
		if len(key) == len(keys) {
			raw, _ := json.Marshal(key) // strings and numbers
			return string(raw)
		}
	}
	return "{}"
}

// setDefaults sets what the API server does.
func setDefaults(deployment *appsv1.Deployment) {
	deployment.Generation = 1
	spec := &deployment.Spec
	spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	if spec.Strategy.RollingUpdate != nil && spec.Strategy.RollingUpdate.MaxSurge == nil {
		spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromString("25%"))
	}
	spec.RevisionHistoryLimit, spec.ProgressDeadlineSeconds = new(int32(10)), new(int32(600))
	pod := &spec.Template.Spec
	pod.RestartPolicy, pod.DNSPolicy, pod.SchedulerName = corev1.RestartPolicyAlways, corev1.DNSClusterFirst, corev1.DefaultSchedulerName
	for i := range pod.Containers {
		container := &pod.Containers[i]
		container.TerminationMessagePath, container.ImagePullPolicy = corev1.TerminationMessagePathDefault, corev1.PullIfNotPresent
	}
	for i := range pod.Volumes {
		if pod.Volumes[i].ConfigMap != nil {
			pod.Volumes[i].ConfigMap.DefaultMode = new(corev1.ConfigMapVolumeSourceDefaultMode)
		}
	}
}

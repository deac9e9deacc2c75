package apply

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestWhatSaysNothingIsNotSent(t *testing.T) {
	deployment, service := reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[corev1.Service]()
	for title, test := range map[string]struct {
		kind         reflect.Type
		fields, want string
	}{
		"a zero that may be left out":         {deployment, "spec: {minReadySeconds: 0, paused: false, replicas: 1}", "spec: {replicas: 1}"},
		"a zero that is another than nothing": {deployment, "spec: {replicas: 0, revisionHistoryLimit: 0}", "spec: {replicas: 0, revisionHistoryLimit: 0}"},
		"what isn't zero":                     {deployment, "spec: {minReadySeconds: 1, paused: true}", "spec: {minReadySeconds: 1, paused: true}"},
		"in entries of lists": {
			deployment,
			"spec: {template: {spec: {containers: [{name: a, stdin: false, env: [{name: b, value: ''}]}], tolerations: [{key: '', operator: Exists}]}}}",
			"spec: {template: {spec: {containers: [{name: a, env: [{name: b}]}], tolerations: [{operator: Exists}]}}}",
		},
		"empty lists and maps": {deployment, "spec: {template: {spec: {nodeSelector: {}, tolerations: [], hostname: a}}}", "spec: {template: {spec: {hostname: a}}}"},
		"what only holds such": {deployment, "spec: {strategy: {type: ''}, replicas: 1}", "spec: {replicas: 1}"},
		"empty, which is another than nothing": {
			deployment, "spec: {template: {spec: {affinity: {}, volumes: [{name: a, emptyDir: {medium: ''}}]}}}",
			"spec: {template: {spec: {affinity: {}, volumes: [{name: a, emptyDir: {}}]}}}",
		},
		"entries of maps that say what they say":    {deployment, "metadata: {annotations: {a: ''}}", "metadata: {annotations: {a: ''}}"},
		"fields that client-go doesn't know":        {deployment, "spec: {future: {}, futures: 0, template: {spec: {other: []}}}", "spec: {future: {}, futures: 0, template: {spec: {other: []}}}"},
		"what is known as a whole":                  {service, "spec: {ports: [{port: 80, targetPort: 0, nodePort: 0, name: ''}]}", "spec: {ports: [{port: 80}]}"},
		"values of another type than the field has": {service, "spec: {ports: {a: 0}, type: [], clusterIP: {}}", "spec: {ports: {a: 0}}"},
	} {
		t.Run(title, func(t *testing.T) {
			if diff := cmp.Diff(fieldsFrom(t, test.want), withoutZeros(test.kind, fieldsFrom(t, test.fields))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func fieldsFrom(t *testing.T, text string) any {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return any(fields)
}

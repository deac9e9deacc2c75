package integration

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// TestBothDoorsGiveTheSameObjects holds what the function prints against what the
// controller's field manager owns in the cluster, owner references aside.
func TestBothDoorsGiveTheSameObjects(t *testing.T) {
	for name, change := range map[string]func(*v1.MarkdownView){
		"a flat book": func(*v1.MarkdownView) {},
		"a book with folders, configuration and an image": func(v *v1.MarkdownView) {
			v.Spec.Markdowns["章/第一.md"] = "# 第一\r\n\r\ntrailing  \n"
			v.Spec.Markdowns["SUMMARY.md"] += "- [第一](章/第一.md)\n"
			v.Spec.BookToml = "[book]\ntitle = \"Docs\"\n"
			v.Spec.ViewerImage = "registry.example.com/mdbook:1"
		},
		"a parked book": func(v *v1.MarkdownView) { v.Spec.Replicas = new(int32) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			view := f.view("docs")
			change(view)
			want := map[string]string{}
			for _, object := range render(t, view) {
				want[object.GetKind()+" "+object.GetName()] = encode(t, object.Object)
			}
			f.create(view)
			f.ready("docs")
			if diff := cmp.Diff(want, f.owned()); diff != "" {
				t.Errorf("the doors differ (-function +controller):\n%s", diff)
			}
		})
	}
}

// owned returns what the controller's field manager owns in the test's namespace.
func (f *fixture) owned() map[string]string {
	f.Helper()
	deployment, service, configMap := f.deployment(), &corev1.Service{}, f.configMap()
	f.get(service, "viewer-docs")
	owned := map[string]string{}
	add := func(kind, name string, configuration any, err error) {
		f.Helper()
		if err != nil {
			f.Fatal(err)
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
		if err != nil {
			f.Fatal(err)
		}
		delete(fields["metadata"].(map[string]any), "ownerReferences")
		owned[kind+" "+name] = encode(f.T, fields)
	}
	d, err := appsv1ac.ExtractDeployment(deployment, generator.FieldManager)
	add("Deployment", deployment.Name, d, err)
	s, err := corev1ac.ExtractService(service, generator.FieldManager)
	add("Service", service.Name, s, err)
	c, err := corev1ac.ExtractConfigMap(configMap, generator.FieldManager)
	add("ConfigMap", configMap.Name, c, err)
	return owned
}

func encode(t *testing.T, fields any) string {
	t.Helper()
	text, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

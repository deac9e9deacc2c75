package integration

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/product"
)

func TestFrontEndsGiveTheSameObjects(t *testing.T) {
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
			f.wantSameObjects(f.unstructured(view))
		})
	}
}

// TestFrontEndsGiveTheSameObjectsForTheExamples takes those whose pages are in the
// cluster; test/fluxe2e has those with a folder.
func TestFrontEndsGiveTheSameObjectsForTheExamples(t *testing.T) {
	for name, input := range map[string]func(*fixture) []*unstructured.Unstructured{
		"inline":   func(f *fixture) []*unstructured.Unstructured { return f.files("inline/markdownview.yaml") },
		"validate": func(f *fixture) []*unstructured.Unstructured { return f.files("validate/markdownview.yaml") },
		"kpt": func(f *fixture) []*unstructured.Unstructured {
			return f.files("kpt/markdownview.yaml", "kpt/pages.yaml")
		},
		"configmap": func(f *fixture) []*unstructured.Unstructured {
			return append(f.files("configmap/markdownview.yaml"), f.pages("faq-pages", "configmap/pages"))
		},
		"controller": func(f *fixture) []*unstructured.Unstructured {
			return f.built("controller")
		},
		"flux/beside-its-pages": func(f *fixture) []*unstructured.Unstructured {
			return f.built("flux/beside-its-pages/repository/docs")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.wantSameObjects(input(f)...)
		})
	}
}

// wantSameObjects holds what the function prints for a view, and for what it names, against
// what the controller's field manager owns of the view's objects in the cluster.
func (f *fixture) wantSameObjects(input ...*unstructured.Unstructured) {
	f.Helper()
	at := slices.IndexFunc(input, func(o *unstructured.Unstructured) bool { return o.GetKind() == v1.Kind })
	if at < 0 {
		f.Fatal("there is no view")
	}
	given := map[string]bool{}
	for _, object := range input {
		object.SetNamespace(f.namespace)
		given[object.GetKind()+" "+object.GetName()] = true
	}
	printed, err := f.Render(f.Context(), f.TempDir(), []byte(documents(f.T, input)))
	f.must(err)
	printed = slices.DeleteFunc(printed, func(o *unstructured.Unstructured) bool { return given[o.GetKind()+" "+o.GetName()] })
	want, err := product.Text(printed)
	f.must(err)
	if len(want) < 3 {
		f.Fatalf("the function prints %d objects", len(want))
	}

	for _, object := range input {
		f.create(object)
	}
	f.ready(input[at].GetName())
	owned, err := f.Owned(f.Context(), f.namespace, input[at].GetName())
	f.must(err)
	got, err := product.Text(owned)
	f.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("the front ends differ (-function +controller):\n%s", diff)
	}
}

// render expands a view by the function, as a program.
func (f *fixture) render(view *v1.MarkdownView) []*unstructured.Unstructured {
	f.Helper()
	objects, err := f.Render(f.Context(), f.TempDir(), []byte(documents(f.T, []*unstructured.Unstructured{f.unstructured(view)})))
	f.must(err)
	return objects
}

func (f *fixture) unstructured(view *v1.MarkdownView) *unstructured.Unstructured {
	f.Helper()
	view = view.DeepCopy()
	view.SetGroupVersionKind(v1.GroupVersion.WithKind(v1.Kind))
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(view)
	f.must(err)
	return &unstructured.Unstructured{Object: fields}
}

// files reads files of the examples.
func (f *fixture) files(names ...string) []*unstructured.Unstructured {
	f.Helper()
	var objects []*unstructured.Unstructured
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join("../../examples", filepath.FromSlash(name)))
		f.must(err)
		objects = append(objects, decodeAll(f.T, content)...)
	}
	return objects
}

// built builds a kustomization of the examples.
func (f *fixture) built(folder string) []*unstructured.Unstructured {
	f.Helper()
	return decodeAll(f.T, []byte(f.mustKubectl("", "kustomize", filepath.Join("../../examples", filepath.FromSlash(folder)))))
}

// pages makes a ConfigMap of a folder of the examples, as kustomize's generator does.
func (f *fixture) pages(name, folder string) *unstructured.Unstructured {
	f.Helper()
	folder = filepath.Join("../../examples", filepath.FromSlash(folder))
	entries, err := os.ReadDir(folder)
	f.must(err)
	pages := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string]string{},
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		f.must(err)
		pages.Data[entry.Name()] = string(content)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pages)
	f.must(err)
	return &unstructured.Unstructured{Object: fields}
}

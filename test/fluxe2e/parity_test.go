package fluxe2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/flux"
)

// TestASourceGivesWhatADirectoryGives commits folders, and holds what the controller
// makes of them as a source against what the function makes of them as a directory.
func TestASourceGivesWhatADirectoryGives(t *testing.T) {
	t.Parallel()
	books := cmp.Or(os.Getenv("E2E_BOOKS"), "../../../shared/books")
	for name, test := range map[string]struct{ folder, path string }{
		"the handbook among the examples": {"../../examples/folder/base", "pages"},
		"the project among the examples":  {"../../examples/project", "book"},
		"the handbook that Flux serves":   {"../../examples/flux/docs-repository/repository", "docs"},
		"the handbook that was rendered":  {"../../examples/flux/rendered/repository", "docs/pages"},
		"the Cluster API book":            {books, "cluster-api-book/src"},
		"mdBook's own guide":              {books, "mdbook-guide"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(test.folder); err != nil {
				t.Skipf("%v; E2E_BOOKS names the folder with cluster-api-book and mdbook-guide", err)
			}
			f := newFixture(t)
			repository, err := f.Git.Repository(t.Context(), f.namespace)
			f.must(err)
			f.must(os.CopyFS(filepath.Join(repository.Folder, test.path), os.DirFS(filepath.Join(test.folder, test.path))))
			revision, err := repository.Push(t.Context(), "Add the book")
			f.must(err)
			want := f.render(repository, test.path)

			f.gitRepository("book", repository)
			// Or Flux leaves out images.
			f.patch(&sourcev1.GitRepository{}, "book", `{"spec":{"ignore":"/.github/"}}`)
			f.sourceView("docs", "book", test.path)
			f.readyAt("docs", revision)
			if diff := gocmp.Diff(want, f.owned("docs")); diff != "" {
				t.Errorf("the doors differ (-function +controller):\n%s", diff)
			}
		})
	}
}

// render returns what the function prints for a view of a folder.
func (f *fixture) render(repository *flux.Repository, path string) map[string]string {
	f.Helper()
	view := &v1.MarkdownView{Spec: v1.MarkdownViewSpec{ContentFrom: []v1.ContentSource{{Directory: &v1.DirectorySource{Path: path}}}}}
	view.Name, view.Namespace = "docs", f.namespace
	view.SetGroupVersionKind(v1.GroupVersion.WithKind(v1.Kind))
	input, err := sigsyaml.Marshal(view)
	f.must(err)
	cmd := exec.CommandContext(f.Context(), f.product.Program("fn"), "-")
	cmd.Dir, cmd.Stdin = repository.Folder, bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		f.Fatalf("fn: %v\n%s", err, stderr.String())
	}
	objects := map[string]string{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); err != nil {
			return objects
		}
		objects[object.GetKind()+" "+object.GetName()] = f.encode(object.Object)
	}
}

// owned returns what the controller's field manager owns of a view's objects, owner
// references aside.
func (f *fixture) owned(view string) map[string]string {
	f.Helper()
	objects := map[string]string{}
	add := func(kind, name string, configuration any, err error) {
		f.Helper()
		f.must(err)
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
		f.must(err)
		delete(fields["metadata"].(map[string]any), "ownerReferences")
		objects[kind+" "+name] = f.encode(fields)
	}
	deployment := f.deployment(view)
	d, err := appsv1ac.ExtractDeployment(deployment, generator.FieldManager)
	add("Deployment", deployment.Name, d, err)
	service := &corev1.Service{}
	f.get(service, generator.ViewerName(view))
	s, err := corev1ac.ExtractService(service, generator.FieldManager)
	add("Service", service.Name, s, err)
	var configMaps corev1.ConfigMapList
	f.must(f.Client.List(f.Context(), &configMaps, client.InNamespace(f.namespace), client.MatchingLabels(generator.Labels(view))))
	for i := range configMaps.Items {
		c, err := corev1ac.ExtractConfigMap(&configMaps.Items[i], generator.FieldManager)
		add("ConfigMap", configMaps.Items[i].Name, c, err)
	}
	return objects
}

func (f *fixture) encode(fields any) string {
	f.Helper()
	text, err := json.MarshalIndent(fields, "", "  ")
	f.must(err)
	return string(text)
}

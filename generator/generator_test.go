package generator

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/internal/schematest"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// newView returns a view of inline pages.
func newView(name string, pages map[string]string) *v1.MarkdownView {
	return &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.MarkdownViewSpec{Markdowns: pages}}
}

// withPages adds chapters to a SUMMARY.md that names them.
func withPages(pages map[string]string) map[string]string {
	all := maps.Clone(pages)
	var summary strings.Builder
	for _, p := range slices.Sorted(maps.Keys(pages)) {
		if strings.HasSuffix(p, ".md") {
			summary.WriteString("- [x](<" + p + ">)\n")
		}
	}
	all["SUMMARY.md"] = summary.String()
	return all
}

// fromFolder is a content of pages, and of files and a book.toml if there are any.
func fromFolder(pages, files map[string]string, toml string) Content {
	content := Content{Field: "spec.contentFrom[0].directory", Book: book.Book{Pages: bytesOf(pages), Files: bytesOf(files)}}
	if toml != "" {
		content.Book.Toml = []byte(toml)
	}
	return content
}

func bytesOf(texts map[string]string) map[string][]byte {
	m := make(map[string][]byte, len(texts))
	for p, text := range texts {
		m[p] = []byte(text)
	}
	return m
}

func mustGenerate(t testing.TB, view *v1.MarkdownView, contents ...Content) *Output {
	t.Helper()
	output, err := Generate(view, contents)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// unstructured gives the objects as the API server gets them.
func unstructured(t testing.TB, output *Output) []map[string]any {
	t.Helper()
	var objects []map[string]any
	for _, object := range output.Objects() {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, fields)
	}
	return objects
}

func manifest(t testing.TB, output *Output) []byte {
	t.Helper()
	var documents [][]byte
	for _, object := range output.Objects() {
		document, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, document)
	}
	return slices.Concat(documents[0], slices.Concat(mapped(documents[1:], func(d []byte) []byte { return append([]byte("---\n"), d...) })...))
}

func mapped[A, B any](list []A, f func(A) B) []B {
	var result []B
	for _, a := range list {
		result = append(result, f(a))
	}
	return result
}

// as converts an apply configuration to the object that it makes.
func as[T any](t testing.TB, applied any) T {
	t.Helper()
	text, err := json.Marshal(applied)
	if err != nil {
		t.Fatal(err)
	}
	var object T
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// problemsOf returns what Generate finds wrong.
func problemsOf(t *testing.T, view *v1.MarkdownView, contents ...Content) []string {
	t.Helper()
	output, err := Generate(view, contents)
	if err == nil {
		return nil
	}
	if output != nil {
		t.Error("there is output in spite of an error")
	}
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("the error is %T, not *InvalidError: %v", err, err)
	}
	return mapped(invalid.Problems, Problem.String)
}

// tutorialView is the sample of the kubebuilder tutorial.
func tutorialView() *v1.MarkdownView {
	view := newView("markdownview-sample", map[string]string{
		"SUMMARY.md": "# Summary\n\n- [Page1](page1.md)\n",
		"page1.md":   "# Page 1\n\n一ページ目のコンテンツです。\n",
	})
	view.Namespace = "default"
	view.Spec.ViewerImage = "peaceiris/mdbook:latest"
	return view
}

func TestGolden(t *testing.T) {
	views := map[string]struct {
		view     *v1.MarkdownView
		contents []Content
	}{
		"tutorial": {view: tutorialView()},
		"project": {
			view: func() *v1.MarkdownView {
				view := newView("handbook", map[string]string{"guide/はじめに.md": "# Start\n"})
				view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
				return view
			}(),
			contents: []Content{fromFolder(
				map[string]string{"SUMMARY.md": "- [Start](guide/はじめに.md)\n", "img/a.png": "\x89PNG\x00", "_x.md": "", "__.md": ""},
				map[string]string{"theme/head.hbs": "<!-- head -->\n"},
				"[book]\ntitle = \"Handbook\"\n",
			)},
		},
	}
	for name, test := range views {
		t.Run(name, func(t *testing.T) {
			got := manifest(t, mustGenerate(t, test.view, test.contents...))
			if err := schematest.Validate(got); err != nil {
				t.Error(err)
			}
			file := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("differs from %s, go test -update writes it anew (-want +got):\n%s", file, diff)
			}
		})
	}
}

// The tutorial's own controller applies this; what is more is hardening.
func TestObjectsAreThoseOfTheTutorial(t *testing.T) {
	output := mustGenerate(t, tutorialView())
	labels := map[string]string{
		"app.kubernetes.io/name":       "mdbook",
		"app.kubernetes.io/instance":   "markdownview-sample",
		"app.kubernetes.io/created-by": "markdown-view-controller",
	}

	configMap := as[corev1.ConfigMap](t, output.ConfigMaps[0])
	if diff := cmp.Diff(metav1.ObjectMeta{Name: "markdowns-markdownview-sample", Namespace: "default", Labels: labels}, configMap.ObjectMeta); diff != "" {
		t.Errorf("ConfigMap metadata: %s", diff)
	}

	deployment := as[appsv1.Deployment](t, output.Deployment)
	if diff := cmp.Diff(metav1.ObjectMeta{Name: "viewer-markdownview-sample", Namespace: "default", Labels: labels}, deployment.ObjectMeta); diff != "" {
		t.Errorf("Deployment metadata: %s", diff)
	}
	if diff := cmp.Diff(labels, deployment.Spec.Selector.MatchLabels); diff != "" {
		t.Errorf("selector: %s", diff)
	}
	if diff := cmp.Diff(labels, deployment.Spec.Template.Labels); diff != "" {
		t.Errorf("pod labels: %s", diff)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	probe := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}}
	want := corev1.Container{
		Name:                     "mdbook",
		Image:                    "peaceiris/mdbook:latest",
		ImagePullPolicy:          corev1.PullIfNotPresent,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Command:                  []string{"mdbook"},
		Args:                     []string{"serve", "--hostname", "0.0.0.0"},
		Ports:                    []corev1.ContainerPort{{Name: "http", Protocol: corev1.ProtocolTCP, ContainerPort: 3000}},
		LivenessProbe:            &corev1.Probe{ProbeHandler: probe},
		ReadinessProbe:           &corev1.Probe{ProbeHandler: probe, PeriodSeconds: 1},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "markdowns", MountPath: "/book/src", ReadOnly: true},
			{Name: "build", MountPath: "/build"},
		},
	}
	hardening := cmp.FilterPath(func(p cmp.Path) bool {
		return slices.Contains([]string{"Env", "Resources", "Lifecycle", "SecurityContext"}, p.Last().String()[1:])
	}, cmp.Ignore())
	if diff := cmp.Diff(want, container, hardening); diff != "" {
		t.Errorf("container: %s", diff)
	}

	service := as[corev1.Service](t, output.Service)
	wantService := corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: "viewer-markdownview-sample", Namespace: "default", Labels: labels},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: labels,
			Ports:    []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(3000)}},
		},
	}
	if diff := cmp.Diff(wantService, service); diff != "" {
		t.Errorf("Service: %s", diff)
	}
}

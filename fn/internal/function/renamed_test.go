package function

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// objectLines lists what is generated in a folder, and the views: file, kind, namespace and name.
func objectLines(t *testing.T, folder string) []string {
	t.Helper()
	var lines []string
	files := readFolder(t, folder)
	for _, file := range sortedKeys(files) {
		documents, err := documents([]byte(files[file]))
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range documents {
			node := yaml.NewRNode(document.node)
			lines = append(lines, strings.TrimSpace(file+": "+node.GetKind()+" "+node.GetNamespace()+"/"+node.GetName()))
		}
	}
	return lines
}

func unlessLocal(change func(*yaml.RNode)) func(*yaml.RNode) {
	return func(node *yaml.RNode) {
		if annotationOf(node, localConfigAnnotation) != "true" {
			change(node)
		}
	}
}

// setNamespace is set-namespace of kpt's catalog, which leaves out what is local and what
// may have no namespace.
var setNamespace = unlessLocal(func(node *yaml.RNode) { _ = node.SetNamespace("prod") })

// addPrefix and addSuffix are ensure-name-substring of the catalog, for all resources.
func addPrefix(node *yaml.RNode) {
	if !strings.Contains(node.GetName(), "dev-") {
		_ = node.SetName("dev-" + node.GetName())
	}
}

func addSuffix(node *yaml.RNode) {
	if !strings.Contains(node.GetName(), "-dev") {
		_ = node.SetName(node.GetName() + "-dev")
	}
}

func TestWhatALaterFunctionRenamesIsThereOnce(t *testing.T) {
	const view = "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: x}\nspec: {markdowns: {SUMMARY.md: '- [A](a.md)', a.md: ''}}\n"
	removed := func(view, objects string) string {
		return "info: removed what was generated from MarkdownView " + view + ", which is no longer among the resources: " + objects
	}
	tests := map[string]struct {
		after    func(*yaml.RNode)
		views    map[string]string
		want     []string // after any render from the second on
		messages []string // of the second render
		keeps    bool     // what is told tools of the Deployment
	}{
		"another namespace": {
			after: setNamespace, keeps: true, views: map[string]string{"view.yaml": view},
			want: []string{"configmap_markdowns-x.yaml: ConfigMap prod/markdowns-x", "deployment_viewer-x.yaml: Deployment prod/viewer-x", "service_viewer-x.yaml: Service prod/viewer-x", "view.yaml: MarkdownView /x"},
		},
		"a prefix, but for the view": {
			after: unlessLocal(addPrefix), keeps: true, views: map[string]string{"view.yaml": view},
			want: []string{"configmap_markdowns-x.yaml: ConfigMap /dev-markdowns-x", "deployment_viewer-x.yaml: Deployment /dev-viewer-x", "service_viewer-x.yaml: Service /dev-viewer-x", "view.yaml: MarkdownView /x"},
		},
		"a prefix, but for views of one name in two namespaces": {
			after: unlessLocal(addPrefix), keeps: true, views: map[string]string{"view.yaml": smallView("x", "a"), "other.yaml": smallView("x", "b")},
			want: []string{
				"configmap_markdowns-x.yaml: ConfigMap b/dev-markdowns-x", "configmap_markdowns-x.yaml: ConfigMap a/dev-markdowns-x",
				"deployment_viewer-x.yaml: Deployment b/dev-viewer-x", "deployment_viewer-x.yaml: Deployment a/dev-viewer-x", "other.yaml: MarkdownView b/x",
				"service_viewer-x.yaml: Service b/dev-viewer-x", "service_viewer-x.yaml: Service a/dev-viewer-x", "view.yaml: MarkdownView a/x",
			},
		},
		"a prefix": {
			after: addPrefix, views: map[string]string{"view.yaml": view},
			want:     []string{"configmap_markdowns-dev-x.yaml: ConfigMap /markdowns-dev-x", "deployment_viewer-dev-x.yaml: Deployment /viewer-dev-x", "service_viewer-dev-x.yaml: Service /viewer-dev-x", "view.yaml: MarkdownView /dev-x"},
			messages: []string{removed("x", "ConfigMap dev-markdowns-x, Deployment dev-viewer-x, Service dev-viewer-x")},
		},
		"a suffix": {
			after: addSuffix, keeps: true, views: map[string]string{"view.yaml": view},
			want: []string{"configmap_markdowns-x.yaml: ConfigMap /markdowns-x-dev", "deployment_viewer-x.yaml: Deployment /viewer-x-dev", "service_viewer-x.yaml: Service /viewer-x-dev", "view.yaml: MarkdownView /x-dev"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			writeFiles(t, folder, test.views)
			render(t, folder, test.after)
			const mine = "kpt.dev/mine: here"
			deployment := filepath.Join(folder, "deployment_viewer-x.yaml")
			text, err := os.ReadFile(deployment)
			if err != nil {
				t.Fatal(err)
			}
			writeFiles(t, folder, map[string]string{"deployment_viewer-x.yaml": strings.ReplaceAll(string(text), "kind: Deployment\nmetadata:\n", "kind: Deployment\nmetadata:\n  annotations:\n    "+mine+"\n")})
			for i := range 3 {
				var messages []string
				for _, result := range render(t, folder, test.after) {
					messages = append(messages, Line(result))
				}
				if i > 0 {
					test.messages = nil
				}
				if diff := cmp.Diff(test.messages, messages); diff != "" {
					t.Errorf("render %d says (-want +got):\n%s", i+2, diff)
				}
				if diff := cmp.Diff(test.want, objectLines(t, folder)); diff != "" {
					t.Errorf("after render %d (-want +got):\n%s", i+2, diff)
				}
			}
			if text := readFolder(t, folder)["deployment_viewer-x.yaml"]; test.keeps != strings.Contains(text, mine) {
				t.Errorf("what is told tools of the Deployment:\n%s", text)
			}
		})
	}
}

// What is in another file isn't found again, so two copies are said, with what to do.
func TestWhatIsRenamedAndMovedIsSaid(t *testing.T) {
	const anew = ", so that it is generated again beside this one: remove this one, and list the function that renames it before this function; or move it into deployment_viewer-x.yaml beside the view, where it is found again; if it is your own, give it other labels"
	for name, test := range map[string]struct {
		after func(*yaml.RNode)
		want  string
	}{
		"another namespace":          {setNamespace, "warning: Deployment prod/viewer-x (apps.yaml): was generated from MarkdownView prod/x, which is not among the resources: remove it from its file, or, if a function after this one changes its namespace, move it into deployment_viewer-x.yaml beside the view"},
		"a prefix, but for the view": {unlessLocal(addPrefix), "warning: Deployment docs/dev-viewer-x (apps.yaml): metadata.name: was viewer-x when it was generated, as its labels say" + anew},
		"a prefix":                   {addPrefix, "warning: Deployment docs/dev-viewer-x (apps.yaml): metadata.name: was viewer-x when it was generated, as its labels say" + anew},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			writeFiles(t, folder, map[string]string{"view.yaml": smallView("x", "docs")})
			render(t, folder, test.after)
			if err := os.Rename(filepath.Join(folder, "deployment_viewer-x.yaml"), filepath.Join(folder, "apps.yaml")); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				var messages []string
				for _, result := range render(t, folder, test.after) {
					if result.Severity == framework.Warning && result.ResourceRef.Kind == "Deployment" {
						messages = append(messages, Line(result))
					}
				}
				if diff := cmp.Diff([]string{test.want}, messages); diff != "" {
					t.Errorf("says (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A book may take fewer ConfigMaps than it did.
func TestRenamedConfigMapsGoWithTheirPages(t *testing.T) {
	pages := func(size int) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: pages\n  annotations: {config.kubernetes.io/local-config: 'true'}\ndata:\n  big1.txt: " + strings.Repeat("x", size) + "\n  big2.txt: " + strings.Repeat("y", size) + "\n"
	}
	for name, after := range map[string]func(*yaml.RNode){"another namespace": setNamespace, "a prefix": unlessLocal(addPrefix)} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			writeFiles(t, folder, map[string]string{"view.yaml": kptView, "pages.yaml": pages(700 << 10)})
			for _, want := range []int{4, 4} {
				render(t, folder, after)
				if got := configMaps(objectLines(t, folder)); len(got) != want {
					t.Fatalf("there are %q", got)
				}
			}
			writeFiles(t, folder, map[string]string{"pages.yaml": pages(10)})
			for range 2 {
				for _, result := range render(t, folder, after) {
					if result.Severity != framework.Info {
						t.Errorf("says %v", result)
					}
				}
				if got := configMaps(objectLines(t, folder)); len(got) != 2 {
					t.Fatalf("there are %q", got)
				}
			}
		})
	}
}

// TestWhatOneViewDropsNoOtherTakes has a view of two ConfigMaps give way to one of one ConfigMap and
// another of two, in other namespaces.
func TestWhatOneViewDropsNoOtherTakes(t *testing.T) {
	view := func(namespace string, more ...string) string {
		text := "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: x, namespace: " + namespace + "}\nspec:\n  markdowns:\n    SUMMARY.md: '- [A](a.md)'\n    a.md: ''\n"
		for _, page := range more {
			text += "    " + page + ": " + strings.Repeat("x", 700<<10) + "\n"
		}
		return text
	}
	folder := t.TempDir()
	writeFiles(t, folder, map[string]string{"old.yaml": view("old", "big1.txt", "big2.txt")})
	render(t, folder)
	if err := os.Remove(filepath.Join(folder, "old.yaml")); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, folder, map[string]string{"a.yaml": view("a"), "b.yaml": view("b", "big1.txt", "big2.txt")})
	render(t, folder)
	var got []string
	for _, line := range configMaps(objectLines(t, folder)) {
		_, name, _ := strings.Cut(line, ": ConfigMap ")
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a/markdowns-x", "b/markdowns-x", "b/markdowns-x.1", "b/markdowns-x.3"}, got); diff != "" {
		t.Errorf("there are (-want +got):\n%s", diff)
	}
}

func configMaps(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, ": ConfigMap ") })
}

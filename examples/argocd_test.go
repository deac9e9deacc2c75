package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/zoetrope/markdown-view/internal/schematest"
)

const argocd = "config/argocd"

// plugin is what Argo CD reads of a plugin's configuration, so far as the project's has it.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Discover struct {
			FileName string `json:"fileName"`
		} `json:"discover"`
		Generate struct {
			Command []string `json:"command"`
			Args    []string `json:"args"`
		} `json:"generate"`
	} `json:"spec"`
}

func readPlugin(t *testing.T) plugin {
	t.Helper()
	var p plugin
	if err := sigsyaml.UnmarshalStrict([]byte(textOf(t, repository, argocd+"/plugin/plugin.yaml")), &p); err != nil {
		t.Fatal(err)
	}
	if p.APIVersion != "argoproj.io/v1alpha1" || p.Kind != "ConfigManagementPlugin" {
		t.Errorf("it is a %s of %s", p.Kind, p.APIVersion)
	}
	return p
}

// runs has the plugin generate what it does in a folder, with the program of the image.
func (p plugin) runs(t *testing.T, dir string) result {
	t.Helper()
	line := append(slices.Clone(p.Spec.Generate.Command), p.Spec.Generate.Args...)
	program, ok := strings.CutPrefix(line[0], "/")
	if !ok || program != "fn" {
		t.Fatalf("the image has no program %s", line[0])
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, program), line[1:]...)
	cmd.Dir = dir
	return resultOf(t, cmd)
}

func TestArgoCDsPluginExpandsViews(t *testing.T) {
	p := readPlugin(t)
	dir := filepath.Join(copyOf(t, "argocd"), "repository", "handbook")
	for folder, want := range map[string]int{dir: 1, filepath.Join(dir, "pages"): 0, filepath.Join("folder", "overlays", "staging"): 0} {
		if found, err := filepath.Glob(filepath.Join(folder, p.Spec.Discover.FileName)); err != nil || len(found) != want {
			t.Errorf("the plugin finds %v in %s, %v; want %d files", found, folder, err, want)
		}
	}

	got := p.runs(t, dir)
	if got.failed || got.stderr != "" {
		t.Fatalf("it failed: %t, and says:\n%s", got.failed, got.stderr)
	}
	if err := schematest.Validate([]byte(got.stdout)); err != nil {
		t.Errorf("the output isn't valid: %v", err)
	}
	objects := parse(t, got.stdout)
	if diff := cmp.Diff([]string{"ConfigMap /markdowns-handbook", "Deployment /viewer-handbook", "Service /viewer-handbook"}, objects.names); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	want := map[string]string{}
	for _, name := range []string{"SUMMARY.md", "welcome.md", "on-call/rules.md"} {
		want["/book/src/"+name] = textOf(t, dir, "pages/"+name)
	}
	if diff := cmp.Diff(want, objects.book(t, objects.deployments[0])); diff != "" {
		t.Errorf("the book in the viewer's container (-want +got):\n%s", diff)
	}

	// Argo CD takes whatever is printed for manifests, if it doesn't fail.
	if err := os.Remove(filepath.Join(dir, "pages", "welcome.md")); err != nil {
		t.Fatal(err)
	}
	if got := p.runs(t, dir); !got.failed || got.stdout != "" || !strings.Contains(got.stderr, "welcome.md") {
		t.Errorf("with a page that is missing it failed: %t, prints %q, and says:\n%s", got.failed, got.stdout, got.stderr)
	}
}

func TestArgoCDsApplicationNamesThePluginAndItsFolder(t *testing.T) {
	var application struct {
		Spec struct {
			Source struct {
				Path   string `json:"path"`
				Plugin struct {
					Name string `json:"name"`
				} `json:"plugin"`
			} `json:"source"`
		} `json:"spec"`
	}
	if err := sigsyaml.Unmarshal([]byte(textOf(t, "argocd", "application.yaml")), &application); err != nil {
		t.Fatal(err)
	}
	p := readPlugin(t)
	source := application.Spec.Source
	if source.Plugin.Name != p.Metadata.Name {
		t.Errorf("the Application has the plugin %s, which is called %s", source.Plugin.Name, p.Metadata.Name)
	}
	if _, err := os.Stat(filepath.Join("argocd", "repository", source.Path, p.Spec.Discover.FileName)); err != nil {
		t.Error(err)
	}
}

// argoCDsOwn is as much of Argo CD's own manifests as the components patch.
const argoCDsOwn = `apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
  labels: {app.kubernetes.io/part-of: argocd}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: argocd-repo-server
spec:
  selector: {matchLabels: {app.kubernetes.io/name: argocd-repo-server}}
  template:
    metadata: {labels: {app.kubernetes.io/name: argocd-repo-server}}
    spec:
      containers:
      - name: argocd-repo-server
        image: quay.io/argoproj/argocd
        volumeMounts:
        - {mountPath: /tmp, name: tmp}
        - {mountPath: /home/argocd/cmp-server/plugins, name: plugins}
      initContainers:
      - name: copyutil
        image: quay.io/argoproj/argocd
        volumeMounts:
        - {mountPath: /var/run/argocd, name: var-files}
      volumes:
      - {name: var-files, emptyDir: {}}
      - {name: plugins, emptyDir: {}}
      - {name: tmp, emptyDir: {}}
`

func TestArgoCDsInstallationTakesTheComponents(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "argocd.yaml", argoCDsOwn)
	write(t, dir, "kustomization.yaml", `namespace: argocd
resources: [argocd.yaml]
components: [config/health, config/plugin]
images: [{name: markdown-view, newName: registry.example.com/markdown-view, newTag: dev}]
`)
	if err := os.CopyFS(filepath.Join(dir, "config"), os.DirFS(filepath.Join(repository, argocd))); err != nil {
		t.Fatal(err)
	}
	got := build(t, dir, ".", "--load-restrictor=LoadRestrictionsRootOnly")
	if got.failed {
		t.Fatal(got.stderr)
	}
	if err := schematest.Validate([]byte(got.stdout)); err != nil {
		t.Errorf("the output isn't valid: %v", err)
	}
	objects := parse(t, got.stdout)
	if script := objects.configMaps["argocd/argocd-cm"].Data["resource.customizations.health.view.zoetrope.github.io_MarkdownView"]; script == "" {
		t.Errorf("argocd-cm has no health check:\n%s", got.stdout)
	}
	spec := objects.deployments[0].Spec.Template.Spec
	volumes := map[string]bool{}
	for _, volume := range spec.Volumes {
		volumes[volume.Name] = true
		if volume.Name == "markdown-view-plugin" && objects.configMaps["argocd/"+volume.ConfigMap.Name].Data["plugin.yaml"] == "" {
			t.Errorf("the ConfigMap %s has no plugin.yaml", volume.ConfigMap.Name)
		}
	}
	var sidecars []string
	for _, container := range spec.Containers {
		if container.Name == "argocd-repo-server" {
			continue
		}
		sidecars = append(sidecars, container.Name+" "+container.Image)
		for _, mount := range container.VolumeMounts {
			if !volumes[mount.Name] || mount.Name == "tmp" { // sharing that would let plugins at the repo-server's files
				t.Errorf("the sidecar mounts %s", mount.Name)
			}
		}
	}
	if diff := cmp.Diff([]string{"markdown-view registry.example.com/markdown-view:dev"}, sidecars); diff != "" {
		t.Errorf("sidecars (-want +got):\n%s", diff)
	}
}

package preview

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// Input names a view and the programs that expand it.
type Input struct {
	// Path is the file that a view is in, or a folder with a kustomization.
	Path string
	// Name is the view's; empty if it is the only one.
	Name string
	// From is where the function is run: the folder in which the view's paths begin. By default
	// it is that of the file.
	From string
	// Function and Kustomize are the programs. Kustomize is for a folder.
	Function, Kustomize string
}

// folder is where the view's paths begin.
func (i Input) folder() string {
	switch {
	case isFolder(i.Path):
		return i.Path
	case i.From != "":
		return i.From
	}
	return filepath.Dir(i.Path)
}

// file is the view's path from there.
func (i Input) file() (string, error) {
	folder, err := filepath.Abs(i.folder())
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(i.Path)
	if err != nil {
		return "", err
	}
	return filepath.Rel(folder, path)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// expand returns the objects that the view expands to, and what the function said beside
// them. What kustomize leaves of MarkdownViews is expanded by the function, as the
// controller would.
func (i Input) expand(ctx context.Context) ([]byte, string, error) {
	var notes bytes.Buffer
	var objects []byte
	file, err := i.file()
	if err != nil {
		return nil, "", err
	}
	if isFolder(i.Path) {
		objects, err = i.run(ctx, i.Path, nil, &notes, i.Kustomize, "build", "--enable-alpha-plugins", "--enable-exec", ".")
		if err == nil && holdsView(objects) {
			objects, err = i.run(ctx, i.Path, bytes.NewReader(objects), &notes, i.Function, "-")
		}
		return objects, notes.String(), err
	}
	if _, err := os.Stat(i.Path); err != nil {
		return nil, "", err
	}
	objects, err = i.run(ctx, i.folder(), nil, &notes, i.Function, file)
	if err != nil && i.From == "" {
		err = fmt.Errorf("%w; the view's paths begin in %s: another folder is chosen by FROM, -from", err, i.folder())
	}
	return objects, notes.String(), err
}

// run runs a program, for which a kustomization's "fn" is the function, wherever that is.
func (i Input) run(ctx context.Context, folder string, stdin io.Reader, stderr io.Writer, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdin, cmd.Stderr = folder, stdin, stderr
	if filepath.IsAbs(i.Function) {
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(i.Function)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	stdout, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(program), err)
	}
	return stdout, nil
}

func holdsView(objects []byte) bool {
	found := false
	_ = eachDocument(objects, func(meta metav1.TypeMeta, _ []byte) error { // an error will be the function's
		found = found || meta.Kind == v1.Kind && meta.APIVersion == v1.GroupVersion.String()
		return nil
	})
	return found
}

// pod is what a Deployment runs, and the ConfigMaps that it mounts.
type pod struct {
	view       string
	spec       corev1.PodSpec
	configMaps map[string]corev1.ConfigMap
}

// podOf finds the pod of a view among objects.
func podOf(objects []byte, view string) (*pod, error) {
	configMaps := map[string]corev1.ConfigMap{}
	var pods []*pod
	var views []string
	err := eachDocument(objects, func(meta metav1.TypeMeta, document []byte) error {
		switch meta.Kind {
		case "ConfigMap":
			var configMap corev1.ConfigMap
			if err := yaml.UnmarshalStrict(document, &configMap); err != nil {
				return err
			}
			configMaps[configMap.Name] = configMap
		case "Deployment":
			var deployment appsv1.Deployment
			if err := yaml.UnmarshalStrict(document, &deployment); err != nil {
				return err
			}
			name := deployment.Labels[generator.InstanceLabel]
			if name == "" || deployment.Labels["app.kubernetes.io/created-by"] != generator.FieldManager {
				return nil // somebody else's
			}
			views = append(views, name)
			if view == "" || view == name {
				pods = append(pods, &pod{view: name, spec: deployment.Spec.Template.Spec, configMaps: configMaps})
			}
		}
		return nil
	})
	switch slices.Sort(views); {
	case err != nil:
		return nil, err
	case len(views) == 0:
		return nil, errors.New("there is no MarkdownView")
	case len(pods) == 0:
		return nil, fmt.Errorf("there is no MarkdownView %s, but: %s", view, strings.Join(views, ", "))
	case len(pods) > 1:
		return nil, fmt.Errorf("there are several MarkdownViews, choose one of: %s", strings.Join(views, ", "))
	}
	return pods[0], nil
}

func eachDocument(objects []byte, f func(meta metav1.TypeMeta, document []byte) error) error {
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(objects)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(document, &meta); err != nil {
			return err
		}
		if err := f(meta, document); err != nil {
			return err
		}
	}
}

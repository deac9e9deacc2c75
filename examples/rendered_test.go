package examples

import (
	"bufio"
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// rendered are the objects of a build.
type rendered struct {
	// names of all objects as Kind namespace/name, in their order.
	names       []string
	configMaps  map[string]corev1.ConfigMap // by namespace/name
	deployments []appsv1.Deployment
	services    []corev1.Service
}

func parse(t *testing.T, manifests string) rendered {
	t.Helper()
	r := rendered{configMaps: map[string]corev1.ConfigMap{}}
	for _, document := range documents(t, manifests) {
		var object metav1.PartialObjectMetadata
		unmarshal(t, document, &object)
		name := object.Namespace + "/" + object.Name
		r.names = append(r.names, object.Kind+" "+name)
		switch object.Kind {
		case "ConfigMap":
			var configMap corev1.ConfigMap
			unmarshal(t, document, &configMap)
			r.configMaps[name] = configMap
		case "Deployment":
			var deployment appsv1.Deployment
			unmarshal(t, document, &deployment)
			r.deployments = append(r.deployments, deployment)
		case "Service":
			var service corev1.Service
			unmarshal(t, document, &service)
			r.services = append(r.services, service)
		}
	}
	return r
}

func documents(t *testing.T, manifests string) []string {
	t.Helper()
	var list []string
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifests)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(strings.TrimSpace(string(document))) > 0 {
			list = append(list, string(document))
		}
	}
}

func unmarshal(t *testing.T, document string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(document), into); err != nil {
		t.Fatalf("%v in:\n%s", err, document)
	}
}

// book returns the files that the viewer of a Deployment finds, by their absolute
// path, as the kubelet would put them there. The revision keys' files aren't among
// them, but have to be there.
func (r rendered) book(t *testing.T, deployment appsv1.Deployment) map[string]string {
	t.Helper()
	spec := deployment.Spec.Template.Spec
	mount := spec.Containers[0].VolumeMounts[0]
	files := map[string]string{}
	for _, volume := range spec.Volumes {
		if volume.Name != mount.Name {
			continue
		}
		if volume.ConfigMap != nil {
			r.project(t, files, mount.MountPath, deployment.Namespace, volume.ConfigMap.Name, volume.ConfigMap.Items)
		}
		if volume.Projected != nil {
			for _, source := range volume.Projected.Sources {
				r.project(t, files, mount.MountPath, deployment.Namespace, source.ConfigMap.Name, source.ConfigMap.Items)
			}
		}
	}
	return files
}

// project adds one ConfigMap's items to files.
func (r rendered) project(t *testing.T, files map[string]string, mountPath, namespace, name string, items []corev1.KeyToPath) {
	t.Helper()
	configMap, ok := r.configMaps[namespace+"/"+name]
	if !ok {
		t.Fatalf("the Deployment mounts ConfigMap %s of namespace %q, which isn't in the output", name, namespace)
	}
	revisions := 0
	for _, item := range items {
		text, isText := configMap.Data[item.Key]
		content, isBinary := configMap.BinaryData[item.Key]
		switch {
		case strings.HasPrefix(item.Key, ".revision-") && isText:
			revisions++
		case isText:
			files[path.Join(mountPath, item.Path)] = text
		case isBinary:
			files[path.Join(mountPath, item.Path)] = string(content)
		default:
			t.Errorf("the Deployment mounts key %s of ConfigMap %s, which isn't there", item.Key, name)
		}
	}
	if revisions != 1 {
		t.Errorf("the Deployment mounts %d revision keys of ConfigMap %s, want 1", revisions, name)
	}
}

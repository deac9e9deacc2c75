package product

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// Render returns what the function prints when it runs in a folder and reads the
// documents in input.
func (p *Product) Render(ctx context.Context, folder string, input []byte) ([]*unstructured.Unstructured, error) {
	command := exec.CommandContext(ctx, p.Program("fn"), "-")
	command.Dir, command.Stdin = folder, bytes.NewReader(input)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("fn: %w\n%s", err, stderr.String())
	}
	return Objects(out)
}

// Objects decodes YAML documents.
func Objects(documents []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}

// Owned returns what the controller's field manager owns of a view's objects, owner
// references aside: what has to be as the function prints it.
func (p *Product) Owned(ctx context.Context, namespace, view string) ([]*unstructured.Unstructured, error) {
	deployment, service := &appsv1.Deployment{}, &corev1.Service{}
	viewer := client.ObjectKey{Namespace: namespace, Name: generator.ViewerName(view)}
	if err := errors.Join(p.Client.Get(ctx, viewer, deployment), p.Client.Get(ctx, viewer, service)); err != nil {
		return nil, err
	}
	var configMaps corev1.ConfigMapList
	if err := p.Client.List(ctx, &configMaps, client.InNamespace(namespace), client.MatchingLabels(generator.Labels(view))); err != nil {
		return nil, err
	}
	var failed error
	var objects []*unstructured.Unstructured
	add := func(configuration any, err error) {
		if err != nil {
			failed = errors.Join(failed, err)
			return
		}
		fields, err := k8sruntime.DefaultUnstructuredConverter.ToUnstructured(configuration)
		failed = errors.Join(failed, err)
		unstructured.RemoveNestedField(fields, "metadata", "ownerReferences")
		objects = append(objects, &unstructured.Unstructured{Object: fields})
	}
	d, err := appsv1ac.ExtractDeployment(deployment, generator.FieldManager)
	add(d, err)
	s, err := corev1ac.ExtractService(service, generator.FieldManager)
	add(s, err)
	for i := range configMaps.Items {
		if configMaps.Items[i].Annotations[v1.LastServedAnnotation] != "" {
			continue // a copy, which only the controller makes
		}
		c, err := corev1ac.ExtractConfigMap(&configMaps.Items[i], generator.FieldManager)
		add(c, err)
	}
	return objects, failed
}

// Text returns each object's text by its kind and name, for a comparison that a
// person can read.
func Text(objects []*unstructured.Unstructured) (map[string]string, error) {
	texts := map[string]string{}
	for _, object := range objects {
		text, err := json.MarshalIndent(object.Object, "", "  ")
		if err != nil {
			return nil, err
		}
		texts[object.GetKind()+" "+object.GetName()] = string(text)
	}
	return texts, nil
}

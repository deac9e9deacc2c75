package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// install applies the CRD and the roles as they are in config, and waits until
// views are served.
func install(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "markdown-view-system"}}
	if err := admin.Create(ctx, namespace); err != nil {
		return err
	}
	for _, pattern := range []string{"../../config/crd/bases/*.yaml", "../../config/rbac/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			if err := applyFile(ctx, file, namespace.Name); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return admin.List(ctx, &v1.MarkdownViewList{}) == nil, nil
	})
}

func applyFile(ctx context.Context, file, namespace string) error {
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	object := &unstructured.Unstructured{}
	if err := yaml.NewYAMLOrJSONDecoder(content, 4096).Decode(&object.Object); err != nil {
		return err
	}
	switch object.GetKind() {
	case "":
		return errors.New("holds no object")
	case "ServiceAccount", "Role", "RoleBinding":
		object.SetNamespace(namespace)
	}
	return admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership)
}

package schema

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// Restricted returns an error that names each Deployment, in a stream of YAML
// documents, whose pods a namespace that enforces the restricted Pod Security
// Standard, latest version, would refuse. A stream without any Deployment is an
// error too.
func Restricted(manifests []byte) error {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return fmt.Errorf("load the Pod Security checks: %w", err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	deployments := 0
	err = each(manifests, func(_ []byte, manifest *unstructured.Unstructured) error {
		if manifest.GroupVersionKind() != appsv1.SchemeGroupVersion.WithKind("Deployment") {
			return nil
		}
		deployments++
		deployment := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(manifest.Object, deployment); err != nil {
			return err
		}
		template := &deployment.Spec.Template
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec))
		if !result.Allowed {
			return fmt.Errorf("violates the restricted Pod Security Standard: %s", result.ForbiddenDetail())
		}
		return nil
	})
	if deployments == 0 && err == nil {
		return errors.New("no Deployment in the manifests")
	}
	return err
}

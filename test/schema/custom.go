package schema

import (
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/yaml"
)

// customKind is one version of a CRD.
type customKind struct {
	kind       schema.GroupVersionKind
	structural *structuralschema.Structural
	strategy   rest.RESTCreateStrategy
}

// addCustomKinds creates a CRD and learns the kinds that it serves.
func (v *Validator) addCustomKinds(document []byte, manifest *unstructured.Unstructured) error {
	created, err := create(document, manifest)
	if err != nil {
		return err
	}
	crd, ok := created.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return fmt.Errorf("want a %s", "CustomResourceDefinition")
	}
	// The versioned form has each version's schema in one place; the internal form
	// lifts a single version's to the top.
	versioned := &apiextensionsv1.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(crd, versioned, nil); err != nil {
		return fmt.Errorf("convert to v1: %w", err)
	}
	for _, version := range versioned.Spec.Versions {
		kind, err := newCustomKind(versioned, version)
		if err != nil {
			return fmt.Errorf("version %s: %w", version.Name, err)
		}
		v.custom[kind.kind] = kind
	}
	return nil
}

func newCustomKind(crd *apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion) (customKind, error) {
	kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, internal, nil); err != nil {
		return customKind{}, fmt.Errorf("convert the schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return customKind{}, fmt.Errorf("schema is not structural: %w", err)
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return customKind{}, fmt.Errorf("compile the schema: %w", err)
	}
	return customKind{
		kind:       kind,
		structural: structural,
		strategy: customresource.NewStrategy(crdserverscheme.NewUnstructuredObjectTyper(),
			crd.Spec.Scope == apiextensionsv1.NamespaceScoped, kind, validator, nil, structural,
			&apiextensions.CustomResourceSubresourceStatus{}, nil, nil),
	}, nil
}

// create returns a custom object as the server would answer a create request.
func (k customKind) create(document []byte, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	// A key that is there twice shows only in the text.
	if _, err := yaml.YAMLToJSONStrict(document); err != nil {
		return nil, fmt.Errorf("decode YAML: %w", err)
	}
	created := manifest.DeepCopy()
	unknown := pruning.PruneWithOptions(created.Object, k.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		return nil, fmt.Errorf("strict decoding error: unknown fields %s", strings.Join(unknown, ", "))
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(created.Object, k.structural)
	defaulting.Default(created.Object, k.structural)
	if err := beforeCreate(k.strategy, k.kind, created); err != nil {
		return nil, err
	}
	// A create request can't set the status; reading it back sets its defaults.
	defaulting.Default(created.Object, k.structural)
	return created, nil
}

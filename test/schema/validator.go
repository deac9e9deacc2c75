package schema

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
)

// Validator judges manifests as an API server does.
type Validator struct {
	custom map[schema.GroupVersionKind]customKind
}

// New returns a Validator that also knows the kinds of the CRDs, a stream of
// YAML documents, which may be empty. A CRD that an API server would refuse is an
// error: one whose schema isn't structural, or whose CEL rules don't compile or
// could cost too much.
func New(crds []byte) (*Validator, error) {
	v := &Validator{custom: map[schema.GroupVersionKind]customKind{}}
	return v, each(crds, func(document []byte, object *unstructured.Unstructured) error {
		return v.addCustomKinds(document, object)
	})
}

// Validate returns an error that names each object and field that the API server
// would refuse or warn of; nil if it would accept them all. A stream without any
// object is an error too, because a test that checks nothing is a mistake.
func (v *Validator) Validate(manifests []byte) error {
	objects := 0
	err := each(manifests, func(document []byte, object *unstructured.Unstructured) error {
		objects++
		if kind, ok := v.custom[object.GroupVersionKind()]; ok {
			_, err := kind.create(document, object)
			return err
		}
		_, err := create(document, object)
		return err
	})
	if objects == 0 && err == nil {
		return errors.New("no object in the manifests")
	}
	return err
}

// each calls check for each object of a stream of YAML documents and joins the
// errors, each with its object's name.
func each(manifests []byte, check func(document []byte, object *unstructured.Unstructured) error) error {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	var errs []error
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return errors.Join(errs...)
		}
		if err != nil {
			return fmt.Errorf("split YAML documents: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := utilyaml.Unmarshal(document, &object.Object); err != nil {
			return fmt.Errorf("decode YAML: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if err := check(document, object); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
}

// object is what the strategies work on.
type object interface {
	runtime.Object
	metav1.Object
}

// beforeCreate does what the server does with a decoded and defaulted object of
// a create request before it is stored. A warning is an error here.
func beforeCreate(strategy rest.RESTCreateStrategy, kind schema.GroupVersionKind, object object) error {
	object.SetUID(types.UID("0"))
	object.SetCreationTimestamp(metav1.Now())
	if strategy.NamespaceScoped() && object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	var warnings warnings
	ctx := request.WithNamespace(context.Background(), object.GetNamespace())
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{APIGroup: kind.Group, APIVersion: kind.Version, Verb: "create"})
	ctx = warning.WithWarningRecorder(ctx, &warnings)
	if err := rest.BeforeCreate(strategy, ctx, object); err != nil {
		return err
	}
	if len(warnings) > 0 {
		return fmt.Errorf("the API server warns: %s", strings.Join(warnings, "; "))
	}
	return nil
}

// warnings collects what the API server would send as Warning headers.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

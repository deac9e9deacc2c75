// Package schematest lets tests hold manifests against the API types of the
// Kubernetes version in go.mod, without a server and without a network: a field
// that doesn't exist, a key that is there twice, a value of the wrong type and
// two list entries of the same key are errors.
//
// It doesn't know the rules that the API server's own code adds to the types,
// such as required fields; test/integration asks an API server.
package schematest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// types returns the scheme of Kubernetes' own kinds and MarkdownView.
var types = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1.AddToScheme(scheme))
	return scheme
})

// Validate returns an error that names each faulty object of a stream of YAML
// documents, and nil if all fit the types of their kinds. A stream without any
// object is an error too, because a test that checks nothing is a mistake.
func Validate(manifests []byte) error {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	var errs []error
	objects := 0
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("split YAML documents: %w", err)
		}
		var content map[string]any
		if err := utilyaml.Unmarshal(document, &content); err != nil {
			return fmt.Errorf("document %d: %w", objects+1, err)
		}
		if len(content) == 0 {
			continue
		}
		objects++
		object := &unstructured.Unstructured{Object: content}
		if err := validate(object, document); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	if objects == 0 {
		return errors.New("no object in the manifests")
	}
	return errors.Join(errs...)
}

// validate checks one object, which document is the text of.
func validate(object *unstructured.Unstructured, document []byte) error {
	kind := object.GroupVersionKind()
	if !types().Recognizes(kind) {
		return fmt.Errorf("kind %s isn't known in %s", kind.Kind, kind.GroupVersion())
	}
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, types(), types(),
		json.SerializerOptions{Yaml: true, Strict: true})
	if _, _, err := strict.Decode(document, nil, nil); err != nil {
		return err
	}
	if kind.GroupVersion() == v1.GroupVersion {
		return nil
	}
	// What server-side apply does first: it also refuses two entries of one key.
	_, err := applyconfigurations.NewTypeConverter(types()).ObjectToTyped(object)
	return err
}

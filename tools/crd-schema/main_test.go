package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.org
  names: {kind: Book}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            x-kubernetes-validations: [{rule: "true"}]
            properties:
              pages: {type: object, additionalProperties: {type: string}}
              sources:
                type: array
                items: {type: object, properties: {path: {type: string, minLength: 1}}}
`

func TestRun(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "crd.yaml")
	if err := os.WriteFile(file, []byte(crd), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(file, filepath.Join(dir, "schema")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "schema", "book_v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	list := func(elements ...any) []any { return elements }
	want := object{
		"$schema":              "http://json-schema.org/draft-07/schema#",
		"type":                 "object",
		"required":             list("apiVersion", "kind", "metadata", "spec"),
		"additionalProperties": false,
		"properties": object{
			"apiVersion": object{"type": "string", "enum": list("example.org/v1")},
			"kind":       object{"type": "string", "enum": list("Book")},
			"metadata":   object{"type": "object"},
			"spec": object{
				"type":                 "object",
				"additionalProperties": false,
				"properties": object{
					"pages": object{"type": "object", "additionalProperties": object{"type": "string"}},
					"sources": object{"type": "array", "items": object{
						"type":                 "object",
						"additionalProperties": false,
						"properties":           object{"path": object{"type": "string", "minLength": 1.0}},
					}},
				},
			},
		},
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

func TestRunOnAnotherFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(file, []byte("kind: ConfigMap\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := run(file, dir)
	if want := file + ": not a CRD: it has no versions"; err == nil || err.Error() != want {
		t.Errorf("run() = %v, want %s", err, want)
	}
}

// Command crd-schema turns a CRD into JSON schemas that editors and kubeconform
// read: one file <kind>_<version>.json, lower case, for each version. A schema
// names the kind, allows no unknown field and keeps what an API server's schema
// says; CEL rules have no equivalent in JSON schema and stay out.
//
// Usage: crd-schema CRD-FILE OUTPUT-FOLDER
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

type definition struct {
	Spec struct {
		Group    string
		Names    struct{ Kind string }
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema map[string]any }
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: crd-schema CRD-FILE OUTPUT-FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(file, folder string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd definition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(crd.Spec.Versions) == 0 {
		return fmt.Errorf("%s: not a CRD: it has no versions", file)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, version := range crd.Spec.Versions {
		schema, err := standalone(version.Schema.OpenAPIV3Schema, crd.Spec.Group+"/"+version.Name, crd.Spec.Names.Kind)
		if err != nil {
			return fmt.Errorf("%s: version %s: %w", file, version.Name, err)
		}
		name := strings.ToLower(crd.Spec.Names.Kind + "_" + version.Name + ".json")
		if err := os.WriteFile(filepath.Join(folder, name), append(schema, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// standalone returns the JSON schema of one kind.
func standalone(schema map[string]any, apiVersion, kind string) ([]byte, error) {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return nil, errors.New("schema without properties")
	}
	strict(schema)
	for name, value := range map[string]string{"apiVersion": apiVersion, "kind": kind} {
		if property, ok := properties[name].(map[string]any); ok {
			property["enum"] = []string{value}
		}
	}
	schema["required"] = []string{"apiVersion", "kind", "metadata", "spec"}
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	return json.MarshalIndent(schema, "", "  ")
}

// strict forbids unknown fields wherever the schema lists the known ones, and
// drops what only Kubernetes understands.
func strict(node any) {
	switch node := node.(type) {
	case map[string]any:
		for key, child := range node {
			if strings.HasPrefix(key, "x-kubernetes-") {
				delete(node, key)
				continue
			}
			strict(child)
		}
		_, listed := node["properties"].(map[string]any)
		_, open := node["additionalProperties"]
		if listed && !open && node["type"] == "object" {
			node["additionalProperties"] = false
		}
	case []any:
		for _, child := range node {
			strict(child)
		}
	}
}

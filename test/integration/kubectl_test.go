package integration

import (
	"bytes"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"
)

// documents is a file with several objects.
func documents[T client.Object](t *testing.T, objects []T) string {
	t.Helper()
	var file bytes.Buffer
	for _, object := range objects {
		text, err := sigsyaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		file.WriteString("---\n")
		file.Write(text)
	}
	return file.String()
}

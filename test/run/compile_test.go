package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLittleIsCompiledFirst looks at what the function and the demo need. What only the
// controller needs takes as long again to compile.
func TestLittleIsCompiledFirst(t *testing.T) {
	heavy := []string{
		"k8s.io/client-go/dynamic", "k8s.io/client-go/informers", "k8s.io/client-go/listers", "k8s.io/client-go/tools/cache",
		"sigs.k8s.io/cli-utils", "sigs.k8s.io/controller-runtime", "github.com/fluxcd", "github.com/prometheus",
		"testing",
	}
	for program, folder := range map[string]string{"the demo": ".", "the function": "../../fn"} {
		t.Run(program, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "go", "-C", folder, "list", "-deps", ".").Output()
			if err != nil {
				t.Fatal(err)
			}
			for path := range strings.FieldsSeq(string(out)) {
				for _, prefix := range heavy {
					if path == prefix || strings.HasPrefix(path, prefix+"/") {
						t.Errorf("it depends on %s, as `go list -deps -f '{{.ImportPath}} {{.Imports}}' | grep %[1]s` shows; it should be quick to compile", path)
					}
				}
				// Its packages for some groups are small.
				if path == "k8s.io/client-go/kubernetes" {
					t.Errorf("it depends on %s: take clients of the groups that are needed, from its folder typed", path)
				}
			}
		})
	}
}

package main

import (
	"os"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
)

// TestTheProfileOfReleases: it is of the controller, and says nothing of the machine.
func TestTheProfileOfReleases(t *testing.T) {
	content, err := os.ReadFile("../../controller/controller.pgo")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(content)
	if err != nil {
		t.Fatal(err)
	}
	for _, mapping := range p.Mapping {
		if mapping.File != "" || mapping.BuildID != "" {
			t.Errorf("it names the program %s %s", mapping.File, mapping.BuildID)
		}
	}
	for _, function := range p.Function {
		if function.Filename != "" {
			t.Errorf("it names the file %s", function.Filename)
		}
	}
	const look = "github.com/zoetrope/markdown-view/controller/internal/reconciler.(*Reconciler).Reconcile"
	if !slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return f.Name == look }) {
		t.Errorf("it has no %s: make profile", look)
	}
}

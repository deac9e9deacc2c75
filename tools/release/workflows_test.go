package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestDependabotLooksAtEachModule, those of tools and tests, too.
func TestDependabotLooksAtEachModule(t *testing.T) {
	const root = "../.."
	files, err := output(t.Context(), root, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard", "go.mod", "*/go.mod")
	if err != nil {
		t.Skip("this is no clone: ", err)
	}
	var want []string
	for _, file := range lines(files) {
		want = append(want, strings.TrimSuffix("/"+strings.TrimSuffix(file, "go.mod"), "/"))
	}
	var settings struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directory   string   `json:"directory"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	if err := yaml.Unmarshal([]byte(readFile(t, root, ".github", "dependabot.yml")), &settings); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, update := range settings.Updates {
		folders := slices.DeleteFunc(append(update.Directories, update.Directory), func(folder string) bool { return folder == "" })
		for _, folder := range folders {
			if _, err := os.Stat(filepath.Join(root, folder)); err != nil {
				t.Errorf("%s: %v", update.Ecosystem, err)
			}
			if update.Ecosystem == "gomod" {
				got = append(got, strings.TrimSuffix(folder, "/"))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folders of modules (-there +listed):\n%s", diff)
	}
}

// TestActionsArePinned by what nobody can move, with the version for people beside it.
func TestActionsArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`^uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no workflows: %v", err)
	}
	count := 0
	for _, file := range files {
		for line := range strings.Lines(readFile(t, file)) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
			if !strings.HasPrefix(line, "uses:") {
				continue
			}
			count++
			if !pinned.MatchString(line) {
				t.Errorf("%s: %s", filepath.Base(file), line)
			}
		}
	}
	if count == 0 {
		t.Error("no action is used")
	}
}

package examples

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/zoetrope/markdown-view/internal/schematest"
)

// render does to a package what `kpt fn render --allow-exec` does: kpt is no module
// that could be pinned, and its own library, kyaml, reads and writes the files here
// as there. TestRenderIsThatOfKpt holds it against the program.
func render(t *testing.T, dir string) {
	t.Helper()
	pkg := &kio.LocalPackageReadWriter{
		PackagePath:       dir,
		PackageFileName:   "Kptfile",
		MatchFilesGlob:    append([]string{"Kptfile"}, kio.MatchAll...),
		PreserveSeqIndent: true,
	}
	items, err := pkg.Read()
	if err != nil {
		t.Fatal(err)
	}
	program, functionConfig := pipeline(t, dir)
	var input, output, stderr bytes.Buffer
	err = kio.ByteWriter{
		Writer: &input, KeepReaderAnnotations: true, FunctionConfig: functionConfig,
		WrappingKind: kio.ResourceListKind, WrappingAPIVersion: kio.ResourceListAPIVersion,
	}.Write(items)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &input, &output, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v\n%s", program, err, &stderr)
	}
	items, err = (&kio.ByteReader{Reader: &output, OmitReaderAnnotations: true}).Read()
	if err != nil {
		t.Fatal(err)
	}
	if err := pkg.Write(items); err != nil {
		t.Fatal(err)
	}
}

// pipeline returns the one function that the package's Kptfile names, and its
// configuration as kpt passes it.
func pipeline(t *testing.T, dir string) (program string, functionConfig *yaml.RNode) {
	t.Helper()
	var kptfile struct {
		Pipeline struct {
			Mutators []struct {
				Exec      string
				ConfigMap map[string]string `json:"configMap"`
			}
		}
	}
	unmarshal(t, textOf(t, dir, "Kptfile"), &kptfile)
	if len(kptfile.Pipeline.Mutators) != 1 {
		t.Fatalf("%d functions in the Kptfile, want 1", len(kptfile.Pipeline.Mutators))
	}
	mutator := kptfile.Pipeline.Mutators[0]
	functionConfig = yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: function-input\n")
	functionConfig.SetDataMap(mutator.ConfigMap)
	return mutator.Exec, functionConfig
}

// fileLine starts the line with a file's name in a listing.
const fileLine = "# file: "

// listing is a rendered package as one stream of YAML documents, each file's name
// before its content. The Kptfile isn't among them.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".yaml" {
			continue
		}
		b.WriteString("---\n" + fileLine + entry.Name() + "\n" + textOf(t, dir, entry.Name()))
	}
	return b.String()
}

// filesOf returns the files' names in a listing.
func filesOf(listing string) []string {
	var names []string
	for line := range strings.Lines(listing) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), fileLine); ok {
			names = append(names, name)
		}
	}
	return names
}

func textOf(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestKptRender(t *testing.T) {
	dir := copyOf(t, "kpt")
	render(t, dir)
	first := listing(t, dir)
	golden(t, "kpt.yaml", first)
	if err := schematest.Validate([]byte(first)); err != nil {
		t.Errorf("the package isn't valid: %v", err)
	}
	if diff := cmp.Diff([]string{
		"configmap_markdowns-runbook.yaml", "deployment_viewer-runbook.yaml", "markdownview.yaml", "pages.yaml", "service_viewer-runbook.yaml",
	}, filesOf(first)); diff != "" {
		t.Errorf("files of the package (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(textOf(t, "kpt", "Kptfile"), textOf(t, dir, "Kptfile")); diff != "" {
		t.Errorf("the Kptfile was changed (-before +after):\n%s", diff)
	}
	for line := range strings.Lines(textOf(t, "kpt", "markdownview.yaml")) {
		if !strings.Contains(first, line) {
			t.Errorf("the user's file lost the line %q", line)
		}
	}

	for range 2 {
		render(t, dir)
		if diff := cmp.Diff(first, listing(t, dir)); diff != "" {
			t.Errorf("rendering again changes the package (-before +after):\n%s", diff)
		}
	}
}

func TestKptRenderAfterAnEditReplacesTheObjects(t *testing.T) {
	dir := copyOf(t, "kpt")
	render(t, dir)
	before := listing(t, dir)

	edit(t, dir, "pages.yaml", "Drain the node first.", "Drain the node, then wait.")
	render(t, dir)
	after := listing(t, dir)

	if got := strings.Count(after, "Drain the node, then wait."); got != 2 {
		t.Errorf("the new text is there %d times, want 2: in the source and in the generated ConfigMap", got)
	}
	if diff := cmp.Diff(filesOf(before), filesOf(after)); diff != "" {
		t.Errorf("files of the package (-before +after):\n%s", diff)
	}
}

// TestRenderIsThatOfKpt runs where the environment variable KPT names kpt.
func TestRenderIsThatOfKpt(t *testing.T) {
	kpt := os.Getenv("KPT")
	if kpt == "" {
		t.Skip("KPT doesn't name kpt")
	}
	theirs, ours := copyOf(t, "kpt"), copyOf(t, "kpt")
	render(t, ours)
	for range 2 {
		cmd := exec.CommandContext(t.Context(), kpt, "fn", "render", "--allow-exec", theirs)
		if got := resultOf(t, cmd); got.failed {
			t.Fatal(got.stderr)
		}
		if diff := cmp.Diff(listing(t, theirs), listing(t, ours)); diff != "" {
			t.Errorf("rendered package (-kpt +this test):\n%s", diff)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEachLinkedModuleHasItsLicenceInTheImage looks for all that the programs say that they
// are linked with.
func TestEachLinkedModuleHasItsLicenceInTheImage(t *testing.T) {
	text, err := rootfs.ReadFile("rootfs/" + licensesFile)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if _, err := output(t.Context(), "../..", []string{"CGO_ENABLED=0"}, "go", "build", "-buildvcs=false", "-o", folder+"/", "./fn", "./controller"); err != nil {
		t.Fatal(err)
	}
	linked, err := output(t.Context(), folder, nil, "go", "version", "-m", "fn", "controller")
	if err != nil {
		t.Fatal(err)
	}
	modules := regexp.MustCompile(`(?m)^\tdep\t(\S+)`).FindAllStringSubmatch(linked, -1)
	if len(modules) < 50 {
		t.Fatalf("the programs name %d modules:\n%s", len(modules), linked)
	}
	for _, module := range modules {
		if !strings.Contains(string(text), "\n"+module[1]+"\n") {
			t.Errorf("there is no licence of %s: make generate", module[1])
		}
	}
}

func TestLicencesOfParts(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"LICENSE": "Do as you like.\r\n", "NOTICE.txt": "We made it.\n", "licenses.go": "package x\n",
		"deep/er/x.go": "package x\n", "deep/LICENCE": "Don't.\n", "other/LICENSE": "Never.\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := licenses{}
	for module, folder := range map[string]string{"example.com/a": root, "example.com/b": filepath.Join(root, "deep", "er")} {
		if err := l.add(module, root, folder); err != nil {
			t.Fatal(err)
		}
	}
	got := string(l.text())
	for _, want := range []string{"\nexample.com/a\nexample.com/b\n\nDo as you like.\n", "\n\nWe made it.\n", "\nexample.com/b/deep\n\nDon't.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q isn't in it:\n%s", want, got)
		}
	}
	if strings.Contains(got, "Never") || strings.Contains(got, "package") {
		t.Errorf("it has too much:\n%s", got)
	}
	err := licenses{}.add("example.com/c", filepath.Join(root, "deep", "er"), filepath.Join(root, "deep", "er"))
	if want := "example.com/c has no file with a licence"; err == nil || err.Error() != want {
		t.Errorf("without a licence: %v, not %q", err, want)
	}
}

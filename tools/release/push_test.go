package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"
)

func TestWhatIsPushedIsWhatWasBuilt(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository := strings.TrimPrefix(server.URL, "http://") + "/team/markdown-view"
	for how, args := range map[string]struct{ build, push []string }{
		"by the name it was built for": {build: []string{"-image", repository}},
		"by another name":              {push: []string{"-image", repository, "-insecure"}},
	} {
		dist := mustBuild(t, newProject(t), args.build...)
		var stderr bytes.Buffer
		if err := run(t.Context(), append([]string{"push", "-dist", dist}, args.push...), &stderr); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		for what, suffix := range map[string]string{imageLayout: "", manifestsLayout: "-manifests"} {
			_, built := layoutIn(t, dist, what)
			tag, err := name.NewTag(repository + suffix + ":v1.2.3")
			if err != nil {
				t.Fatal(err)
			}
			pushed, err := remote.Get(tag, remote.WithContext(t.Context()))
			if err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			if pushed.Digest != built.Digest {
				t.Errorf("%s: %s is %s, built was %s", how, tag, pushed.Digest, built.Digest)
			}
			if !strings.Contains(stderr.String(), "pushed "+tag.Name()+"@"+built.Digest.String()) {
				t.Errorf("%s: it says %s", how, stderr.String())
			}
		}
	}
}

func TestNothingIsPushedThatWasChanged(t *testing.T) {
	dist := mustBuild(t, newProject(t))
	writeFile(t, filepath.Join(dist, "install.yaml"), "another")
	err := run(t.Context(), []string{"push", "-dist", dist}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "install.yaml isn't what checksums.txt says") {
		t.Errorf("the error is %v", err)
	}
	err = run(context.Background(), []string{"push", "-dist", t.TempDir()}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "fill the folder with release build") {
		t.Errorf("the error is %v", err)
	}
}

func TestTheSBOMNamesWhatIsLinked(t *testing.T) {
	source := newProject(t)
	dist := mustBuild(t, source)
	document, err := spdxjson.Read(strings.NewReader(readFile(t, dist, "markdown-view_v1.2.3.spdx.json")))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(document); err != nil {
		t.Error(err)
	}
	packages := map[string]*spdx.Package{}
	for _, pkg := range document.Packages {
		packages[pkg.PackageName] = pkg
	}
	for line := range strings.Lines(readFile(t, dist, checksumsFile)) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if !strings.HasPrefix(file, "fn_") && !strings.HasPrefix(file, "controller_") {
			continue
		}
		if pkg := packages[file]; pkg == nil || pkg.PackageChecksums[0].Value != sum {
			t.Errorf("%s isn't listed with its checksum: %v", file, pkg)
		}
	}
	if packages["stdlib"] == nil || packages["stdlib"].PackageVersion == "" {
		t.Error("Go's own packages aren't listed")
	}
	_, image := layoutIn(t, dist, imageLayout)
	if pkg := packages["registry.example.com/markdown-view"]; pkg == nil || "sha256:"+pkg.PackageChecksums[0].Value != image.Digest.String() {
		t.Errorf("the image isn't listed with its digest: %v", pkg)
	}
}

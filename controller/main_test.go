package main

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/controller/internal/artifact"
)

// TestArtifactsOfAKilledContainerAreRemoved: the next container finds the folder as it
// was left, and starts with the same process id.
func TestArtifactsOfAKilledContainerAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	folder, err := artifactsFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := artifactsFolder()
	if err != nil {
		t.Fatal(err)
	}
	if again != folder {
		t.Errorf("the folder is %s, was %s: what was left there stays", again, folder)
	}
	if left, err := os.ReadDir(again); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestFlagsReachSources(t *testing.T) {
	for name, test := range map[string]struct {
		args       []string
		closed     bool
		namespaces []string
	}{
		"as they are by default":         {closed: true},
		"cross-namespace references":     {args: []string{"--no-cross-namespace-refs=false"}},
		"some namespaces":                {args: []string{"--namespaces=a,b"}, closed: true, namespaces: []string{"a", "b"}},
		"the controller's own namespace": {args: []string{"--watch-all-namespaces=false"}, closed: true, namespaces: []string{"own"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("RUNTIME_NAMESPACE", "own")
			o, err := parse(test.args)
			if err != nil {
				t.Fatal(err)
			}
			sources, err := newSources(o, nil, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if sources.NoCrossNamespaceRefs != test.closed {
				t.Errorf("NoCrossNamespaceRefs is %t", sources.NoCrossNamespaceRefs)
			}
			if diff := cmp.Diff(test.namespaces, sources.Namespaces); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInvalidFlags(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "")
	for fault, want := range map[string]string{
		"--concurrent=0":               "--concurrent is 0, must be 1 or more",
		"--concurrent-rollouts=-1":     "--concurrent-rollouts is -1, must be 0 or more",
		"--watch-all-namespaces=false": "needs the environment variable RUNTIME_NAMESPACE",
		"--artifact-hosts=http://a.b":  `--artifact-hosts: "http://a.b" is no host`,
		"more":                         `unexpected argument "more"`,
	} {
		if _, err := parse([]string{fault}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", fault, err)
		}
	}
}

// withoutCertificates is set in a process that finds no certificates, as in the image.
const withoutCertificates = "TEST_WITHOUT_CERTIFICATES"

// TestPublicAuthoritiesAreKnownInTheImage: https would fail for events and artifacts.
func TestPublicAuthoritiesAreKnownInTheImage(t *testing.T) {
	if os.Getenv(withoutCertificates) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		again.Env = []string{withoutCertificates + "=true", "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent"}
		if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	text, err := os.ReadFile("testdata/isrg-root-x1.pem")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	_, err = certificate.Verify(x509.VerifyOptions{CurrentTime: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Error(err)
	}
}

func TestDefaultsAreClosed(t *testing.T) {
	o, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !o.noCrossNamespaceRefs || o.pprofAddr != "" || o.viewMetrics {
		t.Errorf("open by default: %+v", o)
	}
	if diff := cmp.Diff(artifact.DefaultHosts, o.artifactHosts); diff != "" {
		t.Error(diff)
	}
}

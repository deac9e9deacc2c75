package integration

import (
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/product"
)

// TestAReleaseIsInstalledAndRemoved in a cluster that has nothing of ours, with kubectl
// alone: applied by either way, and deleted.
func TestAReleaseIsInstalledAndRemoved(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Nodes: 1})
	release, err := product.MakeRelease(t.Context(), "v0.0.0-test", filepath.Join(t.TempDir(), "dist"))
	if err != nil {
		t.Fatal(err)
	}
	image, err := release.Image()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(image, product.ReleaseImage+":"+release.Version+"@sha256:") {
		t.Errorf("the image is %s", image)
	}
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := c.Kubectl(t.Context(), "", args...)
		if err != nil {
			t.Fatalf("kubectl %v: %v\n%s", args, err, out)
		}
		return out
	}
	for _, how := range [][]string{{"apply"}, {"apply", "--server-side"}} {
		out := kubectl(append(how, "-f", release.InstallYAML())...)
		if strings.Contains(out, "Warning") {
			t.Errorf("kubectl %v:\n%s", how, out)
		}
		kubectl("wait", "crd/markdownviews.view.zoetrope.github.io", "--for=condition=Established", "--timeout=1m")
		kubectl("-n", product.Namespace, "rollout", "status", "deployment/markdown-view-controller", "--timeout=2m")
		kubectl("apply", "-f", "../../examples/inline/markdownview.yaml")
		admin, err := product.NewClient(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		deployment := &appsv1.Deployment{}
		if err := admin.Get(t.Context(), client.ObjectKey{Namespace: product.Namespace, Name: "markdown-view-controller"}, deployment); err != nil {
			t.Fatal(err)
		}
		if got := deployment.Spec.Template.Spec.Containers[0].Image; got != image {
			t.Errorf("the image is %s", got)
		}
		checkVersions(t, kubectl("get", "-f", release.InstallYAML(), `--output=jsonpath={range .items[*]}{.kind} {.metadata.name}={.metadata.labels.app\.kubernetes\.io/version}{"\n"}{end}`), release.Version)
		kubectl("delete", "-f", release.InstallYAML())
		if left := kubectl("get", "clusterroles,clusterrolebindings,crd", "--output=name"); strings.Contains(left, "markdown") {
			t.Errorf("what is left:\n%s", left)
		}
	}
}

// checkVersions looks at the version of each line "<object>=<version>".
func checkVersions(t *testing.T, lines, version string) {
	t.Helper()
	if count := strings.Count(lines, "\n"); count < 10 {
		t.Errorf("install.yaml has %d objects:\n%s", count, lines)
	}
	for line := range strings.Lines(lines) {
		if object, got, _ := strings.Cut(strings.TrimSpace(line), "="); got != version {
			t.Errorf("%s has the version %q", object, got)
		}
	}
}

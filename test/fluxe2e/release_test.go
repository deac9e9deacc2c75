package fluxe2e

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
	"github.com/zoetrope/markdown-view/test/product"
)

// TestFluxInstallsARelease has Flux take the manifests of a release from a registry, as
// docs/install.md has it, and removes them again.
func TestFluxInstallsARelease(t *testing.T) {
	t.Parallel()
	w, err := newWorld(t.Context(), clustertest.Start(t, cluster.Options{Nodes: 1}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.flux.Close)
	f := fixtureIn(t, w, "flux-system")
	f.must(f.flux.Start(t.Context()))
	release, err := product.MakeRelease(t.Context(), "v0.0.0-flux", filepath.Join(t.TempDir(), "dist"))
	f.must(err)
	registry := f.registry()
	f.must(release.Push(t.Context(), registry))

	for _, object := range f.documentedInstallation() {
		if spec := object.Object["spec"].(map[string]any); object.GetKind() == sourcev1.OCIRepositoryKind {
			spec["url"] = strings.Replace(spec["url"].(string), "ghcr.io", registry, 1)
			spec["insecure"], spec["ref"] = true, map[string]any{"tag": release.Version}
		}
		f.must(f.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl")))
	}
	f.applied("markdown-view", "")
	f.isInstalled(release)
	f.applied("markdown-view-sources", "")
	if policies := f.kubectl("get", "networkpolicies", "--output=name", "--selector=kustomize.toolkit.fluxcd.io/name=markdown-view-sources"); strings.TrimSpace(policies) == "" {
		f.Error("nothing lets the controller in to source-controller")
	}

	kustomization := newKustomization()
	kustomization.SetName("markdown-view")
	kustomization.SetNamespace(f.namespace)
	f.must(f.Client.Delete(t.Context(), kustomization))
	f.eventually("the controller to be removed", func() string {
		if err := f.Client.Get(t.Context(), controllerKey, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
			return "it is there"
		}
		return ""
	})
}

// registry starts a registry for the cluster, and returns its address.
func (f *fixture) registry() string {
	f.Helper()
	crane, err := build.Crane(f.Context(), build.Stderr())
	f.must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	f.must(err)
	address := listener.Addr().String()
	f.must(listener.Close())
	f.must(os.Mkdir(filepath.Join(f.Cluster.Folder(), "releases"), 0o700))
	_, err = f.Cluster.Run(f.Context(), supervise.Process{Name: "releases", Path: crane, Args: []string{"registry", "serve", "--address=" + address, "--disk=releases"}})
	f.must(err)
	f.eventually("the registry to answer", func() string {
		answer, err := http.Get("http://" + address + "/v2/")
		if err != nil {
			return err.Error()
		}
		_ = answer.Body.Close()
		return ""
	})
	return address
}

var controllerKey = client.ObjectKey{Namespace: product.Namespace, Name: "markdown-view-controller"}

// documentedInstallation are Flux's objects in docs/install.md.
func (f *fixture) documentedInstallation() []*unstructured.Unstructured {
	f.Helper()
	var all []*unstructured.Unstructured
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(f.mustRead("../../docs/install.md"), -1) {
		objects, err := product.Objects([]byte(block[1]))
		f.must(err)
		for _, object := range objects {
			if strings.HasSuffix(object.GroupVersionKind().Group, ".toolkit.fluxcd.io") {
				all = append(all, object)
			}
		}
	}
	if len(all) != 3 {
		f.Fatalf("docs/install.md has %d objects of Flux's, should be an OCIRepository with two Kustomizations", len(all))
	}
	return all
}

// isInstalled looks at what Flux has applied.
func (f *fixture) isInstalled(release *product.Release) {
	f.Helper()
	repository := &sourcev1.OCIRepository{}
	if !f.get(repository, "markdown-view") || !conditions.IsReady(repository) {
		f.Fatalf("the OCIRepository isn't Ready: %v", repository.Status.Conditions)
	}
	if got := repository.Status.Artifact.Revision; !strings.HasPrefix(got, release.Version+"@sha256:") {
		f.Errorf("the artifact's revision is %s", got)
	}
	if got := repository.Status.Artifact.Metadata["org.opencontainers.image.revision"]; !strings.HasPrefix(got, release.Version+"@sha1:") {
		f.Errorf("the artifact's commit is %q", got)
	}
	deployment := &appsv1.Deployment{}
	f.must(f.Client.Get(f.Context(), controllerKey, deployment))
	image, err := release.Image()
	f.must(err)
	if got := deployment.Spec.Template.Spec.Containers[0].Image; got != image {
		f.Errorf("the image is %s, install.yaml's is %s", got, image)
	}
	if got := deployment.Labels["app.kubernetes.io/version"]; got != release.Version {
		f.Errorf("the label of the version is %q", got)
	}
	if deployment.Status.AvailableReplicas != 2 {
		f.Errorf("the Kustomization is Ready with %d of the controller's 2 pods", deployment.Status.AvailableReplicas)
	}
	policy := f.kubectl("get", "validatingadmissionpolicies", "--output=name", "--selector=kustomize.toolkit.fluxcd.io/name=markdown-view")
	if strings.TrimSpace(policy) == "" {
		f.Error("the component isn't applied")
	}
}

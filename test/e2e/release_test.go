package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/product"
	"github.com/zoetrope/markdown-view/test/viewer"
)

// TestAReleaseTakesOver installs the release before, and this one over it, each as
// docs/install.md has it, from the image of its layout. No viewer's pod is restarted, and
// the views are Ready and served all the time.
func TestAReleaseTakesOver(t *testing.T) {
	clustertest.Need(t, shared, cluster.Node)
	f := newExclusiveFixture(t)
	before, err := product.MakeReleaseBefore(t.Context(), t.TempDir())
	f.Must(err)
	release, err := product.MakeRelease(t.Context(), imageVersion, filepath.Join(t.TempDir(), "dist"))
	f.Must(err)
	folder := t.TempDir()
	t.Cleanup(func() { // what the other tests expect
		if err := install(context.WithoutCancel(t.Context()), folder, images.product); err != nil {
			t.Error(err)
		}
	})
	f.install(before)
	f.serve("Served all the time")
	f.create(f.project())
	f.Ready("project")
	served, reader, unready := f.served(), f.site().Reader("/"), f.unready()

	f.install(release)
	f.sameImage(release)
	for _, view := range []string{"docs", "project"} {
		f.handles(view, "after-the-upgrade")
		f.Ready(view)
	}
	if diff := cmp.Diff(served, f.served()); diff != "" {
		t.Errorf("the upgrade from %s was noticed (-before +after):\n%s", before.Version, diff)
	}
	if told := unready(); len(told) > 0 {
		t.Errorf("views weren't Ready all the time: %q", told)
	}
	answers := reader.End()
	for _, a := range viewer.Failures(answers) {
		t.Errorf("at %s: %s", a.At, a.Failed)
	}
	t.Logf("%d answers, while %s took over from %s", len(answers), release.Version, before.Version)
	f.change(page("Changed by the release"))
	f.ready()
	f.site().Shows("/", "Changed by the release")
}

// install applies a release from a registry, and waits until it leads.
func (f *fixture) install(release *product.Release) {
	f.Helper()
	f.Must(release.Push(f.Context(), shared.Registry()))
	f.system("apply", "--server-side", "--force-conflicts", "-f", release.InstallYAML())
	waitForController(f)
	f.leads(release)
	if got := f.system("-n", product.Namespace, "exec", "deployment/markdown-view-controller", "--", "/controller", "--version"); strings.TrimSpace(got) != release.Version {
		f.Errorf("controller --version prints %q, not %s", got, release.Version)
	}
}

// project is a view with a folder, a book.toml and two pods.
func (f *fixture) project() *v1.MarkdownView {
	view := f.view("project", map[string]string{"start.md": "# Start\n", "guide/first.md": "# First\n"})
	view.Spec.BookToml = "[book]\ntitle = \"A project\"\n"
	replicas := int32(2)
	view.Spec.Replicas = &replicas
	return view
}

// unready watches the views, and returns what tells, in the end, what they said when they
// weren't Ready. That they have been for as long isn't to be read off the condition: another
// message, of another release, sets its time anew.
func (f *fixture) unready() func() []string {
	f.Helper()
	watcher, err := client.NewWithWatch(f.Cluster.Config, client.Options{Scheme: f.Client.Scheme()})
	f.Must(err)
	views, err := watcher.Watch(f.Context(), &v1.MarkdownViewList{}, client.InNamespace(f.Namespace))
	f.Must(err)
	told := make(chan []string, 1)
	go func() {
		var all []string
		for event := range views.ResultChan() {
			if view, ok := event.Object.(*v1.MarkdownView); ok && !conditions.IsReady(view) {
				all = append(all, fmt.Sprintf("%s: %v", view.Name, view.Status.Conditions))
			}
		}
		told <- all
	}()
	return func() []string {
		views.Stop()
		return <-told
	}
}

// served is what nobody may touch: pods with the restarts of their containers.
func (f *fixture) served() map[string]string {
	f.Helper()
	served := map[string]string{}
	for _, view := range []string{"docs", "project"} {
		for _, pod := range f.Pods(view) {
			for _, container := range pod.Status.ContainerStatuses {
				served[pod.Name] += fmt.Sprintf("%s %s restarted %d times; ", pod.UID, container.ContainerID, container.RestartCount)
			}
		}
	}
	return served
}

// system runs kubectl outside of the test's namespace.
func (f *fixture) system(args ...string) string {
	f.Helper()
	out, err := kubectl(f.Context(), args...)
	if err != nil {
		f.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return out
}

// leads waits until one of a release's pods is the leader.
func (f *fixture) leads(release *product.Release) {
	f.Helper()
	f.eventually("a pod of the release to lead", func() string {
		names := strings.Fields(f.system("-n", product.Namespace, "get", "pods", "--selector=app.kubernetes.io/version="+release.Version, "--output=jsonpath={.items[*].metadata.name}"))
		leases := &coordinationv1.LeaseList{}
		f.Must(f.Client.List(f.Context(), leases, client.InNamespace(product.Namespace)))
		for i := range leases.Items {
			if holder := leases.Items[i].Spec.HolderIdentity; holder != nil {
				for _, name := range names {
					if strings.HasPrefix(*holder, name+"_") {
						return ""
					}
				}
			}
		}
		return fmt.Sprintf("%d leases, pods %v", len(leases.Items), names)
	})
}

// handles asks for a reconciliation, and waits for it.
func (f *fixture) handles(name, request string) {
	f.Helper()
	f.kubectl("annotate", "--overwrite", "markdownview", name, meta.ReconcileRequestAnnotation+"="+request)
	f.eventually(name+" to be looked at", func() string {
		view := &v1.MarkdownView{}
		if !f.get(view, name) || view.Status.LastHandledReconcileAt != request {
			return "it isn't: " + view.Status.LastHandledReconcileAt
		}
		return ""
	})
}

// sameImage holds the image of the release against the one that make image has built of
// the same sources: files, configuration and labels, the commit's aside.
func (f *fixture) sameImage(release *product.Release) {
	f.Helper()
	crane, err := build.Crane(f.Context(), build.Stderr())
	f.Must(err)
	_, path, _ := strings.Cut(product.ReleaseImage, "/")
	released, err := readImage(f.Context(), crane, shared.Registry()+"/"+path+":"+release.Version)
	f.Must(err)
	_, path, _ = strings.Cut(images.product, "/")
	built, err := readImage(f.Context(), crane, shared.Registry()+"/"+path)
	f.Must(err)
	if diff := cmp.Diff(built, released); diff != "" {
		f.Errorf("the release's image differs from that of make image (-make image +release):\n%s", diff)
	}
}

// imageContent is what two images of the same sources have in common.
type imageContent struct {
	User       string
	Entrypoint []string
	Labels     map[string]string
	// Files are modes and digests by paths.
	Files map[string]string
}

func readImage(ctx context.Context, crane, name string) (*imageContent, error) {
	text, err := exec.CommandContext(ctx, crane, "config", "--insecure", name).Output()
	if err != nil {
		return nil, fmt.Errorf("crane config %s: %w", name, err)
	}
	var config struct{ Config imageContent }
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	content := &config.Config
	for label := range content.Labels {
		// The builder adds one of its own.
		if label == "org.opencontainers.image.created" || !strings.HasPrefix(label, "org.opencontainers.") {
			delete(content.Labels, label)
		}
	}
	text, err = exec.CommandContext(ctx, crane, "export", "--insecure", name, "-").Output()
	if err != nil {
		return nil, fmt.Errorf("crane export %s: %w", name, err)
	}
	content.Files = map[string]string{}
	archive := tar.NewReader(bytes.NewReader(text))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return content, nil
		}
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, archive); err != nil { //nolint:gosec // of ours
			return nil, err
		}
		content.Files[strings.Trim(header.Name, "/")] = fmt.Sprintf("%c %o %x", header.Typeflag, header.Mode&0o777, sum.Sum(nil))
	}
}

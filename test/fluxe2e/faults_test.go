package fluxe2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/flux"
)

// TestFailingSourcesKeepThePagesServed takes a source's artifact away in all ways. The
// pages that were served stay, the view says what is wrong, and heals by itself.
func TestFailingSourcesKeepThePagesServed(t *testing.T) {
	f := newCluster(t)
	f.must(f.flux.Start(t.Context()))
	controller, err := f.RunController(t.Context(), "controller")
	f.must(err)
	f.sourceView("handbook", "handbook", "docs")
	f.status("handbook", metav1.ConditionFalse, v1.SourceNotFoundReason, "doesn't exist: create it")
	repository := f.repository(example("docs-repository"))
	f.gitRepository("handbook", repository)
	f.ready("handbook")

	for _, step := range []struct {
		name string
		run  func(*fixture, *flux.Repository, *cluster.Component)
	}{
		{"the artifact isn't there", artifactIsGone},
		{"the artifact was tampered with", artifactWasTamperedWith},
		{"the folder isn't in the source", folderIsMissing},
		{"the repository is gone", repositoryIsGone},
		{"source-controller has lost its storage", storageIsLost},
		{"the source is deleted", sourceIsDeleted},
	} {
		passed := t.Run(step.name, func(t *testing.T) {
			step.run(f.in(t), repository, controller)
		})
		if !passed {
			return // the steps build on each other
		}
	}
}

// keeps has a fault hold for a while, in which nothing of the view is written.
func (f *fixture) keeps(before map[string]string) {
	f.Helper()
	f.while(aWhile, "the view's objects were changed", func() string { return cmp.Diff(before, f.children()) })
}

// atRest waits until a view has settled, and returns what keeps holds it to.
func (f *fixture) atRest(view string) map[string]string {
	f.Helper()
	f.settled(view)
	return f.children()
}

// children are the resource versions of what a view made.
func (f *fixture) children() map[string]string {
	f.Helper()
	versions := f.versions()
	for name := range versions {
		if strings.HasPrefix(name, v1.Kind) {
			delete(versions, name)
		}
	}
	return versions
}

func artifactIsGone(f *fixture, repository *flux.Repository, controller *cluster.Component) {
	before := f.atRest("handbook")
	f.flux.Artifacts.Answer("/handbook/", http.NotFound)
	revision := f.push(repository, "handbook", map[string]string{"docs/welcome.md": "# Welcome, after 404\n"})
	f.status("handbook", metav1.ConditionFalse, v1.ArtifactFailedReason, revision, "couldn't be fetched")
	f.logged(controller, "404 Not Found")
	f.keeps(before)
	f.flux.Artifacts.Answer("/handbook/", nil)
	f.readyAt("handbook", revision)
}

func artifactWasTamperedWith(f *fixture, repository *flux.Repository, controller *cluster.Component) {
	before := f.atRest("handbook")
	f.flux.Artifacts.Answer("/handbook/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(archive(f.T, file("docs/SUMMARY.md", "- [Evil](evil.md)\n"), file("docs/evil.md", "# Evil\n")))
	})
	revision := f.push(repository, "handbook", map[string]string{"docs/welcome.md": "# Welcome, after tampering\n"})
	f.status("handbook", metav1.ConditionFalse, v1.ArtifactFailedReason, "couldn't be fetched")
	f.logged(controller, "doesn't match the digest")
	f.keeps(before)
	f.flux.Artifacts.Answer("/handbook/", nil)
	f.readyAt("handbook", revision)
}

func folderIsMissing(f *fixture, repository *flux.Repository, _ *cluster.Component) {
	before := f.atRest("handbook")
	f.must(os.Rename(filepath.Join(repository.Folder, "docs"), filepath.Join(repository.Folder, "moved")))
	f.push(repository, "handbook", nil)
	f.status("handbook", metav1.ConditionFalse, v1.InvalidReason, "spec.contentFrom[0].sourceRef.path: docs: no such folder in the artifact of GitRepository")
	f.keeps(before)
	revision, err := repository.Revert(f.Context())
	f.must(err)
	f.request(&sourcev1.GitRepository{}, "handbook")
	f.readyAt("handbook", revision)
}

// repositoryIsGone is a failing source, which keeps its artifact.
func repositoryIsGone(f *fixture, repository *flux.Repository, _ *cluster.Component) {
	before := f.atRest("handbook")
	f.patch(&sourcev1.GitRepository{}, "handbook", fmt.Sprintf(`{"spec":{"url":%q}}`, repository.URL+"-gone"))
	f.eventually("the source to fail", func() string {
		source := &sourcev1.GitRepository{}
		f.get(source, "handbook")
		for _, condition := range source.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == metav1.ConditionFalse {
				return ""
			}
		}
		return "it doesn't"
	})
	f.ready("handbook")
	f.keeps(before)
	f.patch(&sourcev1.GitRepository{}, "handbook", fmt.Sprintf(`{"spec":{"url":%q}}`, repository.URL))
	f.ready("handbook")
}

// storageIsLost restarts source-controller with nothing on its disk, and our
// controller, which then has nothing either.
func storageIsLost(f *fixture, repository *flux.Repository, controller *cluster.Component) {
	before := f.atRest("handbook")
	f.must(f.flux.Source.Kill(f.Context()))
	entries, err := os.ReadDir(f.flux.Storage())
	f.must(err)
	for _, entry := range entries {
		f.must(os.RemoveAll(filepath.Join(f.flux.Storage(), entry.Name())))
	}
	f.ready("handbook") // of what was fetched before
	f.must(controller.Restart(f.Context()))
	f.status("handbook", metav1.ConditionFalse, v1.ArtifactFailedReason, "fetch the artifact")
	f.keeps(before)
	f.must(f.flux.Source.Start(f.Context()))
	f.ready("handbook")
	if diff := cmp.Diff(before, f.children()); diff != "" {
		f.Errorf("the view's objects were changed:\n%s", diff)
	}
	revision := f.push(repository, "handbook", map[string]string{"docs/welcome.md": "# Welcome, after the loss\n"})
	f.readyAt("handbook", revision)
}

func sourceIsDeleted(f *fixture, repository *flux.Repository, _ *cluster.Component) {
	before := f.atRest("handbook")
	source := &sourcev1.GitRepository{}
	f.get(source, "handbook")
	f.must(f.Client.Delete(f.Context(), source))
	f.status("handbook", metav1.ConditionFalse, v1.SourceNotFoundReason, "doesn't exist: create it")
	f.keeps(before)
	f.gitRepository("handbook", repository)
	f.ready("handbook")
}

// logged looks for what only the log tells.
func (f *fixture) logged(controller *cluster.Component, text string) {
	f.Helper()
	if !strings.Contains(f.mustRead(controller.LogFile()), text) {
		f.Errorf("the controller's log doesn't say %q", text)
	}
}

func TestSourcesInOtherNamespacesAreRefusedUnlessAllowed(t *testing.T) {
	f := newCluster(t)
	f.must(f.flux.Start(t.Context()))
	controller, err := f.RunController(t.Context(), "controller")
	f.must(err)
	f.gitRepository("handbook", f.repository(example("docs-repository")))
	view := viewOf("handbook", v1.SourceReference{Kind: v1.GitRepositoryKind, Namespace: f.namespace, Name: "handbook", Path: "docs"})
	f.create(view)
	f.ready("handbook")
	elsewhere, other := *f.Fixture, *f
	elsewhere.Namespace, other.namespace = "default", "default"
	other.Fixture = &elsewhere
	other.create(viewOf("handbook", *view.Spec.ContentFrom[0].SourceRef))
	other.status("handbook", metav1.ConditionFalse, v1.AccessDeniedReason, "is in another namespace")
	f.must(controller.Stop(context.WithoutCancel(t.Context())))
	_, err = f.RunController(t.Context(), "lenient", "--no-cross-namespace-refs=false")
	f.must(err)
	other.ready("handbook")
}

package fluxe2e

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/flux"
)

// gitRepository makes a GitRepository of a repository's main branch. It is looked at
// when a test asks for it, as with Flux's Receiver.
func (f *fixture) gitRepository(name string, repository *flux.Repository) {
	f.Helper()
	f.create(&sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: sourcev1.GitRepositorySpec{
			URL: repository.URL, Interval: metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
		},
	})
}

// sourceView makes a view of a folder in a GitRepository.
func (f *fixture) sourceView(name, source, path string) {
	f.Helper()
	f.create(viewOf(name, v1.SourceReference{Kind: v1.GitRepositoryKind, Name: source, Path: path}))
}

func viewOf(name string, ref v1.SourceReference) *v1.MarkdownView {
	return &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.MarkdownViewSpec{ContentFrom: []v1.ContentSource{{SourceRef: &ref}}},
	}
}

// push commits and pushes, tells the GitRepository as Flux's Receiver would, and
// returns the revision.
func (f *fixture) push(repository *flux.Repository, source string, files map[string]string) string {
	f.Helper()
	f.must(repository.Write(files))
	revision, err := repository.Push(f.Context(), "Change pages")
	f.must(err)
	f.request(&sourcev1.GitRepository{}, source)
	return revision
}

// request asks for a reconciliation, as `flux reconcile` does, and returns what it
// asked with.
func (f *fixture) request(object client.Object, name string) string {
	f.Helper()
	at := strconv.FormatInt(time.Now().UnixNano(), 10)
	f.patch(object, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.ReconcileRequestAnnotation, at))
	return at
}

// fetched waits until source-controller has a revision.
func (f *fixture) fetched(source, revision string) {
	f.Helper()
	repository := &sourcev1.GitRepository{}
	f.eventually("GitRepository "+source+" to have "+revision, func() string {
		if !f.get(repository, source) || repository.Status.Artifact == nil {
			return "it has no artifact: " + conditions.GetMessage(repository, meta.ReadyCondition)
		}
		return differs(repository.Status.Artifact.Revision, revision)
	})
}

// readyAt waits until a view is Ready with a revision.
func (f *fixture) readyAt(name, revision string) {
	f.Helper()
	view := &v1.MarkdownView{}
	f.eventually(name+" to be Ready at "+revision, func() string {
		switch {
		case !f.get(view, name):
			return "it doesn't exist"
		case view.Status.LastAppliedRevision != revision:
			return "it is at " + view.Status.LastAppliedRevision + ": " + conditions.GetMessage(view, meta.ReadyCondition)
		case !conditions.IsReady(view):
			return conditions.GetMessage(view, meta.ReadyCondition)
		}
		return ""
	})
}

func newKustomization() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"})
	return object
}

// kustomization is what is asked of a Kustomization's status.
type kustomization struct {
	ready, reason, message, applied, handled string
}

func (f *fixture) kustomization(name string) kustomization {
	f.Helper()
	object := newKustomization()
	if !f.get(object, name) {
		return kustomization{message: "it doesn't exist"}
	}
	var k kustomization
	k.applied, _, _ = unstructured.NestedString(object.Object, "status", "lastAppliedRevision")
	k.handled, _, _ = unstructured.NestedString(object.Object, "status", "lastHandledReconcileAt")
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range list {
		condition := entry.(map[string]any)
		if condition["type"] == meta.ReadyCondition {
			k.ready, k.reason = condition["status"].(string), condition["reason"].(string)
			k.message, _ = condition["message"].(string)
		}
	}
	return k
}

// applied waits until a Kustomization is Ready at a revision; an empty one means any.
func (f *fixture) applied(name, revision string) {
	f.Helper()
	f.eventually("Kustomization "+name+" to be Ready at "+revision, func() string {
		k := f.kustomization(name)
		if k.ready != "True" || revision != "" && k.applied != revision {
			return fmt.Sprintf("it is %+v", k)
		}
		return ""
	})
}

package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/artifact"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/directory"
)

// How long it takes at most until it is reported that something goes on: most artifacts
// are there sooner, and views whose pages didn't change are then written once.
const grace = time.Second

// progressRecheck is when a view that waits for an artifact looks again without having
// been woken.
const progressRecheck = time.Minute

// find finds the artifact that a view's source has now.
func (s *Sources) find(ctx context.Context, view *v1.MarkdownView, field string, ref *v1.SourceReference) (*Input, error) {
	key := sourceKey(view, ref)
	name := fmt.Sprintf("%s %s", ref.Kind, key)
	if s.NoCrossNamespaceRefs && key.Namespace != view.Namespace {
		return nil, &outcome.Error{State: outcome.Stalled, Reason: v1.AccessDeniedReason,
			Message: field + ": " + name + " is in another namespace, which this controller doesn't allow: make one in " + view.Namespace}
	}
	if !s.watches(key.Namespace) {
		return nil, &outcome.Error{State: outcome.Stalled, Reason: v1.AccessDeniedReason,
			Message: field + ": " + name + " is in a namespace that this controller doesn't watch: make one in " + view.Namespace + ", or add the namespace to --namespaces"}
	}
	if err := s.watch(ref.Kind); err != nil {
		if apimeta.IsNoMatchError(err) {
			return nil, &outcome.Error{State: outcome.Retrying, Reason: v1.SourceNotFoundReason, Retry: unknownKindRecheck,
				Message: field + ": the cluster has no " + ref.Kind + ": install Flux's source-controller, or use configMapRef"}
		}
		return nil, artifactFailed(field+": watch "+ref.Kind, err)
	}
	if err := s.synced(ctx, ref.Kind); err != nil {
		return nil, err
	}
	object := newSource(ref.Kind)
	switch err := s.Reader.Get(ctx, key, object); {
	case apierrors.IsNotFound(err):
		return nil, &outcome.Error{State: outcome.Retrying, Reason: v1.SourceNotFoundReason,
			Message: field + ": " + name + " doesn't exist: create it"}
	case err != nil:
		return nil, artifactFailed(field+": read "+name, err)
	}
	current := artifactOf(object)
	if current == nil {
		return nil, withoutArtifact(field, name, object)
	}
	of := artifact.Source{Kind: ref.Kind, Namespace: key.Namespace, Name: key.Name}
	if err := s.Artifacts.Check(of, current); err != nil {
		return nil, &outcome.Error{State: outcome.Stalled, Reason: v1.AccessDeniedReason, Message: field + ": " + name, Err: err}
	}
	return &Input{
		Field:    field,
		Version:  current.Digest + " " + ref.Path,
		Revision: current.Revision,
		Bytes:    func() int64 { return min(s.Artifacts.Bytes(of, current), book.MaxBookBytes) },
		Read: func(context.Context) (book.Book, error) {
			return s.read(view, field, ref.Path, of, current)
		},
	}, nil
}

// withoutArtifact is the outcome of a source that offers nothing yet, or can't. Its next
// change wakes the view.
func withoutArtifact(field, name string, object *unstructured.Unstructured) error {
	ready, message := readyOf(object)
	err := &outcome.Error{State: outcome.Progressing, Reason: v1.ProgressingReason, Retry: progressRecheck,
		Message: field + ": " + name + " has no artifact yet"}
	suspended, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend") // false, if it is something else
	switch {
	case suspended:
		err.State, err.Reason = outcome.Retrying, v1.ArtifactFailedReason
		err.Message += ", and is suspended: resume it"
	case ready == string(metav1.ConditionFalse):
		err.State, err.Reason = outcome.Retrying, v1.ArtifactFailedReason
	}
	if message != "" {
		err.Message += ": " + message
	}
	return err
}

// read reads a folder of an artifact as the function reads a directory.
func (s *Sources) read(view *v1.MarkdownView, field, path string, of artifact.Source, current *meta.Artifact) (pages book.Book, _ error) {
	name := fmt.Sprintf("%s %s/%s", of.Kind, of.Namespace, of.Name)
	options := directory.Options{Base: "the artifact of " + name}
	if view.Spec.BookToml != "" {
		options.BookToml = []byte(view.Spec.BookToml)
	}
	var faults diagnostic.List
	err := s.Artifacts.Read(client.ObjectKeyFromObject(view), of, current, func(files fs.FS) error {
		read, err := directory.Read(files, cmp.Or(path, "."), options)
		pages, faults = read, diagnostic.FromError(err)
		return nil
	})
	switch {
	case err != nil:
		return book.Book{}, notFetched(field, fmt.Sprintf("the artifact %s of %s", current.Revision, name), err)
	case len(faults) > 0:
		return book.Book{}, &outcome.Error{State: outcome.Stalled, Reason: v1.InvalidReason, Message: faults.Below(field).Summary()}
	}
	return pages, nil
}

// notFetched is the outcome of an artifact that isn't there, or can't be read.
func notFetched(field, what string, err error) error {
	if busy, ok := errors.AsType[*artifact.BusyError](err); ok {
		message := field + ": fetching " + what
		if left := grace - busy.For; left > 0 {
			return &outcome.Error{State: outcome.Unreported, Retry: left, Message: message}
		}
		return &outcome.Error{State: outcome.Progressing, Reason: v1.ProgressingReason, Retry: progressRecheck, Message: message}
	}
	result := &outcome.Error{State: outcome.Retrying, Reason: v1.ArtifactFailedReason, Message: field + ": fetch " + what, Err: err}
	if failed, ok := errors.AsType[*artifact.FailedError](err); ok {
		result.Retry = failed.Retry
	}
	return result
}

// artifactFailed is the outcome of a source that gives no pages for now.
func artifactFailed(message string, err error) error {
	return &outcome.Error{State: outcome.Retrying, Reason: v1.ArtifactFailedReason, Message: message, Err: err}
}

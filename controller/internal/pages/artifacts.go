package pages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/fluxcd/pkg/apis/meta"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/artifact"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/directory"
)

// cacheTimeout bounds the wait for a cache of sources that doesn't fill, for lack of
// rights say.
const cacheTimeout = 10 * time.Second

// busyRecheck is how soon an artifact is looked for again that is being fetched.
const busyRecheck = 2 * time.Second

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
		return nil, artifactFailed(field, "watch "+ref.Kind, err)
	}
	object := newSource(ref.Kind)
	ctx, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	switch err := s.Reader.Get(ctx, key, object); {
	case apierrors.IsNotFound(err):
		return nil, &outcome.Error{State: outcome.Retrying, Reason: v1.SourceNotFoundReason,
			Message: field + ": " + name + " doesn't exist: create it"}
	case err != nil:
		return nil, artifactFailed(field, "read "+name, err)
	}
	current := artifactOf(object)
	if current == nil {
		message := name + " has no artifact yet"
		if ready := readyMessageOf(object); ready != "" {
			message += ": " + ready
		}
		return nil, artifactFailed(field, message, nil)
	}
	return &Input{
		Field:    field,
		Version:  current.Digest + " " + ref.Path,
		Revision: current.Revision,
		Read: func(ctx context.Context) (book.Book, error) {
			return s.read(ctx, view, field, ref, name, current)
		},
	}, nil
}

// read reads a folder of an artifact as the function reads a directory.
func (s *Sources) read(ctx context.Context, view *v1.MarkdownView, field string, ref *v1.SourceReference, name string, current *meta.Artifact) (pages book.Book, err error) {
	options := directory.Options{Base: "the artifact of " + name}
	if view.Spec.BookToml != "" {
		options.BookToml = []byte(view.Spec.BookToml)
	}
	path := ref.Path
	if path == "" {
		path = "."
	}
	err = s.Artifacts.Read(ctx, current, func(files fs.FS) (err error) {
		pages, err = directory.Read(files, path, options)
		return err
	})
	if faults, ok := errors.AsType[*directory.Error](err); ok {
		invalid := &generator.InvalidError{Name: view.Name, Namespace: view.Namespace}
		for _, file := range faults.Files {
			invalid.Problems = append(invalid.Problems, generator.Problem{Field: field + ".path", Message: file.Error()})
		}
		return book.Book{}, &outcome.Error{State: outcome.Stalled, Reason: v1.InvalidReason, Message: invalid.Summary()}
	}
	if errors.Is(err, artifact.ErrBusy) {
		return book.Book{}, &outcome.Error{State: outcome.Unreported, Retry: busyRecheck, Err: err,
			Message: fmt.Sprintf("%s: fetch the artifact %s of %s", field, current.Revision, name)}
	}
	if err != nil {
		return book.Book{}, artifactFailed(field, fmt.Sprintf("fetch the artifact %s of %s", current.Revision, name), err)
	}
	return pages, nil
}

// artifactFailed is the outcome of a source that gives no pages for now.
func artifactFailed(field, message string, err error) error {
	return &outcome.Error{State: outcome.Retrying, Reason: v1.ArtifactFailedReason, Message: field + ": " + message, Err: err}
}

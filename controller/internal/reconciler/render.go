package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/controller/internal/pages"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// rendering is what a view and its inputs generate.
type rendering struct {
	// key names all that it depends on.
	key string
	at  time.Time
	// revision is the pages' digest.
	revision string
	// objects are what is wanted, in the order in which it is applied. The ConfigMaps
	// are left out of what is remembered: they may be large.
	objects []apply.Desired
	// configMaps are the names of all ConfigMaps.
	configMaps []string
	warnings   diagnostic.List
	// digest names the objects, where drift isn't undone.
	digest string
}

// render generates what a view wants from its inputs; or only what the pages don't make
// large, if that is what was generated and applied last: most events are of pods, and a
// large book isn't to be read and compared for each. fresh reports which.
func (r *Reconciler) render(ctx context.Context, view *v1.MarkdownView, state *viewState, inputs []pages.Input) (rendered rendering, fresh bool, err error) {
	key := renderKey(view, inputs)
	stale, err := r.staleReason(ctx, view, state, key)
	if err != nil {
		return rendering{}, false, err
	}
	if stale == "" {
		return state.rendered, false, nil
	}
	if state.invalid.key == key {
		return rendering{}, false, state.invalid.err
	}
	ctrl.LoggerFrom(ctx).V(1).Info("rendering", "reason", stale)
	whole, contents, err := r.read(ctx, view, inputs)
	if err != nil {
		return rendering{}, false, err
	}
	output, err := generator.Generate(whole, contents)
	if invalid, ok := errors.AsType[*generator.InvalidError](err); ok {
		state.invalid = invalidRendering{key, &outcome.Error{State: outcome.Stalled, Reason: v1.InvalidReason, Message: invalid.Summary()}}
		r.Inline.done(view)
		return rendering{}, false, state.invalid.err
	}
	if err != nil {
		return rendering{}, false, err
	}
	state.invalid = invalidRendering{}
	state.pageBytes.Store(bytesOf(output))
	rendered = rendering{key: key, at: r.Clock.Now(), revision: output.Revision, warnings: output.Warnings}
	for _, configMap := range output.ConfigMaps {
		rendered.configMaps = append(rendered.configMaps, *configMap.Name)
	}
	if rendered.objects, err = apply.DesiredOf(view, output); err != nil {
		return rendering{}, false, err
	}
	if view.DriftMode() != v1.DriftDetectionEnabled {
		rendered.digest, err = apply.DigestOf(view, rendered.objects)
	}
	return rendered, true, err
}

// invalidRendering is what can't be generated, and why: that stays so.
type invalidRendering struct {
	key string
	err error
}

// read reads a view's pages, once there is room for them: those of the view, and of what it
// takes others from.
func (r *Reconciler) read(ctx context.Context, view *v1.MarkdownView, inputs []pages.Input) (*v1.MarkdownView, []generator.Content, error) {
	inline := inlineBytes(view)
	estimate, bytes := inline, int64(0)
	for _, in := range inputs {
		estimate += in.Bytes()
	}
	name := client.ObjectKeyFromObject(view)
	if !r.room.acquire(name, estimate) {
		return nil, nil, errNoRoom(estimate)
	}
	needs := int64(0) // if it fails
	defer func() { r.room.shrink(name, needs) }()
	whole, err := r.withPages(ctx, view)
	if err != nil {
		return nil, nil, err
	}
	contents := make([]generator.Content, 0, len(inputs))
	for _, in := range inputs {
		if known := inline + bytes + in.Bytes(); known > estimate { // it was fetched meanwhile
			if estimate = known; !r.room.acquire(name, estimate) {
				return nil, nil, errNoRoom(estimate)
			}
		}
		book, err := in.Read(ctx)
		if err != nil {
			return nil, nil, err
		}
		if bytes += bytesOfBook(book); bytes > bookRoomBytes {
			return nil, nil, errTooManyPages(bytes)
		}
		contents = append(contents, generator.Content{Field: in.Field, Book: book})
	}
	if inline+bytes > estimate && !r.room.acquire(name, inline+bytes) {
		return nil, nil, errNoRoom(inline + bytes)
	}
	needs = inline + bytes
	return whole, contents, nil
}

// staleReason says why what was rendered last isn't what is wanted, or isn't what is
// there; empty if it is. Whatever the interval, an input that hasn't changed isn't read
// again for it.
func (r *Reconciler) staleReason(ctx context.Context, view *v1.MarkdownView, state *viewState, key string) (string, error) {
	last := &state.rendered
	switch {
	case last.key == "":
		return "nothing is remembered of the view", nil
	case last.key != key:
		return "the view or its inputs changed", nil
	case view.DriftMode() == v1.DriftDetectionDisabled:
		return "", nil // whatever is there
	case r.Clock.Since(last.at) >= view.Spec.Interval.Duration && state.lastApplied.Insisted(last.configMaps):
		return "the interval has passed", nil
	}
	var live corev1.ConfigMapList
	if err := r.Client.List(ctx, &live, apply.OfView(view)...); err != nil {
		return "", err
	}
	if !state.lastApplied.AreCurrent(last.configMaps, live.Items, &state.written, r.Clock.Now()) {
		return "the ConfigMaps changed", nil
	}
	return "", nil
}

// renderKey names all that a rendering depends on.
func renderKey(view *v1.MarkdownView, inputs []pages.Input) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %t", view.UID, view.Generation, apply.Adopts(view))
	for _, in := range inputs {
		fmt.Fprintf(&b, "\n%s %s", in.Field, in.Version)
	}
	return b.String()
}

// remember keeps what was applied, packed and without its ConfigMaps, and reports whether its
// pages are known to differ from those before.
func (s *viewState) remember(applied rendering) (otherPages bool) {
	applied.objects = slices.DeleteFunc(slices.Clone(applied.objects), func(d apply.Desired) bool { return d.Kind == "ConfigMap" })
	if packed, err := apply.Packed(applied.objects); err == nil {
		applied.objects = packed
	}
	before := s.rendered
	s.rendered = applied
	return before.key != "" && before.revision != applied.revision
}

// inventoryOf lists all that was applied.
func inventoryOf(view *v1.MarkdownView, rendered *rendering) *v1.Inventory {
	inventory := &v1.Inventory{}
	add := func(name string, kind schema.GroupVersionKind) {
		inventory.Entries = append(inventory.Entries, v1.InventoryEntry{ID: apply.InventoryID(view.Namespace, name, kind), Version: kind.Version})
	}
	for _, name := range rendered.configMaps {
		add(name, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	}
	add(generator.ViewerName(view.Name), appsv1.SchemeGroupVersion.WithKind("Deployment"))
	add(generator.ViewerName(view.Name), corev1.SchemeGroupVersion.WithKind("Service"))
	return inventory
}

// bytesOf counts the bytes of the pages.
func bytesOf(output *generator.Output) int64 {
	bytes := 0
	for _, configMap := range output.ConfigMaps {
		for _, text := range configMap.Data {
			bytes += len(text)
		}
		for _, content := range configMap.BinaryData {
			bytes += len(content)
		}
	}
	return int64(bytes)
}

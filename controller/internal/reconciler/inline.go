package reconciler

import (
	"container/list"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// The cache of views holds no pages: they are needed once, when they are generated, and
// anyone may write a megabyte of them. Until then small ones are kept beside the cache, so
// that a new view, or a new process, costs no request for each; what isn't there is read
// from the API server.

const (
	// maxInlineBytes is how much is kept of all views, and maxInlineBytesOfView of one.
	maxInlineBytes, maxInlineBytesOfView = 24 << 20, 64 << 10
)

// inlineMark is put in the place of the pages of a view in the cache, as what its name was
// generated from, which nobody reads. Their size follows. Nobody else can write it, and a
// view that comes by twice, as from the first list of a watch, is known.
var inlineMark = rand.Text() + " "

// InlinePages are the inline pages of views that aren't generated yet.
type InlinePages struct {
	mu     sync.Mutex
	byView map[types.NamespacedName]*list.Element
	recent list.List // of *inlinePages, those that came last in front
	bytes  int64
	// generated are the generations that were generated last: each change of a view's
	// status has its pages come by again, which nobody asks for.
	generated map[types.UID]int64
}

// inlinePages are those of one generation of a view.
type inlinePages struct {
	view       types.NamespacedName
	uid        types.UID
	generation int64
	pages      map[string]string
	bytes      int64
}

// NewInlinePages returns none.
func NewInlinePages() *InlinePages {
	return &InlinePages{byView: map[types.NamespacedName]*list.Element{}, generated: map[types.UID]int64{}}
}

// take takes a view's pages out of it.
func (p *InlinePages) take(view *v1.MarkdownView) {
	if len(view.Spec.Markdowns) == 0 {
		return
	}
	taken := &inlinePages{client.ObjectKeyFromObject(view), view.UID, view.Generation, view.Spec.Markdowns, 0}
	for path, text := range taken.pages {
		taken.bytes += int64(len(path) + len(text))
	}
	view.Spec.Markdowns = nil
	view.GenerateName = inlineMark + strconv.FormatInt(taken.bytes, 10)
	p.drop(taken.view)
	if taken.bytes > maxInlineBytesOfView {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if generation, known := p.generated[view.UID]; known && generation == view.Generation {
		return
	}
	p.byView[taken.view] = p.recent.PushFront(taken)
	for p.bytes += taken.bytes; p.bytes > maxInlineBytes; {
		p.remove(p.recent.Back())
	}
}

// done notes that a view's pages are generated, and drops them.
func (p *InlinePages) done(view *v1.MarkdownView) {
	if inlineBytes(view) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.generated[view.UID] = view.Generation
	if place := p.byView[client.ObjectKeyFromObject(view)]; place != nil {
		if kept, _ := place.Value.(*inlinePages); kept.uid != view.UID || kept.generation <= view.Generation {
			p.remove(place)
		}
	}
}

// forget forgets a view that is gone.
func (p *InlinePages) forget(view types.NamespacedName, uid types.UID) {
	p.drop(view)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.generated, uid)
}

// drop drops a view's pages: nobody wants them.
func (p *InlinePages) drop(view types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if place := p.byView[view]; place != nil {
		p.remove(place)
	}
}

// remove is drop. The lock is held.
func (p *InlinePages) remove(place *list.Element) {
	removed, _ := p.recent.Remove(place).(*inlinePages)
	delete(p.byView, removed.view)
	p.bytes -= removed.bytes
}

// of returns the pages of a view; false if they aren't kept.
func (p *InlinePages) of(view *v1.MarkdownView) (map[string]string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place := p.byView[client.ObjectKeyFromObject(view)]
	if place == nil {
		return nil, false
	}
	kept, _ := place.Value.(*inlinePages)
	return kept.pages, kept.uid == view.UID && kept.generation == view.Generation
}

// inlineBytes is the size of the pages that were taken out of a view.
func inlineBytes(view *v1.MarkdownView) int64 {
	size, marked := strings.CutPrefix(view.GenerateName, inlineMark)
	if !marked {
		return 0
	}
	bytes, _ := strconv.ParseInt(size, 10, 64) // it was written here
	return bytes
}

// withPages returns a view of the cache with its inline pages.
func (r *Reconciler) withPages(ctx context.Context, view *v1.MarkdownView) (*v1.MarkdownView, error) {
	if inlineBytes(view) == 0 {
		return view, nil
	}
	pages, kept := r.Inline.of(view)
	if !kept {
		// A list, which needs no right beside that to watch. Not older than what the watch has
		// shown, it is answered at once; the newest of all takes the API server 100 ms.
		var views v1.MarkdownViewList
		err := r.APIReader.List(ctx, &views, client.InNamespace(view.Namespace), client.MatchingFields{metav1.ObjectNameField: view.Name},
			&client.ListOptions{Raw: &metav1.ListOptions{
				ResourceVersion: view.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			}})
		if err != nil {
			return nil, fmt.Errorf("read the pages of MarkdownView %s/%s: %w", view.Namespace, view.Name, err)
		}
		if len(views.Items) == 0 || views.Items[0].UID != view.UID || views.Items[0].Generation != view.Generation {
			return nil, &outcome.Error{State: outcome.Unreported, Retry: statusRecheck, Message: "the view has just changed"}
		}
		pages = views.Items[0].Spec.Markdowns
	}
	whole := *view
	whole.Spec.Markdowns = pages
	return &whole, nil
}

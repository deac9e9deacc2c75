package reconciler

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// views counts how often views are read from the API server, and how often the newest of all
// are asked for, which it has to make sure of first.
type views struct {
	client.Reader
	reads, newest int
	// change is done before each read.
	change func()
}

func (v *views) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	v.reads++
	if read := (&client.ListOptions{}).ApplyOptions(options).AsListOptions(); read.ResourceVersion == "" ||
		read.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan {
		v.newest++
	}
	if v.change != nil {
		v.change()
	}
	return v.Reader.List(ctx, list, options...)
}

func TestPagesOfAViewAreReadOnlyWhenTheyAreGenerated(t *testing.T) {
	f := newFixture(t)
	reader := &views{Reader: f.Admin}
	f.APIReader = reader
	expect := func(when string, want int) {
		t.Helper()
		if reader.reads != want {
			t.Errorf("%s they have been read %d times, want %d", when, reader.reads, want)
		}
	}
	f.served("docs")
	expect("when it is new,", 0)
	f.reconcile("docs")
	expect("at rest", 0)
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = strings.Repeat("x", maxInlineBytesOfView) })
	f.reconcile("docs")
	f.rollOut("docs")
	f.reconcile("docs")
	expect("after many were written", 1)
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["SUMMARY.md"] = "" })
	for range 3 {
		f.reconcile("docs")
	}
	expect("after a bad edit, however often it is looked at,", 2)
	if reader.newest > 0 {
		t.Errorf("the newest were asked for %d times", reader.newest)
	}
}

func TestInlinePagesAreLetGo(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["SUMMARY.md"] = "" })
	f.reconcile("docs") // a bad edit
	f.view("suspended")
	f.update("suspended", func(v *v1.MarkdownView) { v.Spec.Suspend = true })
	_, err := f.tryReconcile("suspended")
	f.Must(err)
	f.view("gone")
	f.Must(f.Cached.Get(t.Context(), types.NamespacedName{Namespace: "docs", Name: "gone"}, &v1.MarkdownView{}))
	f.Must(f.Admin.Delete(t.Context(), &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "gone"}}))
	_, err = f.tryReconcile("gone")
	f.Must(err)
	f.served("again")
	for _, name := range []string{"docs", "again"} { // as after a change of the status
		f.Must(f.Cached.Get(t.Context(), types.NamespacedName{Namespace: "docs", Name: name}, &v1.MarkdownView{}))
	}
	if len(f.Inline.byView) > 0 || f.Inline.bytes != 0 || f.Inline.recent.Len() > 0 {
		t.Errorf("%d bytes are kept: %v", f.Inline.bytes, f.Inline.byView)
	}
	if n := len(f.Inline.generated); n != 2 {
		t.Errorf("of %d views it is noted that their pages were generated, want 2", n)
	}
}

// TestPagesOfANewerViewAreNotTaken has a view change while it is reconciled.
func TestPagesOfANewerViewAreNotTaken(t *testing.T) {
	f := newFixture(t)
	f.served("docs")
	f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] = strings.Repeat("x", maxInlineBytesOfView) })
	f.APIReader = &views{Reader: f.Admin, change: func() {
		f.update("docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["start.md"] += "y" })
	}}
	result, err := f.tryReconcile("docs")
	f.Must(err)
	if got := f.Requests(); len(got) > 0 {
		t.Errorf("it wrote %v", got)
	}
	if result.RequeueAfter == 0 {
		t.Error("it isn't looked at again")
	}
	f.APIReader = f.Admin
	f.reconcile("docs")
	f.rollOut("docs")
	if view := f.reconcile("docs"); !conditions.IsTrue(view, meta.ReadyCondition) {
		t.Error("it isn't served then")
	}
}

func TestInlinePagesAreBounded(t *testing.T) {
	p := NewInlinePages()
	kept := func(name string) bool {
		view := &v1.MarkdownView{}
		view.Name = name
		_, ok := p.of(view)
		return ok
	}
	for i := range 2 * maxInlineBytes / (32 << 10) {
		view := &v1.MarkdownView{Spec: v1.MarkdownViewSpec{Markdowns: map[string]string{"a.md": strings.Repeat("x", 32<<10)}}}
		view.Name = fmt.Sprint("view-", i)
		p.take(view)
		if view.Spec.Markdowns != nil || inlineBytes(view) != 32<<10+4 {
			t.Fatalf("the view has %d pages, of %d bytes", len(view.Spec.Markdowns), inlineBytes(view))
		}
		if p.bytes > maxInlineBytes || !kept(view.Name) {
			t.Fatalf("%d bytes are kept, of %s %t", p.bytes, view.Name, kept(view.Name))
		}
	}
	large := &v1.MarkdownView{Spec: v1.MarkdownViewSpec{Markdowns: map[string]string{"a.md": strings.Repeat("x", maxInlineBytesOfView)}}}
	large.Name = "large"
	if p.take(large); kept("large") {
		t.Error("those of a large one are kept")
	}
}

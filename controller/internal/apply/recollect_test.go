package apply

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// pastOf is an API server's memory of one ConfigMap of pages: it has forgotten what was before
// oldest, the pages were edited in edited, and deleted in deleted.
type pastOf struct {
	client.Reader
	pages                        *corev1.ConfigMap
	oldest, edited, deleted, now uint64
	asked                        int
}

func (p *pastOf) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	configMaps, ok := list.(*corev1.ConfigMapList)
	if !ok {
		return p.Reader.List(ctx, list, options...)
	}
	p.asked++
	var all client.ListOptions
	all.ApplyOptions(options)
	at := p.now
	if all.Raw != nil {
		at, _ = strconv.ParseUint(all.Raw.ResourceVersion, 10, 64)
	}
	configMaps.ResourceVersion = strconv.FormatUint(at, 10)
	switch {
	case at < p.oldest:
		return apierrors.NewResourceExpired("too old")
	case at >= p.deleted:
		return nil
	}
	then := p.pages.DeepCopy()
	if at >= p.edited {
		then.Data["start.md"] = "edited"
	}
	configMaps.Items = []corev1.ConfigMap{*then}
	return nil
}

// TestPagesThatCachesDontShowAreNotHeld has a ConfigMap without its labels, as a hostile view may
// have many of, kept: by digests, until it is applied.
func TestPagesThatCachesDontShowAreNotHeld(t *testing.T) {
	f := newFixture(t)
	f.applied()
	f.seen()
	edit(f, "anyone", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Labels = nil })
	kept, err := f.Kept(t.Context(), f.view, []string{"markdowns-docs"}, f.desired()[1:], &f.last, &f.wrote)
	f.Must(err)
	if len(kept.Missing) > 0 || !kept.Unseen {
		t.Fatalf("missing: %v, unseen: %t", kept.Missing, kept.Unseen)
	}
	held, err := json.Marshal(kept.Objects[0].child().desired)
	f.Must(err)
	if strings.Contains(string(held), "# Start") {
		t.Errorf("pages are held: %s", held)
	}
	plan, err := f.Plan(t.Context(), f.view, kept.Objects, &f.last, &f.wrote)
	f.Must(err)
	_, err = f.Execute(t.Context(), plan)
	f.Must(err)
	after := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs")
	if !CarriesLabels(after, "docs") || after.Data["start.md"] != "# Start\n" {
		t.Errorf("it has the labels %v and the pages %v", after.Labels, after.Data)
	}
}

// TestPagesAreFoundThoughTheirDeletionWasNotSeen has pages deleted while the watch was
// interrupted, long after they were written.
func TestPagesAreFoundThoughTheirDeletionWasNotSeen(t *testing.T) {
	const written, now = 1000, 50_000_000
	tests := map[string]struct {
		oldest, edited, deleted uint64
		found                   bool
	}{
		"a moment ago":                    {oldest: now - 100_000, edited: now, deleted: now - 3, found: true},
		"some minutes ago":                {oldest: now - 100_000, edited: now, deleted: now - 99_000, found: true},
		"after they were edited":          {oldest: now - 100_000, edited: now - 5000, deleted: now - 10, found: true},
		"before what is known":            {oldest: now - 100_000, edited: now, deleted: now - 200_000},
		"though they were edited earlier": {oldest: now - 100_000, edited: now - 150_000, deleted: now - 10},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.applied()
			f.seen()
			kept, err := f.Kept(t.Context(), f.view, []string{"markdowns-docs"}, f.desired()[1:], &f.last, &f.wrote)
			f.Must(err)
			kept.Objects[0].recollection.version = strconv.Itoa(written)
			pages := &corev1.ConfigMap{}
			f.Must(f.Admin.Get(t.Context(), types.NamespacedName{Namespace: "docs", Name: "markdowns-docs"}, pages))
			f.Must(f.Admin.Delete(t.Context(), pages.DeepCopy()))
			pages.ResourceVersion = strconv.Itoa(written)
			past := &pastOf{Reader: f.APIReader, pages: pages, oldest: test.oldest, edited: test.edited, deleted: test.deleted, now: now}
			f.APIReader = past
			f.seen()
			plan, err := f.Plan(t.Context(), f.view, kept.Objects, &f.last, &f.wrote)
			f.Must(err)
			_, err = f.Execute(t.Context(), plan)
			if test.found {
				f.Must(err)
				f.Must(f.Admin.Get(t.Context(), types.NamespacedName{Namespace: "docs", Name: "markdowns-docs"}, pages))
				if pages.Data["start.md"] == "edited" {
					t.Error("the edit is kept")
				}
			} else if err == nil || !strings.Contains(err.Error(), "what it held isn't known any more") {
				t.Errorf("the error is %v", err)
			}
			if past.asked > 30 {
				t.Errorf("the API server was asked %d times", past.asked)
			}
		})
	}
}

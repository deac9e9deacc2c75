package reconciler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// expansion is what a view expands to, with the view as owner.
type expansion struct {
	*generator.Output
	// pages are the names of all ConfigMaps. The ConfigMaps themselves are left out
	// if those in the cluster are known to be as wanted.
	pages []string
}

// expand generates what a view wants from its inputs; or only what the pages don't
// make large, if nothing has changed since this was done and applied last: most
// events are of pods, and a large book isn't to be read and compared for each.
func (r *Reconciler) expand(ctx context.Context, view *v1.MarkdownView, inputs []input) (*expansion, error) {
	key := inputsKey(view, inputs)
	if recalled, err := r.recall(ctx, view, key); recalled != nil || err != nil {
		return recalled, err
	}
	contents := make([]generator.Content, 0, len(inputs))
	for _, in := range inputs {
		pages, err := in.read(ctx)
		if err != nil {
			return nil, err
		}
		contents = append(contents, generator.Content{Field: in.field, Book: pages})
	}
	output, err := generator.Generate(view, contents)
	if err != nil {
		return nil, err
	}
	r.Metrics.recordPages(view, output)
	e := &expansion{Output: output}
	owner := ownerOf(view)
	for _, configMap := range output.ConfigMaps {
		configMap.WithOwnerReferences(owner)
		e.pages = append(e.pages, *configMap.Name)
	}
	output.Deployment.WithOwnerReferences(owner)
	output.Service.WithOwnerReferences(owner)
	return e, nil
}

// inputsKey names everything that an expansion depends on.
func inputsKey(view *v1.MarkdownView, inputs []input) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %t", view.UID, view.Generation, adopts(view))
	for _, in := range inputs {
		fmt.Fprintf(&b, "\n%s %s", in.field, in.version)
	}
	return b.String()
}

// applied is what is remembered of an expansion that was applied.
type applied struct {
	key        string
	at         time.Time
	output     generator.Output // without ConfigMaps
	pages      []string         // the ConfigMaps' names
	configMaps []string         // each with its resource version, sorted
}

// memory remembers what was applied for each view.
type memory struct {
	mu     sync.Mutex
	byView map[types.NamespacedName]applied
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byView, key)
}

// recall returns what was applied last, if it still is what is wanted and the
// ConfigMaps are still the same; nil if not. Once an interval everything is looked at
// anew.
func (r *Reconciler) recall(ctx context.Context, view *v1.MarkdownView, key string) (*expansion, error) {
	r.memory.mu.Lock()
	last, ok := r.memory.byView[client.ObjectKeyFromObject(view)]
	r.memory.mu.Unlock()
	if !ok || last.key != key || r.Clock.Since(last.at) >= intervalOf(view) {
		return nil, nil
	}
	var live corev1.ConfigMapList
	if err := r.List(ctx, &live, ofView(view)...); err != nil {
		return nil, err
	}
	versions := make([]string, 0, len(live.Items))
	for i := range live.Items {
		versions = append(versions, versionOf(&live.Items[i]))
	}
	slices.Sort(versions)
	if !slices.Equal(versions, last.configMaps) {
		return nil, nil
	}
	return &expansion{Output: &last.output, pages: last.pages}, nil
}

// remember notes that an expansion was applied, and says whether its pages are known
// to be others than those before.
func (r *Reconciler) remember(view *v1.MarkdownView, key string, e *expansion, children []*child) (otherPages bool) {
	if e.ConfigMaps == nil {
		return false // it was recalled
	}
	a := applied{key: key, at: r.Clock.Now(), output: *e.Output, pages: e.pages}
	a.output.ConfigMaps = nil
	for _, c := range children {
		if configMap, ok := c.live.(*corev1.ConfigMap); ok {
			a.configMaps = append(a.configMaps, versionOf(configMap))
		}
	}
	slices.Sort(a.configMaps)
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	if r.memory.byView == nil {
		r.memory.byView = map[types.NamespacedName]applied{}
	}
	last, ok := r.memory.byView[client.ObjectKeyFromObject(view)]
	r.memory.byView[client.ObjectKeyFromObject(view)] = a
	return ok && last.output.Revision != a.output.Revision
}

func versionOf(object client.Object) string {
	return object.GetName() + " " + object.GetResourceVersion()
}

package reconciler

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// turns limits how many views are rolled out at once: a release with another viewer
// changes the pods of all of them.
type turns struct {
	// most is how many; 0 means any number.
	most int
	// wake has views reconciled whose turn it may be.
	wake chan event.GenericEvent

	mu      sync.Mutex
	rolling map[types.NamespacedName]bool
	waiting []types.NamespacedName
}

func newTurns(most int) *turns {
	return &turns{most: most, wake: make(chan event.GenericEvent, 1024), rolling: map[types.NamespacedName]bool{}}
}

// take says whether a view may be rolled out now. If not it waits, and others is how
// many are before it.
func (t *turns) take(key types.NamespacedName) (others int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rolling[key] || len(t.rolling) < t.most {
		t.rolling[key] = true
		return 0, true
	}
	if !slices.Contains(t.waiting, key) {
		t.waiting = append(t.waiting, key)
	}
	return len(t.rolling), false
}

// note counts a view among those that are rolled out, or no longer, and wakes the
// next.
func (t *turns) note(key types.NamespacedName, rolling bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if rolling {
		t.rolling[key] = true
		return
	}
	if !t.rolling[key] {
		return
	}
	delete(t.rolling, key)
	if len(t.waiting) == 0 {
		return
	}
	next := &v1.MarkdownView{}
	next.Namespace, next.Name = t.waiting[0].Namespace, t.waiting[0].Name
	t.waiting = t.waiting[1:]
	select {
	case t.wake <- event.GenericEvent{Object: next}:
	default: // it looks again by itself
	}
}

// wait says whether a view has to wait for its turn, and what for.
func (r *Reconciler) wait(view *v1.MarkdownView, children []*child) (message string, err error) {
	if r.turns.most == 0 {
		return "", nil
	}
	rolls, err := r.rollsOut(view, children)
	if err != nil || !rolls {
		return "", err
	}
	if others, ok := r.turns.take(client.ObjectKeyFromObject(view)); !ok {
		return fmt.Sprintf("waits for its turn: %d other views are being rolled out", others), nil
	}
	return "", nil
}

// rollsOut says whether pods that run would be replaced.
func (r *Reconciler) rollsOut(view *v1.MarkdownView, children []*child) (bool, error) {
	for _, c := range children {
		if c.kind != "Deployment" || !c.exists() || c.unchanged(r.settled.last(view, c)) {
			continue
		}
		found, err := c.drift()
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(found.fields, func(field string) bool { return strings.HasPrefix(field, "/spec/template") }), nil
	}
	return false, nil
}

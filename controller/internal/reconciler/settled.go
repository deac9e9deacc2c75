package reconciler

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// settled is what an apply led to.
type settled struct {
	// desired and owned are digests of what was wanted and of what our field
	// manager then owned. They differ if an admission webhook changed a field.
	desired, owned [sha256.Size]byte
	at             time.Time
	// configuration is what was wanted, to be recognised, and state what it led to.
	configuration any
	state         [sha256.Size]byte
}

func (s settled) same(other settled) bool {
	return s.desired == other.desired && s.owned == other.owned
}

func (c *child) settle(at time.Time) (settled, error) {
	desired, owned, err := c.compared()
	if err != nil {
		return settled{}, err
	}
	s := settled{at: at, state: c.state()}
	if c.kind != "ConfigMap" { // which is expanded anew each time, and may be large
		s.configuration = c.desired
	}
	if s.desired, err = digestOf(desired); err != nil {
		return settled{}, fmt.Errorf("encode %s: %w", c, err)
	}
	if s.owned, err = digestOf(owned); err != nil {
		return settled{}, fmt.Errorf("encode %s: %w", c, err)
	}
	return s, nil
}

// unchanged says whether the child is what it was, and wanted as it was, when it
// settled: most events are of a Deployment's status.
func (c *child) unchanged(last settled) bool {
	return last.configuration != nil && last.configuration == c.desired && last.state == c.state()
}

// state is a digest of the parts of a live object that somebody can change on
// purpose. A status has versions too; generation and managed fields tell the rest.
func (c *child) state() [sha256.Size]byte {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %d", c.live.GetUID(), c.live.GetGeneration())
	if c.live.GetGeneration() == 0 { // a kind that has none
		fmt.Fprintf(hash, " %s", c.live.GetResourceVersion())
	}
	for _, entry := range c.live.GetManagedFields() {
		if entry.Subresource == "" {
			fmt.Fprintf(hash, " %s %s %v %s", entry.Manager, entry.Operation, entry.Time, entry.FieldsV1)
		}
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

func digestOf(fields map[string]any) ([sha256.Size]byte, error) {
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode(fields); err != nil {
		return [sha256.Size]byte{}, err
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// settledStates remembers the last apply of each child of each view. It is lost
// with the process, which costs an apply only where a webhook changes our fields.
type settledStates struct {
	mu     sync.Mutex
	byView map[types.NamespacedName]map[string]settled
}

func (s *settledStates) last(view *v1.MarkdownView, c *child) settled {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byView[client.ObjectKeyFromObject(view)][c.String()]
}

func (s *settledStates) note(view *v1.MarkdownView, c *child, state settled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(view)
	if s.byView == nil {
		s.byView = map[types.NamespacedName]map[string]settled{}
	}
	if s.byView[key] == nil {
		s.byView[key] = map[string]settled{}
	}
	s.byView[key][c.String()] = state
}

// keep forgets the ConfigMaps of a view that aren't among those with these names.
func (s *settledStates) keep(view *v1.MarkdownView, configMaps []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	children := s.byView[client.ObjectKeyFromObject(view)]
	for name := range children {
		if configMap, ok := strings.CutPrefix(name, "ConfigMap "); ok && !slices.Contains(configMaps, configMap) {
			delete(children, name)
		}
	}
}

func (s *settledStates) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byView, key)
}

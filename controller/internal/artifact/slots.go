package artifact

import (
	"context"
	"slices"
	"sync"
)

// slots are held while unpacking, one for each namespace at most: archives that take long
// hold up their own namespace's.
type slots struct {
	mu      sync.Mutex
	free    int
	held    map[string]bool // by namespace
	waiting []*slotRequest
}

// slotRequest is granted by closing its channel.
type slotRequest struct {
	namespace string
	granted   chan struct{}
}

func newSlots(count int) *slots {
	return &slots{free: count, held: map[string]bool{}}
}

// acquire waits for a slot, until the context ends.
func (s *slots) acquire(ctx context.Context, namespace string) error {
	request := &slotRequest{namespace: namespace, granted: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, request)
	s.grant()
	s.mu.Unlock()
	select {
	case <-request.granted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if place := slices.Index(s.waiting, request); place >= 0 {
		s.waiting = slices.Delete(s.waiting, place, place+1)
	} else {
		s.giveBack(namespace) // it was granted just now
	}
	return context.Cause(ctx)
}

// release gives a slot to whoever has waited longest.
func (s *slots) release(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveBack(namespace)
}

// giveBack is release with the lock held.
func (s *slots) giveBack(namespace string) {
	s.free++
	delete(s.held, namespace)
	s.grant()
}

// grant gives free slots to those who wait and whose namespaces have none. The lock is
// held.
func (s *slots) grant() {
	s.waiting = slices.DeleteFunc(s.waiting, func(request *slotRequest) bool {
		if s.free == 0 || s.held[request.namespace] {
			return false
		}
		s.free--
		s.held[request.namespace] = true
		close(request.granted)
		return true
	})
}

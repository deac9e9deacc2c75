package artifact

import (
	"context"
	"slices"
	"sync"
)

// slots are held while unpacking, one for each namespace at most: archives that take long
// hold up their own namespace's. One of them is left to those that are quick.
type slots struct {
	mu      sync.Mutex
	count   int
	held    []*unpacking
	waiting []*unpacking
}

// unpacking is an archive's wish to be unpacked.
type unpacking struct {
	namespace string
	quick     bool
	// granted is closed when there is a slot.
	granted chan struct{}
}

func newSlots(count int) *slots { return &slots{count: count} }

// acquire waits for a slot, until the context ends.
func (s *slots) acquire(ctx context.Context, u *unpacking) error {
	s.mu.Lock()
	u.granted = make(chan struct{})
	s.waiting = append(s.waiting, u)
	s.grant()
	s.mu.Unlock()
	select {
	case <-u.granted:
		return nil
	case <-ctx.Done():
	}
	s.release(u) // it may have been granted just now
	return context.Cause(ctx)
}

// release gives a slot back, or a place among those who wait for one.
func (s *slots) release(u *unpacking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := func(other *unpacking) bool { return other == u }
	s.held, s.waiting = slices.DeleteFunc(s.held, is), slices.DeleteFunc(s.waiting, is)
	s.grant()
}

// takesLong notes that an archive isn't quick, and reports whether it may go on: not if it
// has the slot that is left to those that are.
func (s *slots) takesLong(u *unpacking) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	goesOn := !u.quick || !slices.Contains(s.held, u) || !s.isFull()
	u.quick = false
	return goesOn
}

// isFull reports whether archives that aren't quick have all slots that they may. The lock
// is held.
func (s *slots) isFull() bool {
	held := 0
	for _, u := range s.held {
		if !u.quick {
			held++
		}
	}
	return held >= max(1, s.count-1)
}

// grant gives free slots to those who have waited longest and whose namespaces have none. The
// lock is held.
func (s *slots) grant() {
	s.waiting = slices.DeleteFunc(s.waiting, func(u *unpacking) bool {
		full := len(s.held) == s.count || !u.quick && s.isFull()
		if full || slices.ContainsFunc(s.held, func(other *unpacking) bool { return other.namespace == u.namespace }) {
			return false
		}
		s.held = append(s.held, u)
		close(u.granted)
		return true
	})
}

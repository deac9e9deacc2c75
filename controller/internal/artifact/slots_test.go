package artifact

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// TestSlotsAreSharedByNamespaces: a namespace that has one leaves the others to others,
// and gives its own to who has waited longest.
func TestSlotsAreSharedByNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(3)
		var got []*unpacking
		for _, namespace := range []string{"loud", "loud", "quiet", "late"} {
			go func() {
				u := &unpacking{namespace: namespace}
				if err := s.acquire(t.Context(), u); err != nil {
					t.Error(err)
				}
				got = append(got, u)
			}()
			synctest.Wait()
		}
		check := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if len(got) != len(want) {
				t.Fatalf("slots have %d, want %v", len(got), want)
			}
			for i := range want {
				if got[i].namespace != want[i] {
					t.Fatalf("the %dth is %s, want %v", i, got[i].namespace, want)
				}
			}
		}
		check("loud", "quiet")
		s.release(got[0])
		check("loud", "quiet", "loud")
		s.release(got[1])
		check("loud", "quiet", "loud", "late")
		s.release(got[2])
		s.release(got[3])
		if len(s.held)+len(s.waiting) != 0 {
			t.Errorf("held are %v, %d wait", s.held, len(s.waiting))
		}
	})
}

// TestASlotIsLeftToWhatIsQuick: archives that take long don't have all slots, and neither do
// those that only seemed to be quick.
func TestASlotIsLeftToWhatIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(3)
		acquire := func(u *unpacking) *unpacking {
			go func() { _ = s.acquire(t.Context(), u) }()
			synctest.Wait()
			return u
		}
		first := acquire(&unpacking{namespace: "a"})
		acquire(&unpacking{namespace: "b"})
		late := acquire(&unpacking{namespace: "c"})
		seeming := acquire(&unpacking{namespace: "d", quick: true})
		has := func(u *unpacking, want bool) {
			t.Helper()
			if got := slices.Contains(s.held, u); got != want {
				t.Errorf("%s has a slot: %t, want %t", u.namespace, got, want)
			}
		}
		has(late, false)
		has(seeming, true)
		if s.takesLong(seeming) {
			t.Error("what only seemed to be quick goes on where nothing is left")
		}
		s.release(seeming)
		has(late, false)
		s.release(first)
		has(late, true)
		s.release(late)
		again := acquire(&unpacking{namespace: "e", quick: true})
		if has(again, true); !s.takesLong(again) {
			t.Error("what takes long doesn't go on although there is room")
		}
	})
}

// TestSlotThatNobodyWaitsForAnyMore isn't lost.
func TestSlotThatNobodyWaitsForAnyMore(t *testing.T) {
	s := newSlots(1)
	first, second := &unpacking{namespace: "docs"}, &unpacking{namespace: "other"}
	if err := s.acquire(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	late := errors.New("it takes too long")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if err := s.acquire(ctx, second); !errors.Is(err, late) {
		t.Errorf("got %v", err)
	}
	s.release(first)
	if len(s.held)+len(s.waiting) != 0 {
		t.Errorf("held are %v, %d wait", s.held, len(s.waiting))
	}
}

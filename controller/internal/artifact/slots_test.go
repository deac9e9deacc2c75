package artifact

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestSlotsAreSharedByNamespaces: a namespace that has one leaves the others to others,
// and gives its own to who has waited longest.
func TestSlotsAreSharedByNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		var got []string
		acquire := func(namespace string) {
			if err := s.acquire(t.Context(), namespace); err != nil {
				t.Error(err)
			}
			got = append(got, namespace)
		}
		for _, namespace := range []string{"loud", "loud", "quiet", "late"} {
			go acquire(namespace)
			synctest.Wait()
		}
		check := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if len(got) != len(want) {
				t.Fatalf("slots have %v, want %v", got, want)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("slots have %v, want %v", got, want)
				}
			}
		}
		check("loud", "quiet")
		s.release("loud")
		check("loud", "quiet", "loud")
		s.release("quiet")
		check("loud", "quiet", "loud", "late")
		s.release("loud")
		s.release("late")
		if s.free != 2 || len(s.held)+len(s.waiting) != 0 {
			t.Errorf("%d slots are free, held are %v, %d wait", s.free, s.held, len(s.waiting))
		}
	})
}

// TestSlotThatNobodyWaitsForAnyMore isn't lost.
func TestSlotThatNobodyWaitsForAnyMore(t *testing.T) {
	s := newSlots(1)
	if err := s.acquire(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	late := errors.New("it takes too long")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if err := s.acquire(ctx, "other"); !errors.Is(err, late) {
		t.Errorf("got %v", err)
	}
	s.release("docs")
	if s.free != 1 || len(s.held)+len(s.waiting) != 0 {
		t.Errorf("%d slots are free, held are %v, %d wait", s.free, s.held, len(s.waiting))
	}
}

package reconciler

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestTurns(t *testing.T) {
	a, b, c := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}, types.NamespacedName{Name: "c"}
	turns := newTurns(1)
	if _, ok := turns.take(a); !ok {
		t.Error("the first has to wait")
	}
	if _, ok := turns.take(a); !ok {
		t.Error("who has a turn has to wait")
	}
	for _, key := range []types.NamespacedName{b, c, b} {
		if others, ok := turns.take(key); ok || others != 1 {
			t.Errorf("%s has a turn: %t, others: %d", key.Name, ok, others)
		}
	}
	turns.note(c, false) // it had none
	turns.note(a, false)
	if woken := <-turns.wake; woken.Object.GetName() != "b" {
		t.Errorf("%s is next", woken.Object.GetName())
	}
	if _, ok := turns.take(b); !ok {
		t.Error("the next has to wait")
	}
	turns.note(a, true) // a rollout that nobody asked a turn for
	turns.note(b, false)
	<-turns.wake
	if _, ok := turns.take(c); ok {
		t.Error("there are two at once")
	}
}

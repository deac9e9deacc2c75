package artifact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQueue adds what waits, in its order, and takes as much as there is room for. A name
// is that of a namespace and a number; an exclamation mark says that it has failed before.
func TestQueue(t *testing.T) {
	tests := map[string]struct {
		add   string
		limit int
		want  string
	}{
		"namespaces take turns":                             {add: "a1 a2 a3 b1 c1", limit: 12, want: "a1 b1 c1 a2"},
		"a namespace has its limit":                         {add: "a1 a2 a3 a4", limit: 12, want: "a1 a2"},
		"all have a limit":                                  {add: "a1 b1 c1 d1 e1", limit: 4, want: "a1 b1 c1 d1"},
		"half is for those who have none":                   {add: "a1 a2 b1 b2 c1 c2 d1", limit: 6, want: "a1 b1 c1 d1"},
		"what failed lets others of its namespace go first": {add: "a1! a2! a3 b1", limit: 12, want: "a3 b1 a1!"},
		"nothing waits":                                     {limit: 12},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			q := newQueue(test.limit, 2)
			for name := range strings.FieldsSeq(test.add) {
				q.add(named(name))
			}
			var got []string
			for e := q.next(); e != nil; e = q.next() {
				got = append(got, e.key)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func named(name string) *entry {
	e := &entry{key: name, of: Source{Namespace: name[:1]}}
	e.failures = strings.Count(name, "!")
	return e
}

// TestQueueEndsEmpty: nothing is lost, and nothing of namespaces that are gone is kept.
func TestQueueEndsEmpty(t *testing.T) {
	q := newQueue(4, 2)
	removed := named("b3")
	q.add(removed)
	for i := range 30 {
		q.add(named(fmt.Sprintf("%c%d", 'a'+i%7, i)))
	}
	q.remove(removed)
	taken := 0
	for e := q.next(); e != nil; e = q.next() {
		if e == removed {
			t.Error("what was removed was taken")
		}
		taken++
		q.done(e)
	}
	if taken != 30 || len(q.running)+len(q.waiting)+len(q.turns)+q.inUse != 0 {
		t.Errorf("%d of 30 were taken, left is %v", taken, q)
	}
}

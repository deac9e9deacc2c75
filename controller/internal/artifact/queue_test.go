package artifact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQueueTakesWhatThereIsRoomFor adds what waits, in its order, and takes as much as
// there is room for. A name is that of a namespace and a number; a plus says that its source
// is quick, an exclamation mark that it has failed before, a tilde that it took long.
func TestQueueTakesWhatThereIsRoomFor(t *testing.T) {
	tests := map[string]struct {
		add   string
		limit int
		want  string
	}{
		"namespaces take turns":                             {add: "a1 a2 a3 b1 c1", limit: 12, want: "a1 b1 c1 a2"},
		"a namespace has its limit":                         {add: "a1 a2 a3 a4", limit: 12, want: "a1 a2"},
		"all have a limit":                                  {add: "a1+ b1+ c1+ d1+ e1+", limit: 4, want: "a1+ b1+ c1+ d1+"},
		"half is for those who have none":                   {add: "a1 a2 b1 b2 c1 c2 d1", limit: 6, want: "a1 b1 c1 d1"},
		"a quarter is for what is quick":                    {add: "a1 b1 c1 d1 e1+", limit: 4, want: "a1 b1 c1 e1+"},
		"what is quick doesn't wait for others":             {add: "a1 b1 b2+ c1", limit: 4, want: "a1 b2+ c1"},
		"what failed lets others of its namespace go first": {add: "a1! a2! a3 b1 a4+", limit: 12, want: "a4+ b1 a3"},
		"what takes long has half":                          {add: "a1~ b1~ c1~ d1", limit: 4, want: "a1~ b1~ d1"},
		"what takes long isn't in the way of its namespace": {add: "a1~ a2 b1~ b2", limit: 2, want: "a2 b2"},
		"what takes long is fetched, however few are":       {add: "a1~ b1~", limit: 1, want: "a1~"},
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
	switch {
	case strings.Contains(name, "~"):
		e.pace = slow
	case strings.Contains(name, "+"):
		e.pace = quick
	}
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
	if taken != 30 || len(q.running)+len(q.waiting)+len(q.turns)+q.inUse[unknown] != 0 {
		t.Errorf("%d of 30 were taken, left is %v", taken, q)
	}
}

// TestQueueOfWhatTakesLong: what turns out to take long goes on if there is room for that,
// or makes room for others and is taken again when there is.
func TestQueueOfWhatTakesLong(t *testing.T) {
	q := newQueue(4, 2)
	var taken []*entry
	for _, name := range []string{"a1", "b1", "c1", "d1+"} {
		q.add(named(name))
		taken = append(taken, q.next())
	}
	for i, e := range taken {
		if want, got := i < 2, q.takesLong(e); got != want {
			t.Errorf("%s may go on: %t, want %t", e.key, got, want)
		}
	}
	if !q.takesLong(taken[0]) {
		t.Error("what goes on already may not")
	}
	q.done(taken[2])
	q.done(taken[3])
	q.add(taken[2])
	if e := q.next(); e != nil {
		t.Errorf("%s was taken, though two take long", e.key)
	}
	q.done(taken[0])
	if e := q.next(); e != taken[2] {
		t.Errorf("what has waited wasn't taken, but %v", e)
	}
	q.done(taken[1])
	q.done(taken[2])
	if q.inUse[unknown]+q.inUse[quick]+q.inUse[slow] != 0 {
		t.Errorf("left is %v", q)
	}
}

// TestQuickPlacesAreLeftWhenTheyTakeLong: who was quick and isn't any more goes on only where
// that leaves a place to others.
func TestQuickPlacesAreLeftWhenTheyTakeLong(t *testing.T) {
	for name, test := range map[string]struct {
		others string
		goesOn bool
	}{
		"among few":              {others: "a1~ b1", goesOn: true},
		"in the place of others": {others: "a1~ b1 c1", goesOn: false},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(4, 2)
			for name := range strings.FieldsSeq(test.others + " d1+") {
				q.add(named(name))
			}
			var last *entry
			for e := q.next(); e != nil; e = q.next() {
				last = e
			}
			if got := q.takesLong(last); last.key != "d1+" || got != test.goesOn {
				t.Errorf("%s may go on: %t", last.key, got)
			}
		})
	}
}

package artifact

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// TestHangingServersHoldUpNobodyElse has a namespace name a hundred artifacts that never
// arrive. Those of another one are fetched meanwhile, and no reader ever waits.
func TestHangingServersHoldUpNobodyElse(t *testing.T) {
	store := newTestStore(t, Limits{}, nil)
	s := newServer(t, store)
	s.hangs("hanging")
	for i := range 100 {
		of := Source{Kind: "GitRepository", Namespace: "hostile", Name: fmt.Sprint(i)}
		if _, err := store.start(of, s.add(fmt.Sprintf("hanging/%d.tar.gz", i), start(t, fmt.Sprint(i)))); !isBusy(err) {
			t.Fatalf("got %v", err)
		}
	}
	for i := range 3 {
		want := fmt.Sprintf("# Commit %d\n", i)
		if content, err := store.fetched(own, s.add(fmt.Sprintf("good/%d.tar.gz", i), start(t, want))); err != nil || content != want {
			t.Errorf("got %q, %v", content, err)
		}
	}
	if asked := s.asked.Load(); asked > 5 { // a namespace's two, and the three
		t.Errorf("the servers were asked %d times", asked)
	}
}

// TestHangingServersOfManyHoldUpNobodyElse has more namespaces than artifacts are fetched at
// once, with servers that hang, none of which is given up while the test goes on.
func TestHangingServersOfManyHoldUpNobodyElse(t *testing.T) {
	limits := Limits{Quick: time.Hour, Probe: time.Hour, Timeout: time.Hour}.orDefault()
	store := newTestStore(t, limits, nil)
	s := newServer(t, store)
	s.hangs("hanging")
	commit := func(i int) {
		t.Helper()
		want := fmt.Sprintf("# Commit %d\n", i)
		if content, err := store.fetched(own, s.add(fmt.Sprintf("good/%d.tar.gz", i), start(t, want))); err != nil || content != want {
			t.Errorf("got %q, %v", content, err)
		}
	}
	commit(0) // by which its source is known
	const each = 2
	for i := range 2 * limits.Fetches {
		for j := range each {
			of := Source{Kind: "GitRepository", Namespace: fmt.Sprintf("hostile-%d", i), Name: fmt.Sprint("hanging-", j)}
			if _, err := store.start(of, s.add(fmt.Sprintf("hanging/%d-%d.tar.gz", i, j), start(t, fmt.Sprint(i)))); !isBusy(err) {
				t.Fatalf("got %v", err)
			}
		}
	}
	for s.asked.Load() < int64(1+store.queue.limitOfOthers()) {
		runtime.Gosched() // until as many of them are being fetched as may
	}
	for i := range 3 {
		commit(i + 1)
	}
	if asked, want := s.asked.Load(), int64(4+store.queue.limitOfOthers()); asked != want {
		t.Errorf("the servers were asked %d times, not %d", asked, want)
	}
}

// TestANewSourceHasItsTurnAmongHangingServers: what hangs makes room for others, in turns of
// namespaces, before any server has been given up.
func TestANewSourceHasItsTurnAmongHangingServers(t *testing.T) {
	limits := Limits{}.orDefault()
	store := newTestStore(t, limits, nil)
	s := newServer(t, store)
	s.hangs("hanging")
	for i := range limits.Fetches {
		of := Source{Kind: "GitRepository", Namespace: fmt.Sprintf("hostile-%d", i), Name: "hanging"}
		if _, err := store.start(of, s.add(fmt.Sprintf("hanging/%d.tar.gz", i), start(t, fmt.Sprint(i)))); !isBusy(err) {
			t.Fatalf("got %v", err)
		}
	}
	for i := range 3 {
		of, want := Source{Kind: own.Kind, Namespace: own.Namespace, Name: fmt.Sprint(i)}, fmt.Sprintf("# Book %d\n", i)
		if content, err := store.fetched(of, s.add(fmt.Sprintf("good/%d.tar.gz", i), start(t, want))); err != nil || content != want {
			t.Errorf("got %q, %v", content, err)
		}
	}
	if log := store.log.String(); log != "" {
		t.Errorf("meanwhile servers were given up: %s", log)
	}
}

package apply

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SettleTime is how long a write of ours is believed that the cache doesn't show. The
// cache shows it within milliseconds, or hears that the object is gone; what is left is a
// watch that was interrupted at the wrong moment.
const SettleTime = 10 * time.Second

// Expectations are our own writes to a view's objects that the cache may not show yet: no
// read waits for it, so that what keeps one object from ever showing up keeps nothing
// else. An expectation ends when the cache shows it or a newer version, when the object is
// gone or isn't ours any more, and after SettleTime. Its zero value is empty.
type Expectations struct {
	mu sync.Mutex
	// byObject has a view's objects, by kind and name.
	byObject map[string]*expectation
	// deletions are the versions in which objects that are kept were reported gone; empty
	// if they weren't.
	deletions map[string]string
}

// expectation is the last write to an object.
type expectation struct {
	// written is the object as the API server answered; nil if it was deleted.
	written client.Object
	// deleted is what was deleted; empty if nothing was.
	deleted types.UID
	until   time.Time
	// stale is the version that the cache had when the API server had another one
	// already, and staleUntil how long that is believed.
	stale      string
	staleUntil time.Time
	// inFlight means that a write hasn't been answered yet.
	inFlight bool
	// gone are the versions in which the watch reported the object gone while the write
	// was in flight, by UID; "" for whatever version.
	gone map[types.UID]string
}

// begin notes that a write is sent.
func (e *Expectations) begin(object string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.of(object)
	x.inFlight, x.gone = true, nil
}

// end notes the answer to a write; nil if there was none.
func (e *Expectations) end(object string, written client.Object, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.byObject[object]
	gone := x.gone
	x.inFlight, x.gone = false, nil
	if written != nil {
		version, isGone := gone[written.GetUID()]
		if !isGone || !goneBy(version, written) {
			*x = expectation{written: written.DeepCopyObject().(client.Object), until: now.Add(SettleTime)}
			return
		}
		x.written = nil
	}
	e.drop(object, x)
}

// drop forgets an object of which nothing is expected. The lock is held.
func (e *Expectations) drop(object string, x *expectation) {
	if x.written == nil && x.deleted == "" && x.staleUntil.IsZero() && !x.inFlight {
		e.forget(object)
	}
}

// forget forgets an object. Of most views nothing is expected, which takes no memory. The
// lock is held.
func (e *Expectations) forget(object string) {
	if delete(e.byObject, object); len(e.byObject) == 0 {
		e.byObject = nil
	}
}

// expectDeleted notes a deletion.
func (e *Expectations) expectDeleted(object string, uid types.UID, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	*e.of(object) = expectation{deleted: uid, until: now.Add(SettleTime)}
}

// expectChange notes that the API server has another version of an object than the cache;
// "" for none.
func (e *Expectations) expectChange(object, cached string, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.of(object)
	x.stale, x.staleUntil = cached, now.Add(SettleTime)
}

// isStale reports whether the cache's version of an object is known not to be the API
// server's.
func (e *Expectations) isStale(object, cached string, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.byObject[object]
	return x != nil && now.Before(x.staleUntil) && x.stale == cached
}

// of returns what is expected of an object. The lock is held.
func (e *Expectations) of(object string) *expectation {
	if e.byObject == nil {
		e.byObject = map[string]*expectation{}
	}
	x := e.byObject[object]
	if x == nil {
		x = &expectation{}
		e.byObject[object] = x
	}
	return x
}

// Gone is for the watch of a kind, which calls it when an object was deleted or has lost
// our label. unknown means that the watch was interrupted, and knows no version.
func (e *Expectations) Gone(kind string, last client.Object, unknown bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	object := kind + " " + last.GetName()
	if _, kept := e.deletions[object]; kept && !unknown {
		e.deletions[object] = last.GetResourceVersion()
	}
	x := e.byObject[object]
	if x == nil {
		return
	}
	version := last.GetResourceVersion()
	if unknown {
		version = ""
	}
	if x.inFlight {
		if x.gone == nil {
			x.gone = map[types.UID]string{}
		}
		x.gone[last.GetUID()] = version
	}
	if x.written != nil && x.written.GetUID() == last.GetUID() && goneBy(version, x.written) || x.deleted == last.GetUID() {
		x.written, x.deleted = nil, ""
	}
	x.staleUntil = time.Time{}
	e.drop(object, x)
}

// expectLosses has it noted in which version one of these ConfigMaps is gone, and of no
// others.
func (e *Expectations) expectLosses(configMaps []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deletions = make(map[string]string, len(configMaps))
	for _, name := range configMaps {
		e.deletions["ConfigMap "+name] = ""
	}
}

// deletedIn is the version in which an object was reported gone last; empty if that isn't
// known.
func (e *Expectations) deletedIn(object string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.deletions[object]
}

// goneBy reports whether an object that was reported gone in a version is so still after
// a write. A UID doesn't come back, and what has lost our label and got it again by a
// write of ours since has a newer version.
func goneBy(version string, written client.Object) bool {
	return version == "" || !newer(written.GetResourceVersion(), version)
}

// latest returns what is known of an object that the cache has as cached, with an empty
// resourceVersion if it doesn't; nil if the cache is up to date.
func (e *Expectations) latest(object string, cached client.Object, now time.Time) client.Object {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.byObject[object]
	if x == nil || x.written == nil {
		return nil
	}
	version := cached.GetResourceVersion()
	if now.Before(x.until) && (version == "" || newer(x.written.GetResourceVersion(), version)) {
		return x.written
	}
	x.written = nil
	e.drop(object, x)
	return nil
}

// isDeleted reports whether we have deleted what the cache still has.
func (e *Expectations) isDeleted(object string, uid types.UID, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.byObject[object]
	return x != nil && x.deleted == uid && uid != "" && now.Before(x.until)
}

// Pending returns when the cache is to be looked at again at the latest; 0 if all that we
// wrote has been seen.
func (e *Expectations) Pending(now time.Time) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	var first time.Duration
	for object, x := range e.byObject {
		left := x.until.Sub(now)
		switch {
		case left <= 0 && !now.Before(x.staleUntil) && !x.inFlight:
			e.forget(object)
		case x.written != nil && left > 0 && (first == 0 || left < first):
			first = left
		}
	}
	return first
}

// newer reports whether a version is newer than another. Versions that can't be compared
// tell nothing: then the cache is believed.
func newer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}

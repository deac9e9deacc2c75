package apply

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LastApplied is what is remembered of the last apply of each of a view's objects, by
// the object's kind and name. Without it, as after a restart, everything is compared
// anew, which costs a request only where a webhook changes our fields. Its zero value is empty.
type LastApplied struct {
	// objects are a view's few.
	objects []appliedObject
	// overtaken has those that somebody else has written before us again and again; nil if
	// there are none.
	overtaken map[string]overtaken
}

// appliedObject is an object, by kind and name, and what its last apply led to.
type appliedObject struct {
	object string
	fingerprint
}

// IsEmpty reports whether nothing is remembered.
func (l *LastApplied) IsEmpty() bool { return len(l.objects) == 0 }

func (l *LastApplied) index(object string) int {
	return slices.IndexFunc(l.objects, func(applied appliedObject) bool { return applied.object == object })
}

// of returns what the last apply of an object led to; the zero value if that isn't remembered.
func (l *LastApplied) of(object string) fingerprint {
	if i := l.index(object); i >= 0 {
		return l.objects[i].fingerprint
	}
	return fingerprint{}
}

// note remembers what an apply of an object has led to.
func (l *LastApplied) note(object string, led fingerprint) {
	if i := l.index(object); i >= 0 {
		l.objects[i].fingerprint = led
		return
	}
	l.objects = slices.Concat(l.objects, []appliedObject{{object, led}}) // with no room for more
}

// fingerprint is what an apply led to.
type fingerprint struct {
	// desired and owned name what was wanted and what our field manager then owned.
	// What they name differs if an admission webhook changed a field.
	desired, owned digest
	// live names the object as it was then.
	live digest
	at   time.Time
	// insisted means that it isn't as wanted all the same, because a webhook changes it.
	insisted bool
	// distrusted means that nobody has looked at the object for a while.
	distrusted bool
	// others is what is known of others' changes; nil for nothing, as of most objects. It is
	// never changed, since fingerprints are copied: see noteOthers.
	others *othersChanges
}

// othersChanges is what is known of others that change an object.
type othersChanges struct {
	// editedSince is since when an edit is known that isn't repaired; zero if there is none.
	editedSince time.Time
	// fight is what is known of somebody who keeps changing the object.
	fight fight
	// drifted is what was found changed since, and left so, when it was as live names it.
	drifted drift
	// telling bounds how often that is told.
	telling fight
}

// othersChanges is what is known of others that change the object.
func (f *fingerprint) othersChanges() othersChanges {
	if f.others == nil {
		return othersChanges{}
	}
	return *f.others
}

// noteOthers notes what is known of others that change the object.
func (f *fingerprint) noteOthers(known othersChanges) {
	if f.others = &known; known.editedSince.IsZero() && known.fight == (fight{}) && known.telling == (fight{}) && known.drifted.none() {
		f.others = nil
	}
}

// digest names contents: half of a SHA-256, of which a view has a dozen in memory.
type digest [sha256.Size / 2]byte

// AreCurrent reports whether the ConfigMaps of these names are there as they were
// applied last. configMaps are the cache's.
func (l *LastApplied) AreCurrent(names []string, configMaps []corev1.ConfigMap, written *Expectations, now time.Time) bool {
	for _, name := range names {
		object := "ConfigMap " + name
		var live client.Object = &corev1.ConfigMap{}
		if i := slices.IndexFunc(configMaps, func(c corev1.ConfigMap) bool { return c.Name == name }); i >= 0 {
			live = &configMaps[i]
		}
		if latest := written.latest(object, live, now); latest != nil {
			live = latest
		}
		i := l.index(object)
		if now := (&child{live: live}).liveDigest(); i < 0 || l.objects[i].live != now {
			return false // gone without a note, or another
		}
	}
	return true
}

// Insisted reports whether one of the ConfigMaps of these names isn't as wanted although
// it was applied. It is worth another try, once an interval.
func (l *LastApplied) Insisted(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return l.of("ConfigMap " + name).insisted })
}

// keep forgets the ConfigMaps that aren't among those with these names.
func (l *LastApplied) keep(configMaps []string) {
	l.objects = slices.DeleteFunc(l.objects, func(applied appliedObject) bool {
		name, ok := strings.CutPrefix(applied.object, "ConfigMap ")
		return ok && !slices.Contains(configMaps, name)
	})
}

// fingerprint names the child as it is.
func (c *child) fingerprint(at time.Time) (fingerprint, error) {
	compared, err := c.compare()
	if err != nil {
		return fingerprint{}, err
	}
	var more []any
	if len(c.unknown) > 0 {
		more = append(more, managedFields(c.live))
	}
	owned, err := ownedDigest(compared.extracted, more...)
	if err != nil {
		return fingerprint{}, fmt.Errorf("encode %s: %w", c, err)
	}
	return fingerprint{desired: c.digest, owned: owned, live: liveDigest(c.live), at: at}, nil
}

// liveDigest names the parts of an object that somebody can change on purpose: most
// events are of a Deployment's status. Where there is a generation, it and the managed
// fields tell.
func liveDigest(live client.Object) digest {
	if packed, isPacked := rest(live); isPacked {
		return packed.digest()
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %d", live.GetUID(), live.GetGeneration())
	if live.GetGeneration() == 0 { // a kind that has none
		fmt.Fprintf(hash, " %s", live.GetResourceVersion())
	}
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource != "" {
			continue
		}
		at := int64(0)
		if entry.Time != nil {
			at = entry.Time.Unix()
		}
		fmt.Fprintf(hash, " %s %s %d ", entry.Manager, entry.Operation, at)
		if entry.FieldsV1 != nil {
			_, _ = hash.Write(entry.FieldsV1.GetRawBytes()) // it never fails
		}
	}
	return digest(hash.Sum(nil))
}

// IsAsBefore reports whether nobody has changed an object on purpose, but for its status.
func IsAsBefore(before, now client.Object) bool {
	return now.GetGeneration() != 0 && before.GetUID() == now.GetUID() && liveDigest(before) == liveDigest(now) &&
		before.GetDeletionTimestamp().IsZero() == now.GetDeletionTimestamp().IsZero()
}

func digestOf(value any) (digest, error) {
	is, _, err := encode(value)
	return is, err
}

// encode returns a value as JSON, and what that is named by.
func encode(value any) (digest, []byte, error) {
	encoded, err := json.Marshal(value)
	sum := sha256.Sum256(encoded)
	return digest(sum[:]), encoded, err
}

// sumOf is the SHA-256 of a value's JSON.
func sumOf(value any) (sum [sha256.Size]byte, err error) {
	hash := sha256.New()
	err = json.NewEncoder(hash).Encode(value)
	return [sha256.Size]byte(hash.Sum(nil)), err
}

package apply

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// A view whose drift isn't to be undone is settled once it has been applied as it is
// wanted: from then on nothing is written for it, until something else is wanted. Then all
// of its objects are applied, and drift goes with it.

// Drift is how an object differs from what was applied, where that isn't undone.
type Drift struct {
	Object client.Object
	Kind   string
	// Message says what differs.
	Message string
	// Brief is the same in few words: it names the object and the fields.
	Brief string
}

// deleted stands for the fields of an object that is gone.
const deleted = "deleted"

// planSettled decides about a child of a view that is settled.
func planSettled(s *situation) (action, error) {
	if s.exists() {
		if refusal, refused := refuseForeign(s, s.live); refused {
			return refusal, nil
		}
	}
	switch {
	case s.mode == v1.DriftDetectionDisabled:
		return action{verb: nothing, reason: "drift isn't looked for", unchanged: true}, nil
	case s.unremembered:
		return action{verb: nothing, reason: "it isn't known what was applied", unchanged: true}, nil
	case s.isAsRemembered():
		return action{verb: nothing, reason: "neither it nor what is wanted has changed since it was looked at", unchanged: true}, nil
	case !s.exists():
		return action{verb: warn, reason: "it was deleted, or has lost its labels, which is left so", drift: drift{fields: []string{deleted}}}, nil
	}
	found, err := s.drift()
	if err != nil {
		return action{}, err
	}
	if err := s.addTakenOver(&found); err != nil {
		return action{}, err
	}
	if err := s.dropEqual(&found); err != nil {
		return action{}, err
	}
	if found.none() {
		return action{verb: nothing, reason: "it is as wanted"}, nil
	}
	return action{verb: warn, reason: found.String() + " differ, which is left so", drift: found}, nil
}

// addTakenOver adds to drift what a take-over would find: fields that aren't wanted, of
// field managers whose fields become ours.
func (s *situation) addTakenOver(found *drift) error {
	known := slices.DeleteFunc(slices.Clone(s.live.GetManagedFields()), func(entry metav1.ManagedFieldsEntry) bool { return isDigested(&entry) })
	patch, err := s.takeOverFrom(known, takenOver)
	if err != nil || patch == nil {
		return err
	}
	owned, err := s.ownedIf(patch[0].Value)
	if err != nil {
		return fmt.Errorf("read the managed fields of %s: %w", s, err)
	}
	fields, err := fieldsOf(owned)
	if err != nil {
		return err
	}
	dropLastApplied(fields)
	compared, err := s.compare()
	if err != nil {
		return err
	}
	taken, err := fieldsBetween(fields, compared.desired)
	if err != nil {
		return fmt.Errorf("compare %s: %w", s, err)
	}
	for _, field := range taken {
		if !slices.Contains(found.fields, field) && !found.isUnwanted(field) {
			found.fields = append(found.fields, field)
		}
	}
	return nil
}

// dropEqual removes from drift what is there as it is wanted, whosever it is.
func (s *situation) dropEqual(found *drift) error {
	if len(found.fields) == 0 {
		return nil
	}
	compared, err := s.compare()
	if err != nil {
		return err
	}
	live, err := fieldsOf(s.live)
	if err != nil {
		return err
	}
	found.fields = slices.DeleteFunc(slices.Clone(found.fields), func(pointer string) bool {
		path := v1.PointerParts(pointer)
		wanted, isWanted := fieldAt(compared.desired, path)
		got, isThere := fieldAt(live, path)
		return path != nil && isWanted && isThere && holds(got, wanted)
	})
	return nil
}

// fieldAt returns what a path leads to; false if that is nothing.
func fieldAt(value any, path []string) (any, bool) {
	for _, part := range path {
		switch holder := value.(type) {
		case map[string]any:
			inner, there := holder[part]
			if !there {
				return nil, false
			}
			value = inner
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(holder) {
				return nil, false
			}
			value = holder[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// holds reports whether a live value is as it is wanted, whatever others have added.
func holds(live, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		fields, ok := live.(map[string]any)
		for field, value := range wanted {
			inner, there := fields[field]
			ok = ok && there && holds(inner, value)
		}
		return ok
	case []any:
		entries, ok := live.([]any)
		ok = ok && len(entries) == len(wanted)
		for i := 0; ok && i < len(wanted); i++ {
			ok = holds(entries[i], wanted[i])
		}
		return ok
	}
	return equality.Semantic.DeepEqual(live, wanted)
}

// isUnwanted reports whether a JSON pointer is that of an unwanted key.
func (d drift) isUnwanted(pointer string) bool {
	for field, keys := range d.unwanted {
		for _, key := range keys {
			if pointer == "/"+field+"/"+key {
				return true
			}
		}
	}
	return false
}

// liveDigest names the child as it is; zero if it isn't there.
func (c *child) liveDigest() digest {
	if !c.exists() {
		return digest{}
	}
	return liveDigest(c.live)
}

// note notes what has become of a child of a settled view, and reports it if it is another
// drift than the last. Who goes on changing the object is told of after a delay that
// grows, as one is fought after one.
func (a *Applier) note(last *LastApplied, s *situation, found drift, report *Report) {
	now, known := s.last, s.last.othersChanges()
	if known.drifted.String() != found.String() {
		if s.now.Before(known.telling.until) {
			report.recheckIn(known.telling.until.Sub(s.now))
			return
		}
		known.telling.corrected(s.now)
		known.drifted = found
		now.noteOthers(known)
		report.drift(s.child, found)
	}
	now.live, now.at = s.liveDigest(), a.Clock.Now()
	last.note(s.String(), now)
}

// drift reports drift that is left as it is; none is nothing to report.
func (r *Report) drift(c *child, found drift) {
	switch {
	case found.none():
	case slices.Equal(found.fields, []string{deleted}):
		r.Drifts = append(r.Drifts, Drift{Object: c.live, Kind: c.gvk.Kind, Brief: brief(c.String(), found),
			Message: c.String() + " was deleted, or has lost its labels, and isn't applied again"})
	default:
		r.Drifts = append(r.Drifts, Drift{Object: c.live, Kind: c.gvk.Kind, Brief: brief(c.String(), found),
			Message: c.String() + " was changed and is left so: " + found.String()})
	}
}

// recheckIn notes when to look again at the latest.
func (r *Report) recheckIn(wait time.Duration) {
	if r.Recheck == 0 || wait < r.Recheck {
		r.Recheck = wait
	}
}

func brief(object string, found drift) string {
	return fmt.Sprintf("%s (%s)", object, found)
}

// Drifted lists the objects that are known to differ from what was applied, and how, in the
// words of Drift.Brief.
func (l *LastApplied) Drifted() string {
	var list []string
	for _, known := range l.objects {
		if drifted := known.othersChanges().drifted; !drifted.none() {
			list = append(list, brief(known.object, drifted))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// changed reports whether a view wants something else than what was applied last, of which
// its status tells where nothing is remembered. It notes what it learns from there.
func (l *LastApplied) changed(view *v1.MarkdownView, desired []Desired) (bool, error) {
	known := true
	for i := range desired {
		d := &desired[i]
		if d.asked {
			return true, nil
		}
		last := l.of(d.id()).desired
		known = known && (last != digest{} || d.unremembered)
		if last != (digest{}) && last != d.digest && !d.unremembered {
			return true, nil
		}
	}
	if known {
		return false, nil
	}
	all, err := combined(desired)
	if err != nil || all != view.Status.LastAppliedDigest {
		return true, err
	}
	for i := range desired {
		l.note(desired[i].id(), fingerprint{desired: desired[i].digest})
	}
	return false, nil
}

// forgetDrift is for when all is applied anew: what drifted is compared again.
func (l *LastApplied) forgetDrift() {
	for i := range l.objects {
		known := &l.objects[i]
		if others := known.othersChanges(); !others.drifted.none() {
			others.drifted, known.live = drift{}, digest{}
			known.noteOthers(others)
		}
	}
}

// DigestOf names all that a view wants, for its status.
func DigestOf(view *v1.MarkdownView, desired []Desired) (string, error) {
	desired, err := allWithoutIgnored(view, desired)
	if err != nil {
		return "", err
	}
	return combined(desired)
}

// combined names it by the pages themselves: other digests are of this process only.
func combined(desired []Desired) (string, error) {
	digests := make([]string, 0, len(desired))
	for i := range desired {
		wanted, err := sumOf([]any{desired[i].child().desired, desired[i].patched})
		if err != nil {
			return "", err
		}
		digests = append(digests, fmt.Sprintf("%s %x", desired[i].id(), wanted))
	}
	all, err := sumOf(digests)
	return fmt.Sprintf("sha256:%x", all), err
}

// id names an object as a child does.
func (d *Desired) id() string {
	return d.Kind + " " + d.Name
}

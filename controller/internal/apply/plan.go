package apply

import (
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fluxcd/pkg/ssa"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator"
)

// verb is what is done to a child. Each but nothing, warn, leave and refuse is one request at
// most.
type verb string

const (
	// nothing: it is as wanted, or as far as it can be.
	nothing verb = "nothing"
	// warn: it isn't as wanted, and is left so.
	warn verb = "warn"
	// leave: it isn't as wanted, and is corrected later: somebody keeps changing it.
	leave verb = "leave"
	// refuse: it is an error of the view.
	refuse verb = "refuse"
	// lookUp: read the metadata of what has the name.
	lookUp verb = "look up"
	// readAll: read the whole of what has the name.
	readAll verb = "read all of"
	// create: apply what isn't there.
	create verb = "create"
	// apply: apply over what is there, also what others have set.
	apply verb = "apply"
	// mark: mark it as edited by somebody else, so that pods are replaced.
	mark verb = "mark"
	// takeOver: make other field managers' fields ours. What of them isn't wanted is
	// drift from then on.
	takeOver verb = "take over"
	// giveUp: make fields that are ignored nobody's, as they are.
	giveUp verb = "give up"
	// removeKeys: remove keys that an apply can't, those that others own.
	removeKeys verb = "remove keys"
)

// action is what is to be done next about a child, and why.
type action struct {
	verb   verb
	reason string
	// drift is what apply and removeKeys correct, and what warn doesn't.
	drift drift
	// next is what is corrected after giveUp.
	next drift
	// managers are those whose fields takeOver makes ours.
	managers []ssa.FieldManager
	// err is that of refuse.
	err error
	// edited means that somebody else has changed pages that pods may have mounted.
	edited bool
	// unchanged means that what is remembered of the last apply still holds.
	unchanged bool
}

// situation is all that a decision about a child depends on.
type situation struct {
	*child
	view *v1.MarkdownView
	// mode says what becomes of drift, and settled that it isn't undone, and nothing else
	// is wanted than what was applied last.
	mode    v1.DriftDetectionMode
	settled bool
	// last is what the last apply led to; zero if that isn't known.
	last fingerprint
	// withinInterval means that the last apply was within the view's interval.
	withinInterval bool
	// now is when this is.
	now time.Time
	// predecessor is what is known of the other view of the view's name that the object
	// belongs to, if it belongs to one.
	predecessor predecessor
	// stale means that the API server is known to have another version than the cache.
	stale bool
	// starting means that there are pods that aren't ready.
	starting bool
	// restarted are the marks of edits that pods have been replaced for.
	restarted []string
	// existing is what has the child's name and isn't in the cache of what is ours; nil
	// if that is nothing, or isn't known.
	existing *metav1.PartialObjectMetadata
	// refusal is the API server's answer to the last create or apply, if it was one.
	refusal error
	done    done
}

// done is what was done about a child in this reconciliation.
type done struct {
	// lookedUp means that it was looked what has the name, and lookedAgain that the API
	// server itself was asked.
	lookedUp, lookedAgain bool
	applied, removedKeys  bool
	// marked means that it was marked as edited.
	marked bool
	gaveUp bool
	// tookOver is the takeOver of takenOver, tookOverAll that of all writers.
	tookOver, tookOverAll bool
}

// plan decides what to do next about a child. It is pure, and is asked again about what
// comes of each action: an apply takes back the fields that we set, so that what others
// own of the object is only known after it.
func plan(s *situation) (action, error) {
	switch {
	case s.stale:
		err := &outcome.Error{State: outcome.Unreported, Retry: staleRecheck, Message: s.String() + " has changed, which the cache doesn't show yet"}
		return action{verb: refuse, reason: "the cache is known to be stale", err: err}, nil
	case s.settled:
		return planSettled(s)
	case !s.exists():
		return planMissing(s), nil
	case s.done == done{} && s.refusal == nil:
		return planFound(s)
	case s.refusal != nil:
		return planRefused(s)
	case s.isAsApplied():
		return action{verb: nothing, reason: "it is as it was just applied"}, nil
	}
	found, err := s.drift()
	if err != nil {
		return action{}, err
	}
	return planDrifted(s, found)
}

// isAsRemembered reports whether neither the child nor what is wanted has changed since it
// was applied, or looked at: the same would come of comparing them again, which takes
// milliseconds. Once an interval it is tried again to apply what a webhook changes.
func (s *situation) isAsRemembered() bool {
	looked := s.withinInterval || !s.last.at.IsZero() && !s.last.insisted
	return looked && s.last.desired == s.digest && s.last.live == s.liveDigest()
}

// planMissing decides about a child that the cache doesn't hold. An object that doesn't
// carry our label may have the name all the same, also one that the cache of metadata
// doesn't show yet: a create changes nothing that is there already, and the API server
// tells then whose that is.
func planMissing(s *situation) action {
	if s.last.desired == s.digest && s.now.Before(s.last.othersChanges().fight.until) && s.done == (done{}) && s.refusal == nil {
		return action{verb: leave, reason: "somebody keeps deleting it", drift: drift{fields: []string{"deleted"}}}
	}
	if s.existing != nil {
		if refusal, refused := refuseForeign(s, s.existing); refused {
			return refusal
		}
	}
	switch {
	case s.refusal != nil && apierrors.IsConflict(s.refusal) && !s.done.lookedAgain:
		return action{verb: lookUp, reason: "the API server has another one of its name than was known"}
	case s.refusal != nil && s.done.lookedAgain && s.existing != nil && !s.done.applied && !seen(s.existing):
		return action{verb: apply, reason: "it lacks its labels"}
	case s.refusal != nil && apierrors.IsConflict(s.refusal) && s.existing == nil && !s.done.applied:
		return action{verb: create, reason: "what had its name has just gone"}
	case s.refusal != nil && apierrors.IsConflict(s.refusal):
		return action{verb: refuse, reason: "it is there and will be seen", err: staleVersion(s.refusal)}
	case s.refusal != nil && s.existing != nil && namesField(s.refusal):
		return action{verb: readAll, reason: "the API server refused it beside what others set"}
	case s.refusal != nil:
		return action{verb: refuse, reason: "the API server refused it", err: s.refusal}
	case !s.done.lookedUp:
		return action{verb: lookUp, reason: "something that doesn't carry its labels may have its name"}
	case s.existing != nil: // as the tutorial made it, or to be adopted
		return action{verb: apply, reason: "it lacks its labels"}
	}
	return action{verb: create, reason: "it isn't there"}
}

// refuseForeign refuses a child whose name an object has that isn't the view's.
func refuseForeign(s *situation, object metav1.Object) (refusal action, refused bool) {
	err := checkOwnership(s.view, s.gvk, object, s.predecessor)
	return action{verb: refuse, reason: "what has its name isn't the view's", err: err}, err != nil
}

// seen reports whether the cache of what is ours shows an object, if not yet then soon.
func seen(object metav1.Object) bool {
	return object.GetLabels()[createdByLabel] == generator.FieldManager
}

// createdByLabel is the label that the cache of what is ours selects by.
const createdByLabel = "app.kubernetes.io/created-by"

// planFound decides about a child as the cache has it.
func planFound(s *situation) (action, error) {
	if refusal, refused := refuseForeign(s, s.live); refused {
		return refusal, nil
	}
	if s.isAsRemembered() && s.last.othersChanges().drifted.none() {
		return action{verb: nothing, reason: "neither it nor what is wanted has changed since it was applied", unchanged: true}, nil
	}
	found, err := s.drift()
	if err != nil {
		return action{}, err
	}
	// What an admission webhook makes of our fields is not drift, or it would be fought
	// over indefinitely. Once an interval is often enough to see if it still insists.
	if s.withinInterval && s.last.desired == s.digest {
		now, err := s.fingerprint(s.last.at)
		if err != nil {
			return action{}, err
		}
		if now.owned == s.last.owned {
			found.fields = nil
		}
	}
	if s.last.desired == s.digest && !found.none() && s.now.Before(s.last.othersChanges().fight.until) {
		return action{verb: leave, reason: "somebody keeps changing " + found.String(), drift: found, edited: s.isEdited(found)}, nil
	}
	return planDrifted(s, found)
}

// planDrifted decides about a child that differs from what is wanted by found.
func planDrifted(s *situation, found drift) (action, error) {
	edited := !s.done.marked && s.isEdited(found)
	gives, err := s.ownsIgnored()
	if err != nil {
		return action{}, err
	}
	switch {
	case edited && s.mayBeMounted() && !s.isMarked():
		return action{verb: mark, reason: "pods may have mounted what somebody has edited", edited: true}, nil
	case gives && !s.done.gaveUp: // first: an apply without them would remove them
		return action{verb: giveUp, reason: "the view leaves " + s.ignoredPointers() + " to others", next: drift{fields: found.fields}}, nil
	case len(found.fields) > 0 && !s.done.applied:
		return action{verb: apply, reason: drift{fields: found.fields}.String() + " differ", drift: drift{fields: found.fields}, edited: edited}, nil
	case s.partial:
		return action{verb: nothing, reason: "it is as far as is known as wanted"}, nil
	case found.hasUnwanted() && !s.done.removedKeys:
		unwanted := drift{unwanted: found.unwanted}
		return action{verb: removeKeys, reason: unwanted.String() + " aren't wanted", drift: unwanted, edited: edited}, nil
	case !s.done.tookOver:
		found, err := s.managersAmong(takenOver)
		if found != "" && s.done == (done{}) && s.last.desired == s.digest && s.now.Before(s.last.othersChanges().fight.until) {
			return action{verb: leave, reason: found + " keep setting fields of it"}, nil
		}
		if err != nil || found != "" {
			return action{verb: takeOver, reason: found + " set fields of it", managers: takenOver}, err
		}
	}
	return action{verb: nothing, reason: "it is as wanted"}, nil
}

// planRefused decides about a child that the API server refuses to change. If what
// others have set doesn't go together with ours, as a second Service port without a name
// doesn't, theirs goes.
func planRefused(s *situation) (action, error) {
	if namesField(s.refusal) && !s.done.marked && s.keepsPredecessor() {
		return action{verb: mark, reason: "the API server refused it beside the owner that a mark came with"}, nil
	}
	if namesField(s.refusal) && !s.done.tookOverAll {
		writers := writersOf(s.live)
		if found, err := s.managersAmong(writers); err != nil || found != "" {
			return action{verb: takeOver, reason: "the API server refused it beside what " + found + " set", managers: writers}, err
		}
	}
	if apierrors.IsConflict(s.refusal) {
		return action{verb: refuse, reason: "somebody else has written it meanwhile", err: staleVersion(s.refusal)}, nil
	}
	return action{verb: refuse, reason: "the API server refused it", err: s.refusal}, nil
}

// namesField reports whether an object was refused because of what one of its fields
// holds. A policy that refuses it is Invalid too, but names no field.
func namesField(refusal error) bool {
	var status apierrors.APIStatus
	return apierrors.IsInvalid(refusal) && errors.As(refusal, &status) && status.Status().Details != nil &&
		slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field != "" })
}

// managersAmong names those of the field managers that have set fields of the object, other
// than what is left to them; empty if none has.
func (c *child) managersAmong(managers []ssa.FieldManager) (string, error) {
	var found []string
	for _, entry := range c.live.GetManagedFields() {
		if !isOf(&entry, managers) {
			continue
		}
		left, others, err := c.ignored.split(entry.FieldsV1)
		if err != nil {
			return "", err
		}
		if others == nil || left.GetRawString() != "{}" {
			found = append(found, entry.Manager)
		}
	}
	return strings.Join(found, " and "), nil
}

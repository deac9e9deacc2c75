package apply

import (
	"errors"
	"time"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// A write that names the version it was decided on is refused if somebody else is quicker.
// Who writes an object all the time may always be: then it is neither corrected nor, without
// what is here, tried at longer intervals, or told of.

// overtaken is what is known of somebody who has written an object each time before us.
type overtaken struct {
	fight
	// desired is what was wanted then: something else is tried at once.
	desired digest
}

// wait is how long the object isn't written; 0 if it may be now.
func (o overtaken) wait(now time.Time) time.Duration { return max(0, o.until.Sub(now)) }

// waits is how long the object of a step isn't written, because somebody else always is
// quicker; 0 if it is now, or isn't to be written.
func (l *LastApplied) waits(step step) time.Duration {
	s := step.situation
	switch step.first.verb {
	case nothing, warn, leave, refuse:
		return 0
	}
	if known := l.overtaken[s.String()]; known.desired == s.digest {
		return known.wait(s.now)
	}
	return 0
}

// overtake notes that somebody else was quicker to write an object.
func (l *LastApplied) overtake(object string, desired digest, now time.Time) overtaken {
	known := l.overtaken[object]
	if known.desired != desired {
		known = overtaken{desired: desired}
	}
	known.corrected(now)
	if l.overtaken == nil {
		l.overtaken = map[string]overtaken{}
	}
	l.overtaken[object] = known
	return known
}

// noteOvertaken notes an error if it is that somebody else was quicker, and returns how long the
// object isn't written now; 0 as long as that wasn't so too often in a row. Of an object whose
// status is written all the time that says nothing.
func (l *LastApplied) noteOvertaken(s *situation, err error, now time.Time) time.Duration {
	if known, ok := errors.AsType[*outcome.Error](err); !ok || s.restless || known.State != outcome.Unreported || !isStale(err) {
		return 0
	}
	if known := l.overtake(s.String(), s.digest, now); known.isOn() {
		return known.wait(now)
	}
	return 0
}

// stillOvertaken is what is known of who has been quicker to write an object that needs no
// write now. Once there is peace, it is forgotten.
func (l *LastApplied) stillOvertaken(s *situation) fight {
	known := l.overtaken[s.String()]
	if !s.now.Before(known.over()) {
		l.forgetOvertaken(s.String())
		return fight{}
	}
	return known.fight
}

func (l *LastApplied) forgetOvertaken(object string) {
	if delete(l.overtaken, object); len(l.overtaken) == 0 {
		l.overtaken = nil
	}
}

// overtakenError is the outcome of an object that somebody else has always written before us,
// and that isn't yet what is wanted now.
func overtakenError(s *situation, retry time.Duration) error {
	return &outcome.Error{State: outcome.Retrying, Reason: v1.ContestedReason, Retry: retry,
		Message: s.String() + " is written by somebody else each time before it can be applied, which is tried with a growing delay: find out who with kubectl get --show-managed-fields, and stop it"}
}

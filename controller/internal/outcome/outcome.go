// Package outcome names what a reconciliation can come to, and has the one error type
// that carries it: whoever finds out why a view can't be served says there what that
// means for the view and when to try again.
//
// It is at the bottom: it imports nothing of this project.
package outcome

import (
	"fmt"
	"time"
)

// State is what a reconciliation came to.
type State int

const (
	// Served means that every replica serves the pages of this generation.
	Served State = iota
	// Progressing means that it was applied, and is being rolled out.
	Progressing
	// Retrying means that it failed, and is tried again without anyone's help.
	Retrying
	// Stalled means that it failed until somebody changes something.
	Stalled
	// Unreported means that there is nothing for the status: the next look at the same
	// thing is expected to tell more.
	Unreported
)

// Error is an error that carries its outcome.
type Error struct {
	State State
	// Reason is that of the Ready condition; it isn't needed if State is Unreported.
	Reason string
	// Message says what is wrong and what to do.
	Message string
	// Retry is when to try again if no watch wakes the view before. 0 leaves it to the
	// queue, with its back-off; if State is Stalled, to whoever changes something.
	Retry time.Duration
	// Err is the cause, which Error adds to the message; nil if the message says it all.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	switch {
	case e.Err == nil:
		return e.Message
	case e.Message == "":
		return e.Err.Error()
	}
	return fmt.Sprintf("%s: %v", e.Message, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	return e.Err
}

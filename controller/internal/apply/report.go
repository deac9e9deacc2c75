package apply

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Report is what Execute did.
type Report struct {
	// Written are the objects that were written, and how.
	Written []string
	// Corrections are what was corrected without the view having asked for something
	// else.
	Corrections []Correction
	// Drifts are what was found changed and is left so, if that is news.
	Drifts []Drift
	// Fights are the objects that somebody keeps changing.
	Fights []string
	// Recheck is when to look at them again; 0 if there are none.
	Recheck time.Duration
}

// fought notes that an object is fought over.
func (r *Report) fought(s *situation, recheck time.Duration) {
	r.Fights = append(r.Fights, s.String())
	r.recheckIn(recheck)
}

// Correction is an object that wasn't as it had been applied.
type Correction struct {
	Object client.Object
	Kind   string
	// Message says what was wrong.
	Message string
}

// correct notes that an object was corrected.
func (r *Report) correct(c *child, f fight, what string) {
	if f.isOn() {
		return // that is in the condition
	}
	r.Corrections = append(r.Corrections, Correction{Object: c.live, Kind: c.gvk.Kind, Message: c.String() + " " + what})
}

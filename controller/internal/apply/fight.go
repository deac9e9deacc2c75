package apply

import "time"

// fight is what is known of somebody who keeps changing an object that is corrected each
// time. The first few times that costs nothing but a request; who goes on is answered
// after a delay that grows, so that neither the API server nor other views have to bear
// it. In the end whoever stops later has won, and that is the controller.
type fight struct {
	// times is how often it was corrected in a row, and at when it was last.
	times int
	at    time.Time
	// until is when it is corrected next at the earliest.
	until time.Time
}

const (
	// patience is how often an object is corrected at once.
	patience = 3
	// minFightDelay and maxFightDelay bound the delay after that.
	minFightDelay, maxFightDelay = 2 * time.Second, 5 * time.Minute
	// peace is how long nobody must have changed an object for the next correction to be
	// the first one again; where the delay is longer, it is that.
	peace = 30 * time.Second
)

// corrected notes a correction.
func (f *fight) corrected(now time.Time) {
	if !f.at.IsZero() && !now.Before(f.over()) {
		*f = fight{}
	}
	f.times++
	f.at, f.until = now, now.Add(f.delay())
}

func (f *fight) delay() time.Duration {
	if f.times < patience {
		return 0
	}
	delay := minFightDelay
	for range f.times - patience {
		if delay *= 2; delay >= maxFightDelay {
			return maxFightDelay
		}
	}
	return delay
}

// over is when there is peace again if nobody changes the object.
func (f *fight) over() time.Time {
	return f.at.Add(max(peace, 2*f.delay()))
}

// isOn reports whether the last correction was one too many to be told of by itself.
func (f *fight) isOn() bool {
	return f.times > patience
}

// goesOn reports whether there isn't peace yet.
func (f *fight) goesOn(now time.Time) bool {
	return f.isOn() && now.Before(f.over())
}

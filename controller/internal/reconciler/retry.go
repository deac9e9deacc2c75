package reconciler

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// backOff is when a view that failed is tried again by itself.
type backOff struct {
	generation int64
	failures   int
	due        time.Time
	// longest is the view's interval.
	longest time.Duration
}

// retryLimiter delays what failed, the longer the more often it failed when it was due,
// but no longer than the view's interval: a failure that an event leads to meanwhile
// doesn't count, or a busy view would heal last.
type retryLimiter struct {
	states   *viewStates
	min, max time.Duration
	now      func() time.Time
}

var _ workqueue.TypedRateLimiter[reconcile.Request] = &retryLimiter{}

// When implements workqueue.TypedRateLimiter. It is asked once for each failure.
func (l *retryLimiter) When(request reconcile.Request) time.Duration {
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	state, ok := l.states.byView[request.NamespacedName]
	if !ok {
		return l.min
	}
	now, retry := l.now(), &state.retry
	if now.Before(retry.due) {
		return retry.due.Sub(now)
	}
	delay := l.min
	for range retry.failures {
		if delay *= 2; delay >= l.max {
			break
		}
	}
	delay = min(delay, l.max)
	if retry.longest > 0 {
		delay = min(delay, retry.longest)
	}
	retry.failures++
	retry.due = now.Add(delay)
	return delay
}

// Forget implements workqueue.TypedRateLimiter. What failed is forgotten when the view
// succeeds: the queue forgets it also when it was only parked.
func (l *retryLimiter) Forget(reconcile.Request) {}

// NumRequeues implements workqueue.TypedRateLimiter.
func (l *retryLimiter) NumRequeues(request reconcile.Request) int {
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	if state, ok := l.states.byView[request.NamespacedName]; ok {
		return state.retry.failures
	}
	return 0
}

// prepareRetry notes what bounds a view's back-off; another spec begins anew.
func (s *viewStates) prepareRetry(state *viewState, view *v1.MarkdownView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state.retry.generation != view.Generation {
		state.retry = backOff{generation: view.Generation}
	}
	state.retry.longest = v1.DefaultInterval
	if view.Spec.Interval != nil {
		state.retry.longest = view.Spec.Interval.Duration
	}
}

// isDue reports whether a view that failed is to be tried again by now.
func (s *viewStates) isDue(state *viewState, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !now.Before(state.retry.due)
}

// succeeded ends a view's back-off.
func (s *viewStates) succeeded(state *viewState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state.retry = backOff{generation: state.retry.generation}
}

// Package apply brings a view's objects to what is wanted: it decides, object by object,
// what there is to do and why (plan, which is pure), does it, and remembers what it led
// to.
//
// It may import the outcomes, and knows nothing of where pages come from, of pods, or of
// conditions.
package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// Applier applies what views want. All of its fields are required.
type Applier struct {
	// Client reads from caches that hold only what carries this system's label. They may
	// be stale: see Expectations.
	Client client.Reader
	// Writer writes: with the rights of the controller, or those that As gives.
	Writer client.Writer
	// APIReader reads the metadata of what has a name from the API server itself.
	APIReader client.Reader
	// Metadata reads the metadata of any ConfigMap and Service, and of any Deployment that
	// doesn't carry our label, from a cache.
	Metadata client.Reader
	// Clock tells when something was applied.
	Clock clock.PassiveClock
}

// As returns an applier that writes with other rights; with the same if writer is nil.
func (a *Applier) As(writer client.Writer) *Applier {
	if writer == nil {
		return a
	}
	as := *a
	as.Writer = writer
	return &as
}

// Plan is what there is to do about a view's objects.
type Plan struct {
	last    *LastApplied
	written *Expectations
	steps   []step
}

// step is one object with the first action about it; what comes of that decides about
// the next.
type step struct {
	situation *situation
	first     action
}

// Plan reads the desired objects and plans what to do about them. It is an error if one
// of them isn't the view's to change: nothing is written then. Execute notes in last
// and written what comes of it.
func (a *Applier) Plan(ctx context.Context, view *v1.MarkdownView, desired []Desired, last *LastApplied, written *Expectations) (*Plan, error) {
	p := &Plan{last: last, written: written}
	starting, err := a.podsStart(ctx, view)
	if err != nil {
		return nil, err
	}
	desired, err = allWithoutIgnored(view, desired)
	if err != nil {
		return nil, err
	}
	mode, settled := view.DriftMode(), false
	if mode != v1.DriftDetectionEnabled {
		changed, err := last.changed(view, desired)
		if err != nil {
			return nil, err
		}
		settled = !changed
	}
	children, restarted, err := a.peekAll(ctx, desired, written)
	if err != nil {
		return nil, err
	}
	predecessor := isUnknown
	for _, c := range children {
		s := &situation{child: c, view: view, mode: mode, settled: settled, last: last.of(c.String())}
		s.now = a.Clock.Now()
		if predecessor, err = a.findPredecessor(ctx, view, c.live, predecessor); err != nil {
			return nil, err
		}
		s.predecessor = predecessor
		s.stale = written.isStale(s.String(), c.live.GetResourceVersion(), a.Clock.Now())
		s.starting, s.restarted = starting, restarted
		s.withinInterval = a.Clock.Since(s.last.at) < view.Spec.Interval.Duration
		if !s.isAsRemembered() || !settled && !s.last.othersChanges().drifted.none() {
			if err := c.unpack(); err != nil {
				return nil, err
			}
		}
		first, err := plan(s)
		if err != nil {
			return nil, err
		}
		if first.edited {
			last.noteEdited(s)
		}
		p.steps = append(p.steps, step{s, first})
	}
	for _, step := range p.steps {
		if step.first.verb == refuse {
			return nil, step.first.err
		}
	}
	return p, nil
}

// podsStart reports whether a view has pods that aren't ready.
func (a *Applier) podsStart(ctx context.Context, view *v1.MarkdownView) (bool, error) {
	var pods corev1.PodList
	if err := a.Client.List(ctx, &pods, OfView(view)...); err != nil {
		return false, err
	}
	return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
		return pod.DeletionTimestamp == nil && !ended && !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	}), nil
}

// ReplacesPods reports whether the plan replaces pods that run.
func (p *Plan) ReplacesPods() (bool, error) {
	for _, step := range p.steps {
		if _, ok := step.situation.live.(*appsv1.Deployment); ok {
			return step.replacesPods()
		}
	}
	return false, nil
}

// podTemplate is the JSON pointer of a Deployment's template.
const podTemplate = "/spec/template"

// replacesPods reports whether a Deployment's template becomes another one: by the first action,
// or by those that come of it.
func (s *step) replacesPods() (bool, error) {
	switch s.first.verb {
	case nothing, warn, leave, refuse:
		return false, nil
	}
	if !s.situation.exists() {
		return false, nil
	}
	found := drift{fields: slices.Concat(s.first.drift.fields, s.first.next.fields)}
	if err := s.situation.addTakenOver(&found); err != nil {
		return false, err
	}
	for i, field := range found.fields {
		if leadsInto(field, podTemplate) { // of what was somebody else's, all of the spec differs at once
			found.fields[i] = podTemplate
		}
	}
	if err := s.situation.dropEqual(&found); err != nil {
		return false, err
	}
	return found.touches(podTemplate), nil
}

// Writes lists the objects that Execute would write, and how.
func (p *Plan) Writes() []string {
	var writes []string
	for _, step := range p.steps {
		if step.first.verb != nothing && step.first.verb != warn {
			writes = append(writes, fmt.Sprintf("%s (%s)", step.situation, step.first.verb))
		}
	}
	return writes
}

// Objects calls a function for each object that Execute would write.
func (p *Plan) Objects(yield func(kind schema.GroupVersionKind, name string, exists bool)) {
	for _, step := range p.steps {
		switch step.first.verb {
		case nothing, warn, leave:
		default:
			yield(step.situation.gvk, step.situation.live.GetName(), step.situation.exists())
		}
	}
}

// Deployment is the live one, as it was read, or written by Execute; nil if it isn't
// planned for, because it is only kept and isn't known.
func (p *Plan) Deployment() *appsv1.Deployment {
	for _, step := range p.steps {
		if deployment, ok := step.situation.live.(*appsv1.Deployment); ok {
			return deployment
		}
	}
	return nil
}

// Settled reports whether nothing is written for the view, whatever has become of its
// objects.
func (p *Plan) Settled() bool {
	return slices.ContainsFunc(p.steps, func(s step) bool { return s.situation.settled })
}

// Missing lists the objects of a kind that aren't there, and that Execute doesn't create.
func (p *Plan) Missing(kinds ...string) []string {
	var missing []string
	for _, step := range p.steps {
		if s := step.situation; s.settled && !s.exists() && slices.Contains(kinds, s.gvk.Kind) {
			missing = append(missing, s.String())
		}
	}
	return missing
}

// Execute brings each object to what is wanted, in order, and stops at the first that
// can't be: a Deployment must not ask for pages that aren't there. What was done until
// then is reported also if there is an error.
func (a *Applier) Execute(ctx context.Context, p *Plan) (report Report, err error) {
	if slices.ContainsFunc(p.steps, func(s step) bool { return !s.situation.settled }) {
		p.last.forgetDrift()
	}
	for _, step := range p.steps {
		wait, err := p.last.waits(step), error(nil)
		if wait == 0 {
			err = a.execute(ctx, p, step, &report)
			wait = p.last.noteOvertaken(step.situation, err, a.Clock.Now())
		}
		switch s := step.situation; {
		case wait > 0 && s.last.desired == s.digest:
			report.fought(s, wait)
		case wait > 0:
			return report, overtakenError(s, wait)
		case err != nil:
			return report, err
		}
	}
	return report, nil
}

func (a *Applier) execute(ctx context.Context, p *Plan, step step, report *Report) error {
	s, next := step.situation, step.first
	existed := s.exists()
	var corrected drift
	for range maxActions {
		ctrl.LoggerFrom(ctx).V(1).Info("planned", "object", s.String(), "action", next.verb, "reason", next.reason)
		switch next.verb {
		case nothing, warn:
			return a.end(p.last, s, next, existed, corrected, report)
		case leave:
			report.fought(s, s.last.othersChanges().fight.until.Sub(s.now))
			return nil
		case refuse:
			return next.err
		}
		if err := a.do(ctx, s, next, p.written); err != nil {
			return err
		}
		if next.verb != lookUp && next.verb != readAll && s.refusal == nil {
			report.Written = append(report.Written, fmt.Sprintf("%s (%s)", s, next.verb))
			corrected.add(next.drift)
		}
		var err error
		if next, err = plan(s); err != nil {
			return err
		}
	}
	return fmt.Errorf("apply %s: it isn't as wanted after %d actions", s, maxActions)
}

// end is for a child about which there is nothing more to do.
func (a *Applier) end(last *LastApplied, s *situation, next action, existed bool, corrected drift, report *Report) error {
	switch {
	case s.settled && next.unchanged:
		return nil
	case s.settled:
		a.note(last, s, next.drift, report)
		return nil
	case !next.unchanged:
		if err := a.finish(last, s, existed, corrected, report); err != nil {
			return err
		}
	}
	known := last.of(s.String())
	for _, f := range []fight{known.othersChanges().fight, last.stillOvertaken(s)} {
		if f.goesOn(s.now) {
			report.fought(s, f.over().Sub(s.now))
			break
		}
	}
	return nil
}

// maxActions is more than any object needs: something changes it as fast as it is
// corrected.
const maxActions = 10

// finish notes what came of the child, and reports what was corrected. A change that is
// wanted isn't drift, and what is still so, because a webhook insists on it, isn't
// corrected.
func (a *Applier) finish(last *LastApplied, s *situation, existed bool, corrected drift, report *Report) error {
	known, before := othersChanges{}, s.last.othersChanges()
	known.telling = before.telling
	if s.isAsApplied() {
		now := s.asApplied(a.Clock.Now())
		now.noteOthers(known)
		last.note(s.String(), now)
		return nil
	}
	now, err := s.fingerprint(a.Clock.Now())
	if err != nil {
		return err
	}
	left, err := s.drift()
	if err != nil {
		return err
	}
	now.insisted = !left.none()
	if s.mode == v1.DriftDetectionWarn && now.insisted {
		known.drifted = left
		report.drift(s.child, left)
	}
	defer func() {
		now.noteOthers(known)
		last.note(s.String(), now)
	}()
	if s.last.desired != now.desired {
		return nil
	}
	corrected.subtract(left)
	known.fight = before.fight
	if existed && corrected.none() {
		return nil
	}
	known.fight.corrected(now.at)
	if !existed {
		report.correct(s.child, known.fight, "was deleted, or had lost its labels, and is applied again")
	} else {
		report.correct(s.child, known.fight, "was changed and is corrected: "+corrected.String())
	}
	return nil
}

// do performs an action. The API server's refusal of a create or apply is noted in the
// situation: plan decides what it means.
func (a *Applier) do(ctx context.Context, s *situation, next action, written *Expectations) error {
	switch next.verb {
	case readAll:
		return a.readAll(ctx, s)
	case lookUp:
		s.done.lookedAgain = s.done.lookedAgain || s.done.lookedUp || s.refusal != nil
		s.done.lookedUp, s.done.applied = true, false
		err := a.lookUp(ctx, s)
		if s.done.lookedAgain && s.existing != nil && seen(s.existing) {
			written.expectChange(s.String(), "", a.Clock.Now())
		}
		return err
	}
	refused, decidedOn := s.refusal != nil, s.live.GetResourceVersion()
	s.refusal = nil
	written.begin(s.String())
	err := a.write(ctx, s, next, refused, written)
	if err == nil && s.refusal == nil {
		s.answer()
	}
	if decidedOn != "" && isStale(errors.Join(err, s.refusal)) {
		written.expectChange(s.String(), decidedOn, a.Clock.Now())
	}
	var answer client.Object
	if err == nil && s.refusal == nil {
		switch lacks := checkAnswer(s); {
		case lacks == nil:
			answer = s.live
		case next.verb != takeOver: // which doesn't set labels: what has lost them gets them next
			err = lacks
		}
	}
	written.end(s.String(), answer, a.Clock.Now())
	return err
}

// Package apply brings a view's objects to what is wanted: it decides, object by object,
// what there is to do and why (plan, which is pure), does it, and remembers what it led
// to.
//
// It may import the outcomes, and knows nothing of where pages come from, of pods, or of
// conditions.
package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator"
)

// Applier applies what views want. All of its fields are required.
type Applier struct {
	// Client reads from caches that hold only what carries this system's label. They may
	// be stale: see Expectations.
	Client client.Client
	// APIReader reads the metadata of what has a name from the API server itself.
	APIReader client.Reader
	// Metadata reads the metadata of any ConfigMap and Service from a cache.
	Metadata client.Reader
	// Clock tells when something was applied.
	Clock clock.PassiveClock
}

// Plan is what there is to do about a view's objects.
type Plan struct {
	last    LastApplied
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
func (a *Applier) Plan(ctx context.Context, view *v1.MarkdownView, desired []Desired, last LastApplied, written *Expectations) (*Plan, error) {
	p := &Plan{last: last, written: written}
	for i := range desired {
		c, err := a.read(ctx, &desired[i], written)
		if err != nil {
			return nil, err
		}
		s := &situation{child: c, view: view, last: last[c.String()]}
		s.now = a.Clock.Now()
		s.recent = a.Clock.Since(view.CreationTimestamp.Time) < collectionTime
		s.stale = written.isStale(s.String(), c.live.GetResourceVersion(), a.Clock.Now())
		s.withinInterval = a.Clock.Since(s.last.at) < view.Spec.Interval.Duration
		first, err := plan(s)
		if err != nil {
			return nil, err
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

// ReplacesPods reports whether the plan replaces pods that run.
func (p *Plan) ReplacesPods() bool {
	for _, step := range p.steps {
		if _, ok := step.situation.live.(*appsv1.Deployment); ok {
			return step.situation.exists() && step.first.drift.touches("/spec/template")
		}
	}
	return false
}

// Writes lists the objects that Execute would write, and how.
func (p *Plan) Writes() []string {
	var writes []string
	for _, step := range p.steps {
		if step.first.verb != nothing {
			writes = append(writes, fmt.Sprintf("%s (%s)", step.situation, step.first.verb))
		}
	}
	return writes
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

// Report is what Execute did.
type Report struct {
	// Written are the objects that were written, and how.
	Written []string
	// Corrections are what was corrected without the view having asked for something
	// else.
	Corrections []Correction
	// Fights are the objects that somebody keeps changing.
	Fights []string
	// Recheck is when to look at them again; 0 if there are none.
	Recheck time.Duration
}

// fought notes that an object is fought over.
func (r *Report) fought(s *situation, recheck time.Duration) {
	r.Fights = append(r.Fights, s.String())
	if r.Recheck == 0 || recheck < r.Recheck {
		r.Recheck = recheck
	}
}

// Correction is an object that wasn't as it had been applied.
type Correction struct {
	Object client.Object
	Kind   string
	// Message says what was wrong.
	Message string
}

// Execute brings each object to what is wanted, in order, and stops at the first that
// can't be: a Deployment must not ask for pages that aren't there. What was done until
// then is reported also if there is an error.
func (a *Applier) Execute(ctx context.Context, p *Plan) (report Report, err error) {
	for _, step := range p.steps {
		if err := a.execute(ctx, p, step, &report); err != nil {
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
		case nothing:
			if next.unchanged {
				if s.last.fight.goesOn(s.now) {
					report.fought(s, s.last.fight.over().Sub(s.now))
				}
				return nil
			}
			if err := a.finish(p.last, s, existed, corrected, report); err != nil {
				return err
			}
			if f := p.last[s.String()].fight; f.goesOn(s.now) {
				report.fought(s, f.over().Sub(s.now))
			}
			return nil
		case leave:
			report.fought(s, s.last.fight.until.Sub(s.now))
			return nil
		case refuse:
			return next.err
		}
		if err := a.do(ctx, s, next, p.written); err != nil {
			return err
		}
		if next.verb != lookUp && s.refusal == nil {
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

// maxActions is more than any object needs: something changes it as fast as it is
// corrected.
const maxActions = 10

// finish notes what came of the child, and reports what was corrected. A change that is
// wanted isn't drift, and what is still so, because a webhook insists on it, isn't
// corrected.
func (a *Applier) finish(last LastApplied, s *situation, existed bool, corrected drift, report *Report) error {
	now, err := s.fingerprint(a.Clock.Now())
	if err != nil {
		return err
	}
	left, err := s.drift()
	if err != nil {
		return err
	}
	now.insisted = !left.none()
	defer func() { last[s.String()] = now }()
	if s.last.desired != now.desired {
		return nil
	}
	corrected.subtract(left)
	now.fight = s.last.fight
	if existed && corrected.none() {
		return nil
	}
	now.fight.corrected(now.at)
	if !existed {
		report.correct(s.child, now.fight, "was deleted, or had lost its labels, and is applied again")
	} else {
		report.correct(s.child, now.fight, "was changed and is corrected: "+corrected.String())
	}
	return nil
}

func (r *Report) correct(c *child, f fight, what string) {
	if f.isOn() {
		return // that is in the condition
	}
	r.Corrections = append(r.Corrections, Correction{Object: c.live, Kind: c.gvk.Kind, Message: c.String() + " " + what})
}

// do performs an action. The API server's refusal of a create or apply is noted in the
// situation: plan decides what it means.
func (a *Applier) do(ctx context.Context, s *situation, next action, written *Expectations) error {
	if next.verb == lookUp {
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
	err := a.write(ctx, s, next, refused)
	if decidedOn != "" && isStale(errors.Join(err, s.refusal)) {
		written.expectChange(s.String(), decidedOn, a.Clock.Now())
	}
	var answer client.Object
	if err == nil && s.refusal == nil {
		if err = checkAnswer(s); err == nil {
			answer = s.live
		}
	}
	written.end(s.String(), answer, a.Clock.Now())
	return err
}

// write performs an action that is a write.
func (a *Applier) write(ctx context.Context, s *situation, next action, refused bool) error {
	switch next.verb {
	case create:
		s.refusal = a.serverSideApply(ctx, s.child, "", absentVersion)
		s.done.applied = s.refusal == nil
	case apply:
		uid, version := s.live.GetUID(), s.live.GetResourceVersion()
		if !s.exists() {
			uid, version = s.existing.GetUID(), s.existing.GetResourceVersion()
		}
		s.refusal = a.serverSideApply(ctx, s.child, uid, version)
		s.done.applied = true
	case removeKeys:
		s.done.removedKeys = true
		return a.removeKeys(ctx, s.child, next.drift.unwanted)
	case takeOver:
		s.done.tookOver, s.done.tookOverAll = s.done.tookOver || !refused, refused
		s.done.applied, s.done.removedKeys = false, false
		return a.takeOver(ctx, s.child, next)
	}
	return nil
}

// checkAnswer returns an error if what was written came back without the labels that let
// the controller see it: it never will, and neither will the Service see the pods.
func checkAnswer(s *situation) error {
	for key, value := range generator.Labels(s.view.Name) {
		if got := s.live.GetLabels()[key]; got != value {
			return &outcome.Error{State: outcome.Retrying, Reason: v1.ApplyFailedReason, Message: fmt.Sprintf(
				"%s was written with the label %s=%s and came back with %q: have the admission webhook or policy that changes it leave it alone", s, key, value, got)}
		}
	}
	return nil
}

// read reads the live object from the cache, or as we wrote it, if the cache doesn't show
// that yet.
func (a *Applier) read(ctx context.Context, desired *Desired, written *Expectations) (*child, error) {
	cached := desired.child()
	key := client.ObjectKeyFromObject(cached.live)
	err := a.Client.Get(ctx, key, cached.live)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if apierrors.IsNotFound(err) {
		// Get has cleared it.
		cached.live.SetNamespace(key.Namespace)
		cached.live.SetName(key.Name)
	}
	cached.digest, cached.partial = desired.digest, desired.partial
	if latest := written.latest(cached.String(), cached.live, a.Clock.Now()); latest != nil {
		cached.become(latest)
	}
	if cached.exists() && cached.keep != nil {
		cached.desired, err = cached.keep()
		return cached, err
	}
	return cached, nil
}

// lookUp reads the metadata of what has the child's name: from the cache of all, if there
// is one, and when that doesn't agree with the API server from there.
func (a *Applier) lookUp(ctx context.Context, s *situation) error {
	s.existing = nil
	if s.metadataCached && !s.done.lookedAgain {
		existing := &metav1.PartialObjectMetadata{}
		existing.SetGroupVersionKind(s.gvk)
		err := a.Metadata.Get(ctx, client.ObjectKeyFromObject(s.live), existing)
		if err == nil {
			s.existing = existing
		}
		return client.IgnoreNotFound(err)
	}
	// A list, which needs no right beside that to watch.
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(s.gvk.GroupVersion().WithKind(s.gvk.Kind + "List"))
	err := a.APIReader.List(ctx, &list, client.InNamespace(s.live.GetNamespace()), client.MatchingFields{metav1.ObjectNameField: s.live.GetName()})
	if err != nil {
		return fmt.Errorf("look up %s: %w", s, err)
	}
	if len(list.Items) > 0 {
		s.existing = &list.Items[0]
	}
	return nil
}

// absentVersion is the version of no object: an apply that names it is refused with a
// conflict if there is one of the name, and creates it if there is none.
const absentVersion = "1"

// serverSideApply sends what is wanted in one request and reads back the result. It is
// refused with a conflict if the object isn't as it was when that was decided.
func (a *Applier) serverSideApply(ctx context.Context, c *child, uid types.UID, version string) error {
	// Escaped for HTML, a page of little but "<" would be six times as long, and
	// more than the API server reads.
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(atVersion(c.desired, uid, version)); err != nil {
		return fmt.Errorf("encode %s: %w", c, err)
	}
	patch := client.RawPatch(types.ApplyPatchType, body.Bytes())
	if err := a.Client.Patch(ctx, c.live, patch, client.FieldOwner(generator.FieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s: %w", c, err)
	}
	return nil
}

// takeOver makes other field managers' fields ours.
func (a *Applier) takeOver(ctx context.Context, c *child, next action) error {
	// Not "test", which is refused as invalid when it fails; a version that isn't the
	// object's any more is a conflict.
	operations := []any{map[string]string{"op": "replace", "path": "/metadata/resourceVersion", "value": c.live.GetResourceVersion()}}
	for _, patch := range next.managedFields {
		operations = append(operations, patch)
	}
	body, err := json.Marshal(operations)
	if err != nil {
		return fmt.Errorf("encode the managed fields of %s: %w", c, err)
	}
	if err := a.Client.Patch(ctx, c.live, client.RawPatch(types.JSONPatchType, body), client.FieldOwner(generator.FieldManager)); err != nil {
		return staleVersion(fmt.Errorf("take over the fields of %s: %w", c, err))
	}
	return nil
}

// removeKeys removes keys that an apply can't: those that others own.
func (a *Applier) removeKeys(ctx context.Context, c *child, unwanted map[string][]string) error {
	patch := map[string]map[string]any{"metadata": {"resourceVersion": c.live.GetResourceVersion()}}
	for field, keys := range unwanted {
		for _, key := range keys {
			if patch[field] == nil {
				patch[field] = map[string]any{}
			}
			patch[field][key] = nil
		}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode %s: %w", c, err)
	}
	if err := a.Client.Patch(ctx, c.live, client.RawPatch(types.MergePatchType, body), client.FieldOwner(generator.FieldManager)); err != nil {
		return staleVersion(fmt.Errorf("apply %s: %w", c, err))
	}
	return nil
}

// staleRecheck is how soon it is looked again at what was written by somebody else
// meanwhile, if the watch doesn't tell before.
const staleRecheck = time.Second

// staleVersion gives a conflict the outcome that it has where a write names the version
// it was decided on: somebody else was quicker, and the next look at the object is right.
func staleVersion(err error) error {
	if isStale(err) {
		return &outcome.Error{State: outcome.Unreported, Retry: staleRecheck, Err: err}
	}
	return err
}

// isStale reports whether a write was refused because the object isn't any more what that
// was decided on.
func isStale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}

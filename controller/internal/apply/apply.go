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
	"fmt"

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
	// Client reads from caches that hold only what carries this system's label, and
	// must read its own writes: without that a stale cache would be taken for drift.
	Client client.Client
	// APIReader reads the metadata of Deployments that aren't in the cache.
	APIReader client.Reader
	// Metadata reads the metadata of any ConfigMap and Service from a cache.
	Metadata client.Reader
	// Clock tells when something was applied.
	Clock clock.PassiveClock
}

// Plan is what there is to do about a view's objects.
type Plan struct {
	last  LastApplied
	steps []step
}

// step is one object with the first action about it; what comes of that decides about
// the next.
type step struct {
	situation *situation
	first     action
}

// Plan reads the desired objects and plans what to do about them. It is an error if one
// of them isn't the view's to change: nothing is written then. Execute notes in last
// what comes of it.
func (a *Applier) Plan(ctx context.Context, view *v1.MarkdownView, desired []Desired, last LastApplied) (*Plan, error) {
	p := &Plan{last: last}
	for i := range desired {
		c, err := a.read(ctx, &desired[i])
		if err != nil {
			return nil, err
		}
		s := &situation{child: c, view: view, last: last[c.String()]}
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

// Deployment is the live one, as it was read, or written by Execute.
func (p *Plan) Deployment() *appsv1.Deployment {
	for _, step := range p.steps {
		if deployment, ok := step.situation.live.(*appsv1.Deployment); ok {
			return deployment
		}
	}
	return &appsv1.Deployment{} // never: a view always wants one
}

// Report is what Execute did.
type Report struct {
	// Written are the objects that were written, and how.
	Written []string
	// Corrections are what was corrected without the view having asked for something
	// else.
	Corrections []Correction
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
		if err := a.execute(ctx, p.last, step, &report); err != nil {
			return report, err
		}
	}
	return report, nil
}

func (a *Applier) execute(ctx context.Context, last LastApplied, step step, report *Report) error {
	s, next := step.situation, step.first
	existed := s.exists()
	var corrected drift
	for range maxActions {
		ctrl.LoggerFrom(ctx).V(1).Info("planned", "object", s.String(), "action", next.verb, "reason", next.reason)
		switch next.verb {
		case nothing:
			if next.unchanged {
				return nil
			}
			return a.finish(last, s, existed, corrected, report)
		case refuse:
			return next.err
		}
		if err := a.do(ctx, s, next); err != nil {
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
	last[s.String()] = now
	if s.last.desired != now.desired {
		return nil
	}
	left, err := s.drift()
	if err != nil {
		return err
	}
	corrected.subtract(left)
	switch {
	case !existed:
		report.correct(s.child, "was deleted, or had lost its labels, and is applied again")
	case !corrected.none():
		report.correct(s.child, "was changed and is corrected: "+corrected.String())
	}
	return nil
}

func (r *Report) correct(c *child, what string) {
	r.Corrections = append(r.Corrections, Correction{Object: c.live, Kind: c.gvk.Kind, Message: c.String() + " " + what})
}

// do performs an action. The API server's refusal of a create or apply is noted in the
// situation: plan decides what it means.
func (a *Applier) do(ctx context.Context, s *situation, next action) error {
	refused := s.refusal != nil
	if next.verb != lookUp {
		s.refusal = nil
	}
	switch next.verb {
	case lookUp:
		s.done.lookedUp = true
		s.done.lookedAgain = s.done.lookedAgain || refused
		return a.lookUp(ctx, s)
	case create:
		s.refusal = a.serverSideApply(ctx, s.child, Adopts(s.view))
		s.done.applied = s.refusal == nil
	case apply:
		s.refusal = a.serverSideApply(ctx, s.child, true)
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

// read reads the live object from the cache.
func (a *Applier) read(ctx context.Context, desired *Desired) (*child, error) {
	c := desired.child()
	c.digest = desired.digest
	key := client.ObjectKeyFromObject(c.live)
	err := a.Client.Get(ctx, key, c.live)
	switch {
	case err == nil && c.keep != nil:
		c.desired, err = c.keep()
	case apierrors.IsNotFound(err):
		// Get has cleared it.
		c.live.SetNamespace(key.Namespace)
		c.live.SetName(key.Name)
		err = nil
	}
	return c, err
}

// lookUp reads the metadata of what has the child's name.
func (a *Applier) lookUp(ctx context.Context, s *situation) error {
	reader := a.APIReader
	if s.metadataCached {
		reader = a.Metadata
	}
	existing := &metav1.PartialObjectMetadata{}
	existing.SetGroupVersionKind(s.gvk)
	switch err := reader.Get(ctx, client.ObjectKeyFromObject(s.live), existing); {
	case apierrors.IsNotFound(err):
		s.existing = nil
	case err != nil:
		return err
	default:
		s.existing = existing
	}
	return nil
}

// serverSideApply sends what is wanted in one request and reads back the result.
func (a *Applier) serverSideApply(ctx context.Context, c *child, force bool) error {
	// Escaped for HTML, a page of little but "<" would be six times as long, and
	// more than the API server reads.
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(c.desired); err != nil {
		return fmt.Errorf("encode %s: %w", c, err)
	}
	options := []client.PatchOption{client.FieldOwner(generator.FieldManager)}
	if force {
		options = append(options, client.ForceOwnership)
	}
	if err := a.Client.Patch(ctx, c.live, client.RawPatch(types.ApplyPatchType, body.Bytes()), options...); err != nil {
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
	patch := map[string]map[string]any{}
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
		return fmt.Errorf("apply %s: %w", c, err)
	}
	return nil
}

// staleVersion gives a conflict the outcome that it has where a write names the version
// it was decided on: somebody else was quicker, and the next look at the object is right.
func staleVersion(err error) error {
	if apierrors.IsConflict(err) {
		return &outcome.Error{State: outcome.Unreported, Err: err}
	}
	return err
}

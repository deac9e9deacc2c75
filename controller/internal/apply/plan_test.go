package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// The API server's answers.
var (
	errConflict  = fmt.Errorf("apply: %w", apierrors.NewConflict(schema.GroupResource{}, "viewer-docs", errors.New("somebody else set it")))
	errForbidden = fmt.Errorf("apply: %w", apierrors.NewForbidden(schema.GroupResource{}, "viewer-docs", errors.New("quota")))
	errField     = fmt.Errorf("apply: %w", apierrors.NewInvalid(schema.GroupKind{}, "viewer-docs", field.ErrorList{field.Required(field.NewPath("spec", "ports"), "")}))
)

// existing is what has a child's name and isn't in the cache.
func existing(owner types.UID) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	if owner != "" {
		object.OwnerReferences = []metav1.OwnerReference{{Kind: "App", Name: "x", UID: owner, Controller: new(true)}}
	}
	return object
}

func TestPlanMissing(t *testing.T) {
	adopt := func(s *situation) { s.view.Annotations = map[string]string{v1.AdoptAnnotation: "true"} }
	lookedUp := func(s *situation) { s.done.lookedUp = true }
	tests := map[string]struct {
		kind   string // "Service" if empty
		given  []func(*situation)
		want   verb
		reason string
	}{
		"of a Service's name nothing is known yet":    {want: lookUp, reason: "may have its name"},
		"nothing has its name":                        {given: []func(*situation){lookedUp}, want: create, reason: "isn't there"},
		"of a Deployment's name nothing is known yet": {kind: "Deployment", want: lookUp},
		"something of somebody else has its name": {
			given: []func(*situation){lookedUp, func(s *situation) { s.existing = existing("") }}, want: refuse, reason: "isn't the view's",
		},
		"something of another controller has its name": {
			given: []func(*situation){lookedUp, adopt, func(s *situation) { s.existing = existing("theirs") }}, want: refuse,
		},
		"something to be adopted has its name": {
			given: []func(*situation){lookedUp, adopt, func(s *situation) { s.existing = existing("") }}, want: apply, reason: "lacks its labels",
		},
		"the view's own has lost its labels": {
			given: []func(*situation){lookedUp, func(s *situation) { s.existing = existing("ours") }}, want: apply, reason: "lacks its labels",
		},
		"its creation conflicts with what somebody else set": {
			kind: "Deployment", given: []func(*situation){func(s *situation) { s.refusal = errConflict }}, want: lookUp, reason: "another one of its name",
		},
		"its creation is invalid": {
			kind: "Deployment", given: []func(*situation){func(s *situation) { s.refusal = errField }}, want: refuse, reason: "refused it",
		},
		"its creation conflicts with what is the view's and will be seen": {
			given: []func(*situation){func(s *situation) {
				s.refusal, s.existing = errConflict, existing("ours")
				s.existing.Labels = generator.Labels("docs")
				s.done.lookedUp, s.done.lookedAgain = true, true
			}}, want: refuse, reason: "will be seen",
		},
		"it conflicts with what has just gone": {
			given: []func(*situation){func(s *situation) {
				s.refusal, s.done = errConflict, done{lookedUp: true, lookedAgain: true}
			}}, want: create, reason: "has just gone",
		},
		"it conflicts with what has just come again": {
			given: []func(*situation){func(s *situation) {
				s.refusal, s.done = errConflict, done{lookedUp: true, lookedAgain: true, applied: true}
			}}, want: refuse, reason: "will be seen",
		},
		"its creation is refused, and nothing is there": {
			given: []func(*situation){func(s *situation) { s.refusal = errField; s.done.lookedUp, s.done.lookedAgain = true, true }}, want: refuse, reason: "refused",
		},
		"its creation conflicts with the view's own, which has lost its labels": {
			given: []func(*situation){func(s *situation) {
				s.refusal, s.existing = errConflict, existing("ours")
				s.done.lookedUp, s.done.lookedAgain = true, true
			}}, want: apply,
		},
		"its creation is refused, and so is applying over what is there": {
			given: []func(*situation){func(s *situation) {
				s.refusal, s.existing = errForbidden, existing("ours")
				s.done = done{lookedUp: true, lookedAgain: true, applied: true}
			}}, want: refuse,
		},
		"it has lost its labels, and is refused beside what others set": {
			given: []func(*situation){lookedUp, func(s *situation) { s.refusal, s.existing = errField, existing("ours") }}, want: readAll,
		},
		"its creation is refused for another reason than its name": {
			given: []func(*situation){lookedUp, func(s *situation) { s.refusal = errForbidden }}, want: refuse,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s := f.situation(test.kind, nil)
			for _, set := range test.given {
				set(s)
			}
			checkPlan(t, s, test.want, test.reason)
		})
	}
}

func TestPlanExisting(t *testing.T) {
	configMap := func(manager string, change func(*corev1.ConfigMap)) func(*fixture) {
		return func(f *fixture) { edit(f, manager, &corev1.ConfigMap{}, "markdowns-docs", change) }
	}
	page := configMap("anyone", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Other\n" })
	foreignKey := configMap("anyone", func(c *corev1.ConfigMap) { c.Data["foreign"] = "" })
	annotated := func(manager string) func(*fixture) {
		return configMap(manager, func(c *corev1.ConfigMap) { c.Annotations = map[string]string{"team": "docs"} })
	}
	predecessors := func(manager string) func(*fixture) {
		return configMap(manager, func(c *corev1.ConfigMap) { c.OwnerReferences[0].UID = "before" })
	}
	tests := map[string]struct {
		edit   func(*fixture)
		given  func(*situation)
		want   verb
		reason string
	}{
		"neither it nor what is wanted has changed": {want: nothing, reason: "neither"},
		"neither has, and the interval has passed": {
			given: func(s *situation) { s.withinInterval = false }, want: nothing, reason: "neither",
		},
		"the interval has passed since a webhook insisted": {
			given: func(s *situation) { s.last.insisted, s.withinInterval = true, false }, want: nothing, reason: "as wanted",
		},
		"nothing is remembered, and it is as wanted": {
			given: func(s *situation) { s.last, s.withinInterval = fingerprint{}, false }, want: nothing, reason: "as wanted",
		},
		"another controller has taken it": {
			edit: configMap("anyone", func(c *corev1.ConfigMap) { c.OwnerReferences[0].UID, c.OwnerReferences[0].Kind = "theirs", "App" }),
			want: refuse, reason: "isn't the view's",
		},
		"a field of ours was changed": {edit: page, want: apply, reason: "/data/start.md differ"},
		"a field of ours is still different from what was applied, because a webhook insists": {
			edit: page, given: func(s *situation) { s.last.owned = must(s.fingerprint(s.last.at)).owned }, want: nothing,
		},
		"a webhook insists, and the interval has passed": {
			edit:  page,
			given: func(s *situation) { s.last.owned = must(s.fingerprint(s.last.at)).owned; s.withinInterval = false },
			want:  apply,
		},
		"something else is wanted than what a webhook insisted on": {
			edit:  page,
			given: func(s *situation) { s.last.owned = must(s.fingerprint(s.last.at)).owned; s.last.desired = digest{1} },
			want:  apply,
		},
		"a field of ours is still different after an apply": {
			edit: page, given: func(s *situation) { s.done.applied, s.done.tookOver = true, true }, want: nothing,
		},
		"a key that a manager other than kubectl wrote": {edit: foreignKey, want: removeKeys, reason: "/data/foreign"},
		"a key that comes back after it was removed": {
			edit: foreignKey, given: func(s *situation) { s.done.removedKeys, s.done.tookOver = true, true }, want: nothing,
		},
		"a field that a person set with kubectl edit":     {edit: annotated("kubectl-edit"), want: takeOver, reason: "kubectl-edit set fields"},
		"a field that the tutorial's controller left":     {edit: annotated(generator.FieldManager), want: takeOver},
		"a field that a person set with kubectl annotate": {edit: annotated("kubectl-annotate"), want: nothing, reason: "as wanted"},
		"a field that anyone else set":                    {edit: annotated("anyone"), want: nothing, reason: "as wanted"},
		"fields that are ours since they were taken over": {
			edit: page, given: func(s *situation) { s.done.tookOver = true }, want: apply,
		},
		"it is refused beside what somebody else set": {
			edit: annotated("anyone"), given: func(s *situation) { s.refusal, s.done.applied = errField, true },
			want: takeOver, reason: "beside what anyone set",
		},
		"it is refused beside what kubectl annotate set": {
			edit: annotated("kubectl-annotate"), given: func(s *situation) { s.refusal, s.done.applied = errField, true }, want: refuse,
		},
		"it is refused also without what somebody else set": {
			edit: annotated("anyone"), given: func(s *situation) { s.refusal, s.done = errField, done{applied: true, tookOverAll: true} }, want: refuse,
		},
		"it is refused beside the predecessor that a mark holds": {
			edit: predecessors(restarter), given: func(s *situation) { s.predecessor, s.refusal, s.done.applied = isGone, errField, true },
			want: mark, reason: "the owner that a mark came with",
		},
		"it is refused also once no mark holds the predecessor": {
			edit: predecessors(restarter), given: func(s *situation) {
				s.predecessor, s.refusal, s.done = isGone, errField, done{applied: true, marked: true, tookOverAll: true}
			},
			want: refuse,
		},
		"it is refused beside a predecessor that somebody else has set": {
			edit: predecessors("anyone"), given: func(s *situation) { s.predecessor, s.refusal, s.done.applied = isGone, errField, true },
			want: takeOver, reason: "beside what anyone set",
		},
		"it is refused for another reason than a field": {
			edit: annotated("anyone"), given: func(s *situation) { s.refusal, s.done.applied = errForbidden, true }, want: refuse,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.applied()
			s := f.situation("ConfigMap", test.edit)
			if test.given != nil {
				test.given(s)
			}
			checkPlan(t, s, test.want, test.reason)
		})
	}
}

// situation reads one of the view's objects, after an edit, within the interval.
func (f *fixture) situation(kind string, edit func(*fixture)) *situation {
	f.Helper()
	if kind == "" {
		kind = "Service"
	}
	if edit != nil {
		edit(f)
	}
	for _, desired := range f.desired() {
		if desired.Kind == kind {
			c, err := f.read(f.Context(), &desired, &f.wrote)
			f.Must(err)
			return &situation{child: c, view: f.view, last: f.last.of(c.String()), withinInterval: true}
		}
	}
	f.Fatalf("a view wants no %s", kind)
	return nil
}

func checkPlan(t *testing.T, s *situation, want verb, reason string) {
	t.Helper()
	got, err := plan(s)
	if err != nil {
		t.Fatal(err)
	}
	if got.verb != want || !strings.Contains(got.reason, reason) {
		t.Errorf("got %q because %s, want %q because %s", got.verb, got.reason, want, reason)
	}
	if (got.verb == refuse) != (got.err != nil) {
		t.Errorf("the error is %v", got.err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

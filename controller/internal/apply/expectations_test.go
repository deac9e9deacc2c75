package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

func TestExpectations(t *testing.T) {
	const object = "Service viewer-docs"
	version := func(uid, version string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "viewer-docs", UID: types.UID(uid), ResourceVersion: version}}
	}
	none := version("", "")
	now := time.Now()
	wrote := func(e *Expectations, service *corev1.Service) {
		e.begin(object)
		e.end(object, service, now)
	}
	tests := map[string]struct {
		happens func(*Expectations)
		cached  *corev1.Service
		later   time.Duration
		want    bool // whether what was written is believed
	}{
		"the cache doesn't show it":               {cached: none, want: true},
		"the cache shows an older version":        {cached: version("a", "9"), want: true},
		"the cache shows it":                      {cached: version("a", "10"), want: false},
		"the cache shows a newer version":         {cached: version("a", "11"), want: false},
		"the cache shows one that was made since": {cached: version("b", "11"), want: false},
		"the cache still shows the one before it": {cached: version("z", "7"), want: true},
		"the time has passed":                     {cached: none, later: SettleTime, want: false},
		"it was deleted":                          {func(e *Expectations) { e.Gone("Service", version("a", "11"), false) }, none, 0, false},
		"it has lost its label":                   {func(e *Expectations) { e.Gone("Service", version("a", "10"), false) }, none, 0, false},
		"it had lost its label before that":       {func(e *Expectations) { e.Gone("Service", version("a", "9"), false) }, none, 0, true},
		"it was deleted while the watch was cut":  {func(e *Expectations) { e.Gone("Service", version("a", "8"), true) }, none, 0, false},
		"the one before it was deleted":           {func(e *Expectations) { e.Gone("Service", version("z", "9"), false) }, none, 0, true},
		"another kind of its name was deleted":    {func(e *Expectations) { e.Gone("Deployment", version("a", "11"), false) }, none, 0, true},
		"it was deleted before the answer came": {func(e *Expectations) {
			e.begin(object)
			e.Gone("Service", version("a", "11"), false)
			e.end(object, version("a", "10"), now)
		}, none, 0, false},
		"the one before was deleted, before that too": {func(e *Expectations) {
			e.begin(object)
			e.Gone("Service", version("z", "9"), false)
			e.end(object, version("a", "10"), now)
		}, none, 0, true},
		"a later write failed":            {func(e *Expectations) { e.begin(object); e.end(object, nil, now) }, none, 0, true},
		"versions that can't be compared": {cached: version("a", "abc"), want: false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var e Expectations
			wrote(&e, version("a", "10"))
			if test.happens != nil {
				test.happens(&e)
			}
			got := e.latest(object, test.cached, now.Add(test.later))
			if (got != nil) != test.want {
				t.Errorf("got %v", got)
			}
			if pending := e.Pending(now.Add(test.later)); (pending > 0) != test.want {
				t.Errorf("it is looked again in %s", pending)
			}
		})
	}
}

// TestStaleDecisionIsRefused has somebody change an object between plan and execution.
func TestStaleDecisionIsRefused(t *testing.T) {
	tests := map[string]struct{ before, between func(*fixture) }{
		"an apply": {
			func(f *fixture) {
				edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} })
			},
			func(f *fixture) {
				edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Labels, s.OwnerReferences = nil, nil })
			},
		},
		"an apply of what is gone": {
			func(f *fixture) {
				edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} })
			},
			func(f *fixture) {
				f.Must(f.Admin.Delete(f.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}))
			},
		},
		"the removal of keys": {
			func(f *fixture) {
				edit(f, "anyone", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["more"] = "" })
			},
			func(f *fixture) {
				edit(f, "anyone", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Labels = nil })
			},
		},
		"a takeover": {
			func(f *fixture) {
				edit(f, "kubectl-edit", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 7 })
			},
			func(f *fixture) {
				edit(f, "anyone", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Labels = nil })
			},
		},
		"a create": {
			func(f *fixture) {
				f.Must(f.Admin.Delete(f.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}))
				f.wrote.Gone("Service", fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs"), true)
			},
			func(f *fixture) {
				f.Must(f.Admin.Create(f.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}))
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.applied()
			f.seen()
			test.before(f)
			plan, err := f.Plan(t.Context(), f.view, f.desired(), &f.last, &f.wrote)
			f.Must(err)
			test.between(f)
			want := f.versions()
			_, err = f.Execute(t.Context(), plan)
			known, ok := errors.AsType[*outcome.Error](err)
			if !ok || known.State != outcome.Unreported && known.Reason != "Conflict" || known.Retry == 0 {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(want, f.versions()); diff != "" {
				t.Errorf("it was written all the same: %s", diff)
			}
		})
	}
}

// versions are those of the view's objects.
func (f *fixture) versions() map[string]string {
	f.Helper()
	versions := map[string]string{}
	objects := []client.Object{&corev1.ConfigMap{}, &corev1.Service{}, &appsv1.Deployment{}}
	for i, name := range []string{"markdowns-docs", "viewer-docs", "viewer-docs"} {
		err := f.Admin.Get(f.Context(), client.ObjectKey{Namespace: "docs", Name: name}, objects[i])
		f.Must(client.IgnoreNotFound(err))
		versions[fmt.Sprintf("%T", objects[i])] = objects[i].GetResourceVersion()
	}
	return versions
}

// TestRelabelledAnswerIsAnError has a webhook take our label off what is written.
func TestRelabelledAnswerIsAnError(t *testing.T) {
	f := newFixture(t)
	f.Mutate = func(fields map[string]any) {
		if fields["kind"] == "Service" {
			fields["metadata"].(map[string]any)["labels"].(map[string]any)["app.kubernetes.io/created-by"] = "other"
		}
	}
	for range 3 {
		_, err := f.apply()
		known, ok := errors.AsType[*outcome.Error](err)
		if !ok || known.State != outcome.Retrying || !strings.Contains(known.Message, `Service viewer-docs was written with the label app.kubernetes.io/created-by=markdown-view-controller and came back with "other"`) {
			t.Fatalf("got %v", err)
		}
	}
	f.Mutate = nil
	f.applied()
}

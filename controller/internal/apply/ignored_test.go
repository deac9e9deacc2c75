package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

func TestWithout(t *testing.T) {
	const object = `{"metadata":{"annotations":{"a/b":"c"}},"spec":{"replicas":1,"list":[{"name":"x","port":1},{"name":"y"},{"name":"z"}],"empty":{}}}`
	tests := map[string]struct {
		paths [][]string
		want  string
	}{
		"nothing":               {want: object},
		"a field":               {paths: [][]string{{"spec", "replicas"}}, want: `{"metadata":{"annotations":{"a/b":"c"}},"spec":{"list":[{"name":"x","port":1},{"name":"y"},{"name":"z"}],"empty":{}}}`},
		"what isn't there":      {paths: [][]string{{"spec", "x"}, {"spec", "replicas", "x"}, {"spec", "list", "3"}, {"spec", "list", "00"}, {"x"}}, want: object},
		"all that a field held": {paths: [][]string{{"metadata", "annotations", "a/b"}}, want: `{"spec":{"replicas":1,"list":[{"name":"x","port":1},{"name":"y"},{"name":"z"}],"empty":{}}}`},
		"entries of a list, and a field of one, counted as they were": {
			paths: [][]string{{"spec", "list", "0", "port"}, {"spec", "list", "0"}, {"spec", "list", "2", "name"}},
			want:  `{"metadata":{"annotations":{"a/b":"c"}},"spec":{"replicas":1,"list":[{"name":"y"}],"empty":{}}}`,
		},
		"all": {paths: [][]string{{"metadata"}, {"spec"}}, want: `null`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before, want := decode(t, object), decode(t, test.want)
			got, _ := without(before, test.paths)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(decode(t, object), before); diff != "" {
				t.Errorf("what it was given is changed: %s", diff)
			}
		})
	}
}

func TestManagedFieldsWithout(t *testing.T) {
	const generated = `{"spec":{"replicas":1,"ports":[{"port":1},{"port":80,"protocol":"TCP","nodePort":3}],"set":["a","b"]}}`
	const fields = `{"f:metadata":{"f:labels":{".":{},"f:a/b":{}}},"f:spec":{"f:replicas":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:nodePort":{},"f:port":{}}},"f:set":{"v:\"b\"":{}},"f:atomic":{}}}`
	tests := map[string]struct {
		paths [][]string
		want  string // as fields if empty
	}{
		"a field":                             {paths: [][]string{{"spec", "replicas"}}, want: `{"f:metadata":{"f:labels":{".":{},"f:a/b":{}}},"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:nodePort":{},"f:port":{}}},"f:set":{"v:\"b\"":{}},"f:atomic":{}}}`},
		"what isn't generated":                {paths: [][]string{{"metadata", "labels", "a/b"}}, want: `{"f:spec":{"f:replicas":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:nodePort":{},"f:port":{}}},"f:set":{"v:\"b\"":{}},"f:atomic":{}}}`},
		"a field of an entry, by its number":  {paths: [][]string{{"spec", "ports", "1", "nodePort"}}, want: `{"f:metadata":{"f:labels":{".":{},"f:a/b":{}}},"f:spec":{"f:replicas":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},"f:set":{"v:\"b\"":{}},"f:atomic":{}}}`},
		"the number of another entry":         {paths: [][]string{{"spec", "ports", "0", "nodePort"}, {"spec", "set", "0"}}},
		"an entry":                            {paths: [][]string{{"spec", "ports", "1"}}, want: `{"f:metadata":{"f:labels":{".":{},"f:a/b":{}}},"f:spec":{"f:replicas":{},"f:set":{"v:\"b\"":{}},"f:atomic":{}}}`},
		"an entry that is a value":            {paths: [][]string{{"spec", "set", "1"}}, want: `{"f:metadata":{"f:labels":{".":{},"f:a/b":{}}},"f:spec":{"f:replicas":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:nodePort":{},"f:port":{}}},"f:atomic":{}}}`},
		"what is owned only as a whole":       {paths: [][]string{{"spec", "atomic", "x"}}},
		"what isn't owned":                    {paths: [][]string{{"spec", "other"}, {"status"}}},
		"a part that looks like a membership": {paths: [][]string{{"metadata", "labels", "."}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			i := &ignored{paths: test.paths, generated: decode(t, generated).(map[string]any)}
			got, others, err := i.split(metav1.NewFieldsV1(fields))
			if err != nil {
				t.Fatal(err)
			}
			if want := test.want != ""; (others != nil) != want {
				t.Errorf("of others: %v", others)
			}
			if test.want == "" {
				test.want = fields
			}
			if diff := cmp.Diff(decode(t, test.want), decode(t, string(got.GetRawBytes()))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func decode(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// ignore has the view leave fields of the Deployment to others.
func (f *fixture) ignore(paths ...string) {
	f.view.Spec.DriftDetection = nil
	if len(paths) > 0 {
		f.view.Spec.DriftDetection = &v1.DriftDetection{Ignore: []v1.IgnoreRule{{Target: v1.PatchTarget{Kind: "Deployment"}, Paths: paths}}}
	}
	f.view.Default()
}

// scaleTo has an autoscaler set the Deployment's replicas.
func (f *fixture) scaleTo(replicas int32) {
	f.Helper()
	edit(f, "autoscaler", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
}

func (f *fixture) deployment() *appsv1.Deployment {
	f.Helper()
	return fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
}

func TestIgnoredFieldIsOthers(t *testing.T) {
	f := newFixture(t)
	f.ignore("/spec/replicas")
	f.applied()
	if got := f.deployment().Spec.Replicas; got != nil {
		t.Errorf("it is created with %d replicas", *got)
	}
	f.Requests()
	for _, replicas := range []int32{3, 5} {
		f.scaleTo(replicas)
		for name, forget := range map[string]func(){"": func() {}, "after a restart": func() { f.last = LastApplied{} }, "after the interval": f.passInterval} {
			forget()
			if report := f.applied(); len(report.Written)+len(report.Corrections) > 0 {
				t.Errorf("%s it is fought: %v", name, report.Written)
			}
		}
	}
	f.view.Spec.Markdowns["start.md"] = "# Changed\n"
	f.applied()
	if got := *f.deployment().Spec.Replicas; got != 5 {
		t.Errorf("new pages scale it to %d", got)
	}
	f.Requests()
	f.ignore() // the rule goes
	report := f.applied()
	if got := *f.deployment().Spec.Replicas; got != 1 {
		t.Errorf("it has %d replicas when the rule has gone", got)
	}
	if diff := cmp.Diff([]string{"apply Deployment viewer-docs"}, f.Requests()); diff != "" || len(report.Corrections) > 0 {
		t.Errorf("%s, %v", diff, report.corrections())
	}
}

// TestIgnoredFieldIsGivenUp has the view leave to others what is ours and nobody else's.
func TestIgnoredFieldIsGivenUp(t *testing.T) {
	for name, forget := range map[string]func(*fixture){
		"remembered":      func(*fixture) {},
		"after a restart": func(f *fixture) { f.last = LastApplied{} },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.view.Spec.Replicas = new(int32(7))
			f.applied()
			f.Requests()
			forget(f)
			f.ignore("/spec/replicas", "/spec/template/spec/containers/0/resources")
			before := f.deployment()
			plan, err := f.Plan(t.Context(), f.view, f.desired(), &f.last, &f.wrote)
			f.Must(err)
			if f.replacesPods(plan) {
				t.Error("it is said to replace pods")
			}
			report := f.applied()
			if diff := cmp.Diff([]string{"patch fields of Deployment viewer-docs"}, f.Requests()); diff != "" || len(report.Corrections) > 0 {
				t.Errorf("%s, %v", diff, report.corrections())
			}
			after := f.deployment()
			if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
				t.Errorf("what was there has changed: %s", diff)
			}
			if report := f.applied(); len(report.Written) > 0 {
				t.Errorf("written again: %v", report.Written)
			}
		})
	}
}

func TestGivenUpBeforeAnotherImageIsApplied(t *testing.T) {
	f := newFixture(t)
	f.view.Spec.Replicas = new(int32(7))
	f.applied()
	f.Requests()
	f.ignore("/spec/replicas")
	f.view.Spec.ViewerImage = "example.com/viewer:2"
	plan, err := f.Plan(t.Context(), f.view, f.desired(), &f.last, &f.wrote)
	f.Must(err)
	if !f.replacesPods(plan) {
		t.Error("another image replaces pods")
	}
	f.applied()
	if diff := cmp.Diff([]string{"patch fields of Deployment viewer-docs", "apply Deployment viewer-docs"}, f.Requests()); diff != "" {
		t.Error(diff)
	}
	if d := f.deployment(); *d.Spec.Replicas != 7 || d.Spec.Template.Spec.Containers[0].Image != "example.com/viewer:2" {
		t.Errorf("it has %d replicas of %s", *d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image)
	}
}

func TestIgnoredFieldOfATakenOverObject(t *testing.T) {
	tests := map[string]struct {
		change func(*appsv1.Deployment)
		writes []string
	}{
		"nothing else was changed": {
			change: func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(7)); d.Spec.MinReadySeconds = 9 },
		},
		"something else was added": {
			change: func(d *appsv1.Deployment) {
				d.Spec.Replicas, d.Spec.MinReadySeconds, d.Spec.ProgressDeadlineSeconds = new(int32(7)), 9, new(int32(99))
			},
			writes: []string{"patch fields of Deployment viewer-docs", "apply Deployment viewer-docs"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.ignore("/spec/replicas", "/spec/minReadySeconds")
			f.applied()
			f.Requests()
			edit(f, "kubectl-edit", &appsv1.Deployment{}, "viewer-docs", test.change)
			f.applied()
			if diff := cmp.Diff(test.writes, f.Requests()); diff != "" {
				t.Error(diff)
			}
			if d := f.deployment(); *d.Spec.Replicas != 7 || d.Spec.MinReadySeconds != 9 || d.Spec.ProgressDeadlineSeconds != nil {
				t.Errorf("got %d, %d, %v", *d.Spec.Replicas, d.Spec.MinReadySeconds, d.Spec.ProgressDeadlineSeconds)
			}
		})
	}
}

func TestKeptObjectsLeaveIgnoredFieldsAlone(t *testing.T) {
	f := newFixture(t)
	f.ignore("/spec/replicas")
	f.applied()
	f.Requests()
	f.scaleTo(4)
	for name, remembered := range map[string][]Desired{"remembered": f.desired()[1:], "after a restart": nil} {
		kept, err := f.Kept(t.Context(), f.view, []string{"markdowns-docs"}, remembered, &f.last, &f.wrote)
		f.Must(err)
		scaled, err := Scaled(kept.Objects, 1)
		f.Must(err)
		plan, err := f.Plan(t.Context(), f.view, scaled, &f.last, &f.wrote)
		f.Must(err)
		report, err := f.Execute(t.Context(), plan)
		f.Must(err)
		if len(report.Written) > 0 || *f.deployment().Spec.Replicas != 4 {
			t.Errorf("%s: written: %v", name, report.Written)
		}
	}
}

// TestIgnoredAnnotationOfConfigMaps has somebody set what a rule names on ConfigMaps.
func TestIgnoredAnnotationOfConfigMaps(t *testing.T) {
	f := newFixture(t)
	f.view.Spec.DriftDetection = &v1.DriftDetection{Ignore: []v1.IgnoreRule{{
		Target: v1.PatchTarget{Kind: "ConfigMap", Name: "markdowns-.*"}, Paths: []string{"/metadata/annotations/example.com~1team"},
	}}}
	f.applied()
	f.Requests()
	edit(f, "kubectl-edit", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) {
		c.Annotations = map[string]string{"example.com/team": "docs"}
	})
	if report := f.applied(); len(report.Written) > 0 {
		t.Errorf("written: %v", report.Written)
	}
	edit(f, "kubectl-edit", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) {
		c.Data["start.md"], c.Annotations["more"] = "# Other\n", "x"
	})
	if diff := cmp.Diff([]string{"ConfigMap: ConfigMap markdowns-docs was changed and is corrected: /data/start.md, /metadata/annotations"}, f.applied().corrections()); diff != "" {
		t.Error(diff)
	}
	got := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs")
	if got.Annotations["example.com/team"] != "docs" || got.Labels[generator.InstanceLabel] != "docs" {
		t.Errorf("got %v, %v", got.Annotations, got.Labels)
	}
}

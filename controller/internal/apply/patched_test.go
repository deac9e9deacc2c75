package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// patchedDeployment returns the wanted Deployment as a patch has it.
func (f *fixture) patchedDeployment(patch func(spec map[string]any)) Desired {
	f.Helper()
	output, err := generator.Generate(f.view, nil)
	f.Must(err)
	output.PatchedDeployment, err = fieldsOf(output.Deployment)
	f.Must(err)
	patch(output.PatchedDeployment["spec"].(map[string]any))
	output.Deployment = &appsv1ac.DeploymentApplyConfiguration{}
	f.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(output.PatchedDeployment, output.Deployment))
	desired, err := DesiredOf(f.view, output)
	f.Must(err)
	return desired[1]
}

func TestFieldsThatClientGoDoesNotKnow(t *testing.T) {
	tests := map[string]struct {
		patch func(spec map[string]any)
		want  []string
	}{
		"it knows all of them": {patch: func(spec map[string]any) { spec["minReadySeconds"] = int64(5) }},
		"what is empty says nothing": {patch: func(spec map[string]any) {
			spec["template"].(map[string]any)["spec"].(map[string]any)["tolerations"] = []any{}
		}},
		"a field of the pods": {
			patch: func(spec map[string]any) {
				spec["template"].(map[string]any)["spec"].(map[string]any)["future/x~y"] = map[string]any{"a": "b"}
			},
			want: []string{"/spec/template/spec/future~1x~0y"},
		},
		"a field of a container": {
			patch: func(spec map[string]any) {
				containers := spec["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
				containers[0].(map[string]any)["future"] = false
			},
			want: []string{"/spec/template/spec/containers/0/future"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t).patchedDeployment(test.patch)
			if diff := cmp.Diff(test.want, d.unknown); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What client-go doesn't know can't be compared, so that it is told by what was applied
// and by what our field manager owns.
func TestPlanOfFieldsThatClientGoDoesNotKnow(t *testing.T) {
	const ours = `{"f:spec":{"f:future":{}}}`
	tests := map[string]struct {
		managed string
		forget  bool
		other   bool
		want    verb
	}{
		"they were applied, and are still ours":   {managed: ours, want: nothing},
		"nothing is remembered, as after a start": {managed: ours, forget: true, want: apply},
		"somebody else has taken one of them":     {managed: `{"f:spec":{}}`, want: apply},
		"another value of one of them is wanted":  {managed: ours, other: true, want: apply},
		"nobody notes who applied the Deployment": {want: apply},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			future := func(value string) Desired {
				return f.patchedDeployment(func(spec map[string]any) { spec["future"] = value })
			}
			situationOf := func(d Desired, managed string) *situation {
				c := d.child()
				c.digest, c.patched, c.unknown = d.digest, d.patched, d.unknown
				live := c.live.(*appsv1.Deployment)
				live.Labels, live.ResourceVersion, live.UID = generator.Labels("docs"), "7", "live"
				if managed != "" {
					live.ManagedFields = []metav1.ManagedFieldsEntry{{
						Manager: generator.FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsType: "FieldsV1",
						FieldsV1: metav1.NewFieldsV1(managed),
					}}
				}
				// All that client-go knows is as wanted.
				desired := c.desired
				c.owned = func() (any, error) { return desired, nil }
				return &situation{child: c, view: f.view, now: f.clock.Now(), withinInterval: true}
			}
			s := situationOf(future("a"), ours)
			last, err := s.fingerprint(f.clock.Now())
			f.Must(err)
			value := "a"
			if test.other {
				value = "b"
			}
			s = situationOf(future(value), test.managed)
			if !test.forget {
				s.last = last
			}
			next, err := plan(s)
			f.Must(err)
			if next.verb != test.want {
				t.Errorf("got %q, want %q: %s", next.verb, test.want, next.reason)
			}
			if s.done.applied = true; next.verb == apply {
				if next, err = plan(s); err != nil || next.verb != nothing {
					t.Errorf("after the apply: got %q, %v", next.verb, err)
				}
			}
		})
	}
}

// The values of a patch are sent as it spells them, and compared as the API server does.
func TestPatchedValuesAreSentAsTheyAre(t *testing.T) {
	f := newFixture(t)
	d := f.patchedDeployment(func(spec map[string]any) {
		containers := spec["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
		containers[0].(map[string]any)["resources"] = map[string]any{"requests": map[string]any{"cpu": 0.5, "memory": "1024Ki"}}
	})
	c, err := f.read(t.Context(), &d, &f.wrote)
	f.Must(err)
	body, err := c.body("uid", "7")
	f.Must(err)
	object := body.(map[string]any)
	containers := object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
	want := map[string]any{"requests": map[string]any{"cpu": 0.5, "memory": "1024Ki"}}
	if diff := cmp.Diff(want, containers[0].(map[string]any)["resources"]); diff != "" {
		t.Error(diff)
	}
	metadata := object["metadata"].(map[string]any)
	if metadata["resourceVersion"] != "7" || metadata["uid"] != "uid" || metadata["ownerReferences"] == nil {
		t.Errorf("the metadata is %v", metadata)
	}
	plan, err := f.Plan(f.Context(), f.view, []Desired{d}, &f.last, &f.wrote)
	f.Must(err)
	_, err = f.Execute(f.Context(), plan)
	f.Must(err)
	f.last = LastApplied{}
	plan, err = f.Plan(f.Context(), f.view, []Desired{d}, &f.last, &f.wrote)
	f.Must(err)
	if writes := plan.Writes(); len(writes) > 0 {
		t.Errorf("after a restart there is drift: %v", writes)
	}
}

func TestPatchesStayWhileTheLastGoodPagesAreServed(t *testing.T) {
	f := newFixture(t)
	f.view.Spec.CommonMetadata = &v1.CommonMetadata{Labels: map[string]string{"team": "docs"}, Annotations: map[string]string{"a": "b"}}
	f.view.Spec.Patches = []v1.Patch{
		{Patch: "spec: {replicas: 3, template: {spec: {priorityClassName: low}}}", Target: &v1.PatchTarget{Kind: "Deployment"}},
		{Patch: "metadata: {labels: {cost-center: x}, annotations: {c: d}}", Target: &v1.PatchTarget{Kind: "ConfigMap"}},
	}
	served, _ := f.shards()
	if copies := f.change("a.md", large("A"), served); len(copies) != 1 {
		t.Fatalf("copied: %v", copies)
	}
	deployment := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
	returned, ok, err := f.Return(t.Context(), f.view, f.desired(), deployment, served, "failed", &f.wrote)
	f.Must(err)
	if !ok {
		t.Fatal("there is nothing to return to")
	}
	f.execute(returned)
	stays, err := f.Returned(t.Context(), f.desired(), 1, &f.last, &f.wrote)
	f.Must(err)
	f.execute(stays)
	deployment = fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
	if *deployment.Spec.Replicas != 3 || deployment.Spec.Template.Spec.PriorityClassName != "low" || deployment.Annotations["a"] != "b" || ReturnedFrom(deployment) == "" {
		t.Errorf("it has %d replicas, the priority %q and the annotations %v", *deployment.Spec.Replicas, deployment.Spec.Template.Spec.PriorityClassName, deployment.Annotations)
	}
	var configMaps corev1.ConfigMapList
	f.Must(f.Admin.List(t.Context(), &configMaps))
	for _, configMap := range configMaps.Items {
		// Copies, too: a policy may ask for them.
		if configMap.Labels["team"] != "docs" || configMap.Annotations["a"] != "b" || configMap.Labels["cost-center"] != "x" || configMap.Annotations["c"] != "d" {
			t.Errorf("%s has the labels %v and the annotations %v", configMap.Name, configMap.Labels, configMap.Annotations)
		}
	}
}

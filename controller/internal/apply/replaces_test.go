package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestReplacesPods(t *testing.T) {
	f := newFixture(t)
	f.view.Spec.Replicas = new(int32(2))
	replaces := func() bool {
		plan, err := f.Plan(t.Context(), f.view, f.desired(), &f.last, &f.wrote)
		f.Must(err)
		return f.replacesPods(plan)
	}
	if replaces() {
		t.Error("a new Deployment has none to replace")
	}
	f.applied()
	if replaces() {
		t.Error("nothing changed")
	}
	f.view.Spec.Replicas = new(int32(3))
	if replaces() {
		t.Error("to scale replaces none")
	}
	f.view.Spec.Replicas = new(int32(1))
	if replaces() {
		t.Error("to scale to one replaces none")
	}
	f.view.Spec.ViewerImage = "example.com/viewer:2"
	if !replaces() {
		t.Error("another image replaces them")
	}
}

// TestReplacesPodsOfWhatOthersHaveSet has other field managers set the Deployment's template.
func TestReplacesPodsOfWhatOthersHaveSet(t *testing.T) {
	// made has somebody else make what we have applied.
	made := func(manager string) func(*fixture) {
		return func(f *fixture) {
			d := f.deployment()
			f.Must(f.Admin.Delete(f.Context(), d))
			d.ObjectMeta = metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name, Labels: d.Labels}
			f.Must(f.Admin.Create(f.Context(), d, client.FieldOwner(manager)))
			f.last = LastApplied{}
			f.seen()
		}
	}
	addVariable := func(d *appsv1.Deployment) {
		container := &d.Spec.Template.Spec.Containers[0]
		container.Env = append(container.Env, corev1.EnvVar{Name: "LEVEL", Value: "debug"})
	}
	tests := map[string]struct {
		edit   func(f *fixture)
		change func(*v1.MarkdownView)
		want   bool
	}{
		"Flux has applied the same":       {edit: made("kustomize-controller")},
		"kubectl has applied the same":    {edit: made("kubectl-client-side-apply")},
		"Flux has applied another image":  {edit: made("kustomize-controller"), change: func(v *v1.MarkdownView) { v.Spec.ViewerImage = "example.com/viewer:2" }, want: true},
		"Flux has applied fewer replicas": {edit: made("kustomize-controller"), change: func(v *v1.MarkdownView) { v.Spec.Replicas = new(int32(3)) }},
		"kubectl has set a variable more": {edit: func(f *fixture) { edit(f, "kubectl-set", &appsv1.Deployment{}, "viewer-docs", addVariable) }, want: true},
		"somebody who stays has set it":   {edit: func(f *fixture) { edit(f, "sidecars", &appsv1.Deployment{}, "viewer-docs", addVariable) }},
		"kubectl has set the strategy": {edit: func(f *fixture) {
			edit(f, "kubectl-edit", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 7 })
		}},
		"the image is changed all the time": {edit: func(f *fixture) {
			for range patience {
				edit(f, "anyone", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "theirs" })
				f.applied()
			}
			edit(f, "anyone", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "theirs" })
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.applied()
			test.edit(f)
			if test.change != nil {
				test.change(f.view)
			}
			plan, err := f.Plan(t.Context(), f.view, f.desired(), &f.last, &f.wrote)
			f.Must(err)
			before := f.deployment()
			if got := f.replacesPods(plan); got != test.want {
				t.Errorf("it is said to replace pods: %t", got)
			}
			_, err = f.Execute(t.Context(), plan)
			f.Must(err)
			if replaced := !cmp.Equal(before.Spec.Template, f.deployment().Spec.Template); replaced != test.want {
				t.Errorf("it replaces pods: %t", replaced)
			}
		})
	}
}

package apply

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// TestWhatWasJustAppliedIsNotExtracted holds the short way against the long one.
func TestWhatWasJustAppliedIsNotExtracted(t *testing.T) {
	f := newFixture(t)
	f.applied()
	f.seen() // packed and unpacked, so that it is as an API server sends it
	desired := f.desired()
	for i := range desired {
		c, err := f.read(t.Context(), &desired[i], &f.wrote)
		f.Must(err)
		if service, ok := c.live.(*corev1.Service); ok { // lists that the API server sets
			service.Spec.ClusterIPs, service.Spec.IPFamilies = []string{"10.0.0.1"}, []corev1.IPFamily{corev1.IPv4Protocol}
		}
		if !hasAll(reflect.ValueOf(c.live), reflect.ValueOf(c.comparedDesired())) {
			t.Errorf("%s isn't known to have all that is wanted", c)
		}
		long, err := c.fingerprint(f.clock.Now())
		f.Must(err)
		short := c.asApplied(f.clock.Now())
		if !reflect.DeepEqual(short, long) {
			t.Errorf("%s is remembered otherwise when it isn't extracted", c)
		}
		if !reflect.DeepEqual(f.last.of(c.String()), short) {
			t.Errorf("%s is remembered as something else than it is", c)
		}
	}
}

// TestWhatDiffersFromWhatWasAppliedIsSeen has the API server answer with less than was
// applied, as a webhook does.
func TestWhatDiffersFromWhatWasAppliedIsSeen(t *testing.T) {
	for what, change := range map[string]func(*appsv1.Deployment){
		"another image":  func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "other" },
		"no label":       func(d *appsv1.Deployment) { d.Spec.Template.Labels = nil },
		"another number": func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(7)) },
		"one container more": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "x"})
		},
		"no probe": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].ReadinessProbe = nil },
		"another memory limit": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
		},
		"no owner": func(d *appsv1.Deployment) { d.OwnerReferences = nil },
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t)
			f.applied()
			live := fakecluster.Get(f.Cluster, &appsv1.Deployment{}, "docs", "viewer-docs")
			wanted := reflect.ValueOf(deploymentAmong(f.desired()).child().desired)
			if !hasAll(reflect.ValueOf(live), wanted) {
				t.Fatal("it isn't known to have all before")
			}
			change(live)
			if hasAll(reflect.ValueOf(live), wanted) {
				t.Error("it isn't seen")
			}
		})
	}
}

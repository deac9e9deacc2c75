package apply

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// TestStatusOfADeploymentOvertakesNobody has each change of a Deployment's field owners refused: its status is
// written with each pod.
func TestStatusOfADeploymentOvertakesNobody(t *testing.T) {
	for kind, want := range map[string]bool{"Deployment": false, "Service": true} {
		t.Run(kind, func(t *testing.T) {
			f := newFixture(t)
			f.applied()
			for _, d := range f.desired() {
				if d.Kind != kind {
					continue
				}
				s := &situation{child: d.child(), now: f.clock.Now()}
				for range 2 * patience {
					f.last.noteOvertaken(s, staleVersion(fmt.Errorf("take over: %w", errConflict)), s.now)
				}
				if waits := f.last.waits(step{s, action{verb: apply}}) > 0; waits != want {
					t.Errorf("it waits: %t", waits)
				}
			}
		})
	}
}

// TestWhoIsQuickerIsForgottenWithTheObject has ConfigMaps that nobody wants come and go.
func TestWhoIsQuickerIsForgottenWithTheObject(t *testing.T) {
	f := newFixture(t)
	f.applied()
	for i := 1; i < 4; i++ {
		name := fmt.Sprintf("markdowns-docs.%d", i)
		surplus := fakecluster.Get(f.Cluster, &corev1.ConfigMap{}, "docs", "markdowns-docs")
		surplus.ObjectMeta = metav1.ObjectMeta{Namespace: "docs", Name: name, Labels: surplus.Labels, OwnerReferences: surplus.OwnerReferences}
		f.Must(f.Admin.Create(t.Context(), surplus))
		f.last.overtake("ConfigMap "+name, digest{}, f.clock.Now())
		f.Must(f.Admin.Delete(t.Context(), surplus))
		if _, _, err := f.Prune(t.Context(), f.view, []string{"markdowns-docs"}, &f.last, &f.wrote); err != nil {
			t.Fatal(err)
		}
		if len(f.last.overtaken) > 0 {
			t.Errorf("it is remembered of %d", len(f.last.overtaken))
		}
	}
	f.last.overtake("ConfigMap markdowns-docs", digest{}, f.clock.Now())
	if _, _, err := f.Prune(t.Context(), f.view, []string{"markdowns-docs"}, &f.last, &f.wrote); err != nil {
		t.Fatal(err)
	}
	if len(f.last.overtaken) != 1 {
		t.Error("of what is wanted it is forgotten")
	}
}

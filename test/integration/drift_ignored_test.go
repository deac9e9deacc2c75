package integration

import (
	"encoding/json"
	"flag"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// atRest is how long a view is watched at rest.
var atRest = flag.Duration("rest", 5*time.Second, "how long a view is watched at rest")

// ignoring returns a view that leaves the Deployment's replicas to others.
func (f *fixture) ignoring(name string) *v1.MarkdownView {
	view := f.view(name)
	view.Spec.DriftDetection = &v1.DriftDetection{Ignore: ignoredReplicas()}
	return view
}

func ignoredReplicas() []v1.IgnoreRule {
	return []v1.IgnoreRule{{Target: v1.PatchTarget{Kind: "Deployment"}, Paths: []string{"/spec/replicas"}}}
}

// TestAnAutoscalerScalesAnIgnoredDeployment has Kubernetes' own autoscaler scale the
// Deployment of a view, not the view: neither writes against the other.
func TestAnAutoscalerScalesAnIgnoredDeployment(t *testing.T) {
	clustertest.Need(t, shared, cluster.Loopback, cluster.SimulatedNodes)
	f := newFixture(t)
	f.serveMetrics()
	since := f.mark()
	f.create(f.ignoring("docs"))
	f.ready("docs")
	f.atMost(6, since)
	f.autoscale("apps/v1", "Deployment", "viewer-docs")
	f.eventually("three replicas", func() string {
		hpa := &autoscalingv2.HorizontalPodAutoscaler{}
		f.get(hpa, "docs")
		if got := *f.deployment().Spec.Replicas; got != 3 {
			return fmt.Sprintf("there are %d, the autoscaler says: %v", got, hpa.Status.Conditions)
		}
		return ""
	})
	f.served(3)
	f.settled("docs")

	before := f.deployment().Generation
	since = f.mark()
	f.passes(*atRest)
	if list, err := f.Cluster.Requests(t.Context(), since, cluster.In(f.namespace), cluster.Not(cluster.Events), writesOf("deployments.apps", "markdownviews.view.zoetrope.github.io")); err != nil || len(list) > 0 {
		t.Errorf("at rest somebody writes: %v\n%s", err, lines(list))
	}
	f.atMost(0, since)

	// New pages don't touch the replicas.
	since = f.mark()
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Changed\n" })
	f.served(3)
	f.atMost(7, since)
	if got := f.deployment().Generation; got != before+1 {
		t.Errorf("new pages are %d generations of the Deployment", got-before)
	}
}

// served waits until the view docs is Ready with so many replicas.
func (f *fixture) served(replicas int32) {
	f.Helper()
	f.eventually(fmt.Sprintf("it to be served by %d", replicas), func() string {
		view := f.ready("docs")
		if view.Status.Replicas != replicas {
			return fmt.Sprintf("it has %d: %s", view.Status.Replicas, readyMessage(view))
		}
		return ""
	})
}

// passes lets time pass, in which nothing is to happen.
func (f *fixture) passes(duration time.Duration) {
	f.Helper()
	select {
	case <-time.After(duration):
	case <-f.Context().Done():
		f.Fatal(f.Context().Err())
	}
}

// writesOf keeps the writes of resources.
func writesOf(resources ...string) cluster.Filter {
	return func(r cluster.Request) bool {
		for _, resource := range resources {
			if r.Resource == resource && r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" {
				return true
			}
		}
		return false
	}
}

// TestARuleLeavesAFieldAsItIs adds a rule to a view that runs, and removes it again.
func TestARuleLeavesAFieldAsItIs(t *testing.T) {
	scaled := func(f *fixture) {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":7}}`))
		f.must(admin.SubResource("scale").Patch(t.Context(), f.deployment(), patch, client.FieldOwner("autoscaler")))
	}
	tests := map[string]struct {
		replicas int32
		before   func(*fixture)
	}{
		"which the view has set":                          {replicas: 7, before: func(*fixture) {}},
		"which others have set while the view let them":   {replicas: 1, before: scaled},
		"which others have set, with a view that is none": {replicas: 0, before: scaled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			view := f.view("docs")
			view.Spec.Replicas = &test.replicas
			f.create(view)
			f.ready("docs")
			suspend := func(suspended bool, detection *v1.DriftDetection) {
				update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Suspend, v.Spec.DriftDetection = suspended, detection })
			}
			suspend(true, nil)
			f.caughtUp()
			test.before(f)
			since := f.mark()
			suspend(false, &v1.DriftDetection{Ignore: ignoredReplicas()})
			f.served(7)
			if got := *f.deployment().Spec.Replicas; got != 7 {
				t.Errorf("it was scaled to %d", got)
			}
			f.caughtUp()
			f.atMost(5, since)
			if owners := f.owners("f:replicas"); len(owners) > 1 || len(owners) == 1 && owners[0] != "autoscaler" {
				t.Errorf("replicas belong to %v", owners)
			}

			f.settled("docs")
			since = f.mark()
			suspend(false, nil)
			f.served(test.replicas)
			if got := *f.deployment().Spec.Replicas; got != test.replicas {
				t.Errorf("without the rule it has %d replicas, not %d", got, test.replicas)
			}
			f.atMost(5, since)
		})
	}
}

// owners lists the field managers that own a field of the Deployment's spec.
func (f *fixture) owners(field string) []string {
	f.Helper()
	var owners []string
	for _, entry := range f.deployment().ManagedFields {
		var fields struct {
			Spec map[string]any `json:"f:spec"`
		}
		if entry.FieldsV1 != nil {
			f.must(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields))
		}
		if _, owned := fields.Spec[field]; owned {
			owners = append(owners, entry.Manager)
		}
	}
	return owners
}

// TestAnAdoptedDeploymentKeepsWhatIsIgnored has a view take over what the function
// rendered and somebody else applied and scaled.
func TestAnAdoptedDeploymentKeepsWhatIsIgnored(t *testing.T) {
	f := newFixture(t)
	view := f.ignoring("docs")
	for _, object := range f.render(view) {
		object.SetNamespace(f.namespace)
		f.must(admin.Patch(t.Context(), object, client.Apply, client.FieldOwner("kubectl"), client.ForceOwnership)) //nolint:staticcheck // as kubectl does
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`))
	f.must(admin.Patch(t.Context(), &appsv1.Deployment{ObjectMeta: f.deployment().ObjectMeta}, patch, client.FieldOwner("kubectl-edit")))
	f.create(view)
	f.served(2)
	if got := *f.deployment().Spec.Replicas; got != 2 {
		t.Errorf("it was scaled to %d", got)
	}
}

package integration

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/product"
)

const shardKey = "sharding.fluxcd.io/key"

// TestShards runs the controllers of config/shards, and moves a view between two of them
// and back.
func TestShards(t *testing.T) {
	f := newCluster(t)
	instances := f.shards()
	owners := map[string]string{
		"of-the-rest": "markdown-view-controller", "b": "markdown-view-controller-shard2",
		"a": "markdown-view-controller-shard1", "a-stays": "markdown-view-controller-shard1",
	}
	for name, key := range map[string]string{"of-the-rest": "", "a": "shard1", "a-stays": "shard1", "b": "shard2"} {
		view := f.view(name)
		if key != "" {
			view.Labels = map[string]string{shardKey: key}
		}
		f.create(view)
	}
	for view, owner := range owners {
		f.ready(view)
		f.wantLogged(instances, view, owner)
	}
	var leases coordinationv1.LeaseList
	f.must(f.Client.List(t.Context(), &leases, client.InNamespace(product.Namespace)))
	if len(leases.Items) != len(instances) {
		t.Errorf("%d instances have %d leases", len(instances), len(leases.Items))
	}

	// The one that looked after it doesn't run: who repairs it looks after it now.
	f.settled("a")
	f.must(instances[owners["a"]].Stop(t.Context()))
	f.move("a", "shard2")
	f.wantLogged(instances, "a", owners["a"], owners["b"])
	f.must(instances[owners["a"]].Start(t.Context()))
	f.move("a", "shard1", "b")
	f.move("a", "", "a-stays")
	f.wantLogged(instances, "a", owners["a"], owners["b"], owners["of-the-rest"])
}

// shards runs a controller for each Deployment of config/shards, as that says.
func (f *fixture) shards() map[string]*cluster.Component {
	f.Helper()
	instances := map[string]*cluster.Component{}
	selectors := map[string]bool{}
	objects := f.build("resources: [ROOT/config/shards]\nimages: [{name: markdown-view, newName: registry.example.com/markdown-view}]\n")
	for _, object := range objects {
		switch object.GetKind() {
		case "Namespace":
			f.must(f.Client.Apply(f.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership))
		case "Deployment":
			if err := f.Client.Create(f.Context(), object, client.DryRunAll); err != nil {
				f.Fatal(err)
			}
			deployment := &appsv1.Deployment{}
			convert(f.T, object, deployment)
			checkSelected(f.T, deployment, objects)
			selectors[metav1.FormatLabelSelector(deployment.Spec.Selector)] = true
			instances[object.GetName()] = f.controller(object.GetName(), deployment.Spec.Template.Spec.Containers[0].Args...)
		}
	}
	if len(instances) != 3 || len(selectors) != 3 {
		f.Fatalf("instances %v with the selectors %v", instances, selectors)
	}
	return instances
}

// move gives a view to another shard, has its Service drift, and checks that it is repaired
// once, that nothing else of its objects is written, and that its pods stay. A view that stays
// with the instance that loses this one is named, if that runs: only once it has noticed is
// there one alone to repair it.
func (f *fixture) move(view, key string, stay ...string) {
	f.Helper()
	pods, since := f.podsOf(view), f.mark()
	update(f, &v1.MarkdownView{}, view, func(v *v1.MarkdownView) {
		delete(v.Labels, shardKey)
		if key != "" {
			v.Labels = map[string]string{shardKey: key}
		}
	})
	f.settled(append(stay, view)...)
	update(f, &corev1.Service{}, "viewer-"+view, func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(99) })
	f.eventually("the repair", func() string {
		service := &corev1.Service{}
		f.get(service, "viewer-"+view)
		return differs(service.Spec.Ports[0].TargetPort.String(), "3000")
	})
	f.caughtUp()
	var writes []string
	for _, r := range f.requests(since) {
		if cluster.Writes(r) && r.Subresource == "" {
			writes = append(writes, r.String())
		}
	}
	if len(writes) != 1 || !strings.HasPrefix(writes[0], "patch services/"+f.namespace+"/viewer-"+view+":") {
		f.Errorf("written when it came to %q, where one repair is due:\n%s", key, strings.Join(writes, "\n"))
	}
	if diff := cmp.Diff(pods, f.podsOf(view)); diff != "" {
		f.Errorf("its pods when it came to %q: %s", key, diff)
	}
}

// podsOf lists the pods of a view.
func (f *fixture) podsOf(view string) []types.UID {
	f.Helper()
	var pods corev1.PodList
	f.must(f.Client.List(f.Context(), &pods, client.InNamespace(f.namespace), client.MatchingLabels{"app.kubernetes.io/instance": view}))
	var uids []types.UID
	for i := range pods.Items {
		uids = append(uids, pods.Items[i].UID)
	}
	slices.Sort(uids)
	return uids
}

// wantLogged checks whose log tells of a view.
func (f *fixture) wantLogged(instances map[string]*cluster.Component, view string, want ...string) {
	f.Helper()
	var got []string
	for name, instance := range instances {
		log, err := os.ReadFile(instance.LogFile())
		f.must(err)
		if strings.Contains(string(log), `"name":"`+view+`"`) {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("instances that have looked after %s: %s", view, diff)
	}
}

package integration

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/product"
	"github.com/zoetrope/markdown-view/test/product/producttest"
)

// holds waits until the cluster is as the model says, and checks that nobody else's object
// was written.
func (s *soak) holds() {
	s.Helper()
	deadline := time.Now().Add(soakPatience)
	for _, view := range s.views {
		view.excuse = ""
		s.collect(view.leftBehind)
		clustertest.Eventually(s.T, max(time.Until(deadline), 10*time.Second), 200*time.Millisecond,
			"a view to be as the model says"+view.story(s), func() string {
				s.restartEnded()
				return view.differs(s)
			})
		if view.excuse != "" {
			s.happens("it isn't kept what was served: " + view.excuse)
		}
	}
	for _, view := range s.views {
		if !view.exists && view.taken == nil {
			s.collected(view)
		}
	}
	for _, stranger := range s.strangers {
		if touched := stranger.touched(); touched != "" {
			s.Errorf("%T %s of somebody else in %s: %s", stranger.object, stranger.object.GetName(), stranger.tenant.namespace, touched)
		}
	}
	s.wroteItsOwnOnly()
	if s.Failed() {
		s.FailNow()
	}
}

// differs says in what a view differs from the model, "" in nothing.
func (v *soakView) differs(s *soak) string {
	if v.suspended && v.exists {
		return ""
	}
	view := &v1.MarkdownView{}
	exists := v.tenant.get(view, v.name)
	switch {
	case exists != v.exists:
		return fmt.Sprintf("it exists: %t", exists)
	case !exists:
		return ""
	}
	ready := conditions.Get(view, meta.ReadyCondition)
	if ready == nil || ready.ObservedGeneration != view.Generation {
		return fmt.Sprintf("its conditions are of an earlier generation: %v", view.Status.Conditions)
	}
	producttest.CheckConditions(s.T, view)
	if reasons := v.reasons(); !slices.Contains(reasons, ready.Reason) {
		return fmt.Sprintf("it is %s, %s (%s), should be one of %s", ready.Status, ready.Reason, ready.Message, reasons)
	}
	if ready.Reason == v1.HealthyReason {
		if missing := cmp.Or(v.differsFromFunction(s), v.isntServed()); missing != "" {
			return missing
		}
		v.served, v.lostPages, v.lostDeployment, v.forgotten, v.excuse = true, false, false, false, ""
		return ""
	}
	if v.served && v.taken == nil {
		return v.isntKept(ready.Message)
	}
	return ""
}

// reasons are those that the view may give.
func (v *soakView) reasons() []string {
	var reasons []string
	if v.broken {
		reasons = append(reasons, v1.InvalidReason)
	}
	if v.missing && v.from == fromSource {
		reasons = append(reasons, v1.SourceNotFoundReason)
	} else if v.missing {
		reasons = append(reasons, v1.PagesNotFoundReason)
	}
	switch {
	case len(reasons) > 0:
		return reasons
	case v.taken != nil:
		return []string{v1.ConflictReason}
	}
	return []string{v1.HealthyReason}
}

// differsFromFunction holds what the controller owns against what the function prints.
func (v *soakView) differsFromFunction(s *soak) string {
	owned, err := s.Owned(s.Context(), v.tenant.namespace, v.name)
	if err != nil {
		return err.Error()
	}
	owned = slices.DeleteFunc(owned, func(o *unstructured.Unstructured) bool {
		return slices.ContainsFunc(s.strangers, func(g stranger) bool {
			return g.tenant == v.tenant && g.object.GetName() == o.GetName()
		}) || strings.HasPrefix(o.GetName(), "flood-")
	})
	got, err := product.Text(owned)
	s.must(err)
	return gocmp.Diff(v.printed(s), got)
}

// printed is what the function prints for the view and what it names. It takes a source's
// pages from a folder.
func (v *soakView) printed(s *soak) map[string]string {
	s.Helper()
	view, folder := v.object(), s.TempDir()
	if v.from == fromSource {
		s.must(os.Mkdir(filepath.Join(folder, "docs"), 0o700))
		for name, text := range v.files() {
			s.must(os.WriteFile(filepath.Join(folder, "docs", name), []byte(text), 0o600))
		}
		view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
	}
	input := documents(s.T, []*unstructured.Unstructured{v.tenant.unstructured(view)})
	for _, configMap := range v.configMaps() {
		input += documents(s.T, []*corev1.ConfigMap{configMap})
	}
	objects, err := s.Render(s.Context(), folder, []byte(input))
	s.must(err)
	given := v.configMaps()
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return slices.ContainsFunc(given, func(c *corev1.ConfigMap) bool { return o.GetKind() == "ConfigMap" && c.Name == o.GetName() })
	})
	texts, err := product.Text(objects)
	s.must(err)
	return texts
}

// isntServed says what is missing for what a Ready view says to be true.
func (v *soakView) isntServed() string {
	deployment := &appsv1.Deployment{}
	v.tenant.get(deployment, generator.ViewerName(v.name))
	revision := deployment.Spec.Template.Annotations[v1.RevisionAnnotation]
	var pods corev1.PodList
	v.tenant.must(v.tenant.Client.List(v.tenant.Context(), &pods, client.InNamespace(v.tenant.namespace), client.MatchingLabels(generator.Labels(v.name))))
	serving := int32(0)
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		if pod.Annotations[v1.RevisionAnnotation] != revision {
			return "pod " + pod.Name + " is of another revision"
		}
		if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
			serving++
		}
	}
	if serving != v.replicas {
		return fmt.Sprintf("%d pods serve, not %d", serving, v.replicas)
	}
	return ""
}

// soakExcuses are how a view says that what was served can't be kept, and of what.
var soakExcuses = []struct {
	message      string
	ofDeployment bool
}{
	{message: "what it held isn't known any more"},
	{message: "is gone, so that no pod of theirs can start"},
	{message: "their Deployment is gone, and with it what it was like", ofDeployment: true},
}

// isntKept says what is missing of what was served before the view was broken. What somebody
// changed or deleted while the controller was away, or the view suspended, or what the API
// server has forgotten, can't be had again; then the message has to say so.
func (v *soakView) isntKept(message string) string {
	if strings.Contains(message, "again and again") {
		return "it waits for peace: " + message
	}
	deployment := &appsv1.Deployment{}
	for _, excuse := range soakExcuses {
		switch {
		case !strings.Contains(message, excuse.message):
		case excuse.ofDeployment && !v.lostDeployment, !excuse.ofDeployment && !v.lostPages:
			return "nobody has touched that, and it says " + message
		default:
			v.excuse = excuse.message
			return ""
		}
	}
	switch {
	case !v.tenant.get(deployment, generator.ViewerName(v.name)):
		return "the Deployment of what was served last isn't there"
	case !v.tenant.get(&corev1.Service{}, generator.ViewerName(v.name)):
		return "the Service of what was served last isn't there"
	case !v.tenant.get(&corev1.ConfigMap{}, "markdowns-"+v.name):
		return "the ConfigMap of what was served last isn't there"
	case *deployment.Spec.Replicas != v.replicas || deployment.Status.ReadyReplicas != v.replicas:
		return fmt.Sprintf("%d of %d replicas serve what was served last, not %d", deployment.Status.ReadyReplicas, *deployment.Spec.Replicas, v.replicas)
	}
	return ""
}

// soakCollection is how long the objects of a deleted view may stay.
const soakCollection = 40 * time.Second

// collected waits until the objects of a deleted view are. A view takes over what it finds of
// a predecessor; of one that was deleted again it stays until it is collected.
func (s *soak) collected(v *soakView) {
	s.Helper()
	s.collect(v.leftovers)
	clustertest.Eventually(s.T, soakPatience, clustertest.Often, "the objects of a deleted view to be collected"+v.story(s), v.leftovers)
}

// collect waits for Kubernetes' controllers. The garbage collector misses, for good, that an
// object was replaced by one of its name if its watch was away meanwhile, and that of
// ReplicaSets waits for minutes for what it has asked for. They are started anew then.
func (s *soak) collect(left func() string) {
	s.Helper()
	limit := time.Now().Add(soakCollection)
	for left() != "" && time.Now().Before(limit) {
		select {
		case <-time.After(clustertest.Often):
		case <-s.Context().Done():
		}
	}
	if what := left(); what != "" {
		s.happens("the garbage collector is started anew: " + what + " is left")
		s.must(s.component(cluster.ControllerManager).Kill(s.Context()))
		s.must(s.component(cluster.ControllerManager).Start(s.Context()))
	}
}

// leftBehind names what Kubernetes' controllers have left of earlier Deployments and rollouts: a
// ReplicaSet of a Deployment that was replaced, one that has more pods than it wants, and a pod
// of a ReplicaSet that is gone.
func (v *soakView) leftBehind() string {
	deployment := &appsv1.Deployment{}
	v.tenant.get(deployment, generator.ViewerName(v.name))
	ofView := []client.ListOption{client.InNamespace(v.tenant.namespace), client.MatchingLabels(generator.Labels(v.name))}
	var sets appsv1.ReplicaSetList
	v.tenant.must(v.tenant.Client.List(v.tenant.Context(), &sets, ofView...))
	there := map[types.UID]bool{}
	for i := range sets.Items {
		set := &sets.Items[i]
		there[set.UID] = true
		if owner := metav1.GetControllerOfNoCopy(set); owner != nil && owner.UID != deployment.UID || set.Status.Replicas > *set.Spec.Replicas {
			return "ReplicaSet " + set.Name
		}
	}
	var pods corev1.PodList
	v.tenant.must(v.tenant.Client.List(v.tenant.Context(), &pods, ofView...))
	for i := range pods.Items {
		if owner := metav1.GetControllerOfNoCopy(&pods.Items[i]); owner != nil && !there[owner.UID] {
			return "pod " + pods.Items[i].Name
		}
	}
	return ""
}

// wroteItsOwnOnly looks at every write of the controller that the API server has done.
func (s *soak) wroteItsOwnOnly() {
	s.Helper()
	now := s.mark()
	requests, err := s.Cluster.Requests(s.Context(), s.began, cluster.By(controllerUser), cluster.Writes, cluster.Not(cluster.Events), cluster.Not(cluster.Leases))
	s.must(err)
	s.began = now
	own := regexp.MustCompile(`^(markdowns-docs-\d+([.]last)?([.]\d+)?|viewer-docs-\d+|docs-\d+)$`)
	for _, r := range requests {
		if r.Code < 300 && (!own.MatchString(r.Name) || r.Resource == "markdownviews.view.zoetrope.github.io" && r.Subresource != "status") {
			s.Errorf("the controller wrote what isn't its own: %s", r)
		}
	}
}

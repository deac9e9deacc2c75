package integration

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// soakAction is one of the things that happen: to a view, or to the cluster. What it does
// depends on the model and the random numbers only, never on what it finds, so that a seed
// repeats it.
type soakAction struct {
	name     string
	weight   int
	restarts bool // the controller
	do       func(s *soak, v *soakView) (detail string)
	cluster  func(s *soak)
}

var soakActions []soakAction

func init() { // the actions refer to the soak, which refers to them
	soakActions = []soakAction{
		{name: "edit a page", weight: 20, do: (*soak).editPage},
		{name: "add or remove a page", weight: 8, do: (*soak).changePages},
		{name: "break or repair the book", weight: 6, do: (*soak).breakBook},
		{name: "scale", weight: 6, do: (*soak).scale},
		{name: "suspend or resume", weight: 4, do: (*soak).suspend},
		{name: "delete or create the view", weight: 8, do: (*soak).deleteView},
		{name: "replace the view", weight: 3, do: (*soak).replaceView},
		{name: "delete or create what the pages are in", weight: 4, do: (*soak).deletePages},
		{name: "take the name of a deleted view's ConfigMap, or give it back", weight: 4, do: (*soak).squat},
		{name: "delete an object", weight: 12, do: (*soak).deleteObject},
		{name: "edit an object", weight: 12, do: (*soak).editObject},
		{name: "take labels off", weight: 8, do: (*soak).relabelObject},
		{name: "take labels and owners off", weight: 2, do: (*soak).disownObject},
		{name: "delete the pods", weight: 4, do: (*soak).deletePods},
		{name: "fight", weight: 1, do: (*soak).fight},
		{name: "have a webhook come or go", weight: 4, do: (*soak).webhook},
		{name: "have a server of artifacts fail or recover", weight: 3, do: (*soak).failServer},
		{name: "flood", weight: 1, cluster: (*soak).flood},
		{name: "restart the controller", weight: 1, restarts: true, cluster: func(s *soak) {
			s.restartEnded()
			s.must(s.controller.Restart(s.Context()))
			s.forget()
		}},
		{name: "kill the controller", weight: 2, restarts: true, cluster: func(s *soak) {
			s.restartEnded()
			s.must(s.controller.Kill(s.Context()))
			s.must(s.controller.Start(s.Context()))
			s.forget()
		}},
		{name: "pause the API server", weight: 1, cluster: func(s *soak) { s.outage(cluster.APIServer) }},
		{name: "pause etcd", weight: 1, cluster: func(s *soak) { s.outage(cluster.Etcd) }},
		{name: "kill the API server", weight: 1, cluster: func(s *soak) {
			s.must(s.component(cluster.APIServer).Kill(s.Context()))
			s.must(s.component(cluster.APIServer).Start(s.Context()))
		}},
	}
}

// restartEnded starts a controller again, as a kubelet does, that couldn't begin because the API
// server was away. That it has ended otherwise is a fault.
func (s *soak) restartEnded() {
	s.Helper()
	state, err := s.controller.State(s.Context())
	s.must(err)
	if state.Running {
		return
	}
	log, err := os.ReadFile(s.controller.LogFile())
	s.must(err)
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, `"error":"make the manager: `) || !strings.Contains(last, "connection refused") {
		s.Fatalf("the controller has ended with %s: %s", state.Ended, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	s.must(s.controller.Start(s.Context()))
	s.forget()
}

// forget notes that the controller was started anew.
func (s *soak) forget() {
	for _, v := range s.views {
		v.forgotten = true
	}
}

// outage freezes a component for some seconds: less than leases last, or the cluster's own
// controllers would end.
func (s *soak) outage(name string) {
	s.Helper()
	length := time.Duration(1+s.random.IntN(6)) * time.Second
	s.must(s.component(name).Pause(s.Context()))
	select {
	case <-time.After(length):
	case <-s.Context().Done():
	}
	s.must(s.component(name).Resume(s.Context()))
	s.must(s.Cluster.Ready(s.Context()))
}

func (s *soak) editPage(v *soakView) string {
	names := v.pageNames()
	name := names[s.random.IntN(len(names))]
	v.pages[name] = s.text(v)
	if v.from == fromInline {
		s.write(v)
	} else {
		s.writePages(v)
	}
	return name
}

func (s *soak) changePages(v *soakView) string {
	names := v.pageNames()
	detail := "page " + names[len(names)-1]
	switch {
	case v.from == fromSource:
		return s.editPage(v)
	case len(names) > 1 && s.random.IntN(2) == 0:
		delete(v.pages, names[len(names)-1])
		detail = "without " + detail
	default:
		v.pages[fmt.Sprintf("page-%d.md", 10+s.actions)] = s.text(v)
		detail = "after " + detail
	}
	s.write(v)
	s.writePages(v)
	return detail
}

func (s *soak) breakBook(v *soakView) string {
	v.broken = !v.broken
	s.write(v)
	return fmt.Sprint(v.broken)
}

func (s *soak) scale(v *soakView) string {
	v.replicas = int32(s.random.IntN(4))
	s.write(v)
	return fmt.Sprint(v.replicas)
}

func (s *soak) suspend(v *soakView) string {
	v.suspended = !v.suspended
	s.write(v)
	return fmt.Sprint(v.suspended)
}

func (s *soak) deleteView(v *soakView) string {
	if !v.exists {
		v.create(s)
		return "created"
	}
	v.remove(s)
	return "deleted"
}

func (s *soak) replaceView(v *soakView) string {
	if !v.exists {
		return "which doesn't exist"
	}
	v.remove(s)
	v.create(s)
	return ""
}

func (s *soak) deletePages(v *soakView) string {
	if v.from == fromInline {
		return "which it holds itself"
	}
	v.missing = !v.missing
	s.writePages(v)
	return fmt.Sprint(v.missing)
}

// squat has somebody make a ConfigMap of the name that a view that doesn't exist will want.
func (s *soak) squat(v *soakView) string {
	switch {
	case v.exists && v.squatted:
		s.must(client.IgnoreNotFound(s.Client.Delete(s.Context(), v.taken.object.DeepCopyObject().(client.Object))))
		s.strangers = slices.DeleteFunc(s.strangers, func(other stranger) bool { return other == *v.taken })
		v.taken, v.squatted = nil, false
		return "given back"
	case v.exists || v.taken != nil:
		return "which isn't free"
	}
	s.collected(v)
	v.taken, v.squatted = s.stranger(v.tenant, 0, v.name), true
	return "taken"
}

// object is one of a view's, chosen at random.
func (s *soak) object(v *soakView) client.Object {
	meta := metav1.ObjectMeta{Namespace: v.tenant.namespace, Name: generator.ViewerName(v.name)}
	switch s.random.IntN(3) {
	case 0:
		meta.Name = "markdowns-" + v.name
		return &corev1.ConfigMap{ObjectMeta: meta}
	case 1:
		return &appsv1.Deployment{ObjectMeta: meta}
	}
	return &corev1.Service{ObjectMeta: meta}
}

// lose notes that what was served may be lost: of pages the controller knows digests only,
// and a Deployment that goes while the view is suspended may be unknown to the next process.
func (v *soakView) lose(object client.Object) {
	switch object.(type) {
	case *corev1.ConfigMap:
		v.lostPages = true
	case *appsv1.Deployment:
		v.lostDeployment = true
	}
}

// mayTouch reports whether an object is the view's to lose, not a stranger's.
func (v *soakView) mayTouch() bool { return v.taken == nil }

func (s *soak) deleteObject(v *soakView) string {
	object := s.object(v)
	if !v.mayTouch() {
		return "which isn't its own"
	}
	s.must(client.IgnoreNotFound(s.Client.Delete(s.Context(), object)))
	v.lose(object)
	return fmt.Sprintf("%T", object)
}

// patch changes an object as kubectl patch does, if it is there.
func (s *soak) patch(object client.Object, patch string) {
	s.Helper()
	err := s.Client.Patch(s.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("kubectl-patch"))
	s.must(client.IgnoreNotFound(err))
}

func (s *soak) editObject(v *soakView) string {
	object, which := s.object(v), s.random.IntN(2)
	if !v.mayTouch() {
		return "which isn't its own"
	}
	var patch string
	switch object.(type) {
	case *corev1.ConfigMap:
		patch = []string{`{"data": {"page-0.md": "# Drifted\n"}}`, `{"data": {"foreign.md": "# Foreign\n"}}`}[which]
	case *appsv1.Deployment:
		patch = []string{`{"spec": {"replicas": 5}}`, `{"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 77}}}}`}[which]
	default:
		patch = []string{`{"spec": {"ports": [{"name": "http", "port": 81, "protocol": "TCP", "targetPort": 99}]}}`, `{"metadata": {"labels": {"team": "theirs"}}}`}[which]
	}
	s.patch(object, patch)
	v.lose(object)
	return fmt.Sprintf("%T %s", object, patch)
}

func (s *soak) relabelObject(v *soakView) string {
	object, which := s.object(v), s.random.IntN(4)
	if !v.mayTouch() {
		return "which isn't its own"
	}
	patch := []string{
		`{"metadata": {"labels": null}}`,
		`{"metadata": {"labels": {"app.kubernetes.io/created-by": "mallory"}}}`,
		`{"metadata": {"labels": {"app.kubernetes.io/instance": "another"}}}`,
		`{"metadata": {"annotations": {"config.kubernetes.io/local-config": "true"}, "labels": {"app.kubernetes.io/created-by": null}}}`,
	}[which]
	s.patch(object, patch)
	v.lose(object)
	return fmt.Sprintf("%T %s", object, patch)
}

// disownObject waits for the repair: an object without an owner would outlive its view.
func (s *soak) disownObject(v *soakView) string {
	object := s.object(v)
	if !v.served || v.broken || v.missing || v.suspended || v.taken != nil || len(v.tenant.hooks) > 0 || v.tenant.goOn != nil {
		return "not: it may not be repaired"
	}
	s.patch(object, `{"metadata": {"labels": null, "ownerReferences": null}}`)
	v.lose(object)
	clustertest.Eventually(s.T, soakPatience, clustertest.Often, fmt.Sprintf("%T to belong to its view again%s", object, v.story(s)), func() string {
		if v.tenant.get(object, object.GetName()) && len(object.GetOwnerReferences()) == 0 {
			return "it doesn't"
		}
		return ""
	})
	return fmt.Sprintf("%T", object)
}

func (s *soak) deletePods(v *soakView) string {
	s.must(s.Client.DeleteAllOf(s.Context(), &corev1.Pod{}, client.InNamespace(v.tenant.namespace), client.MatchingLabels(generator.Labels(v.name))))
	return ""
}

// fight changes an object of the hostile tenant again and again.
func (s *soak) fight(v *soakView) string {
	if !v.hostile() || !v.mayTouch() {
		return "not: it is peaceful"
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: v.tenant.namespace, Name: generator.ViewerName(v.name)}}
	for i := range 8 {
		s.patch(service.DeepCopy(), fmt.Sprintf(`{"spec": {"ports": [{"name": "http", "port": %d, "protocol": "TCP", "targetPort": 99}]}}`, 81+i))
	}
	return ""
}

func (s *soak) webhook(v *soakView) string {
	mode := soakModes[s.random.IntN(len(soakModes))]
	if v.tenant.hooks[mode] {
		s.webhooks.remove(v.tenant, mode)
		return mode + " gone"
	}
	s.webhooks.add(v.tenant, mode)
	return mode
}

func (s *soak) failServer(v *soakView) string {
	hangs := s.random.IntN(2) == 0
	namespace := v.tenant.namespace
	switch {
	case v.tenant.goOn != nil:
		v.tenant.goOn()
		v.tenant.goOn = nil
		return "well again"
	case hangs:
		v.tenant.goOn = s.served.hang(namespace)
		return "hangs"
	}
	s.served.answer(namespace, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) })
	v.tenant.goOn = func() { s.served.answer(namespace, nil) }
	return "fails"
}

// flood has the hostile tenant ask for all of its views at once, and label ConfigMaps as
// the controller's.
func (s *soak) flood() {
	hostile := s.tenants[len(s.tenants)-1]
	for _, v := range s.views {
		if v.tenant != hostile || !v.exists {
			continue
		}
		s.patch(&v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: hostile.namespace, Name: v.name}},
			fmt.Sprintf(`{"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "%d"}}}`, s.actions))
		s.must(s.Client.Create(s.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "flood-", Namespace: hostile.namespace, Labels: generator.Labels(v.name)},
			Data:       map[string]string{"start.md": "# Flood\n"},
		}))
	}
}

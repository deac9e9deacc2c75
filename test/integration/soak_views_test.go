package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// soakSource is where a view's pages are.
type soakSource int

const (
	fromInline soakSource = iota
	fromConfigMap
	fromSource
	fromTwoConfigMaps // with so much that the book takes several ConfigMaps
)

// soakView is what the model knows of a view.
type soakView struct {
	tenant *soakTenant
	number int // of the tenant
	name   string
	from   soakSource

	pages     map[string]string
	replicas  int32
	exists    bool
	broken    bool // its table of contents names a page that isn't there
	suspended bool
	missing   bool // what its pages are in doesn't exist
	// taken is somebody else's object of a name that the view wants.
	taken *stranger
	// squatted reports whether it was taken by an action, and may be given back.
	squatted bool
	// served reports whether it was seen served since it was created.
	served bool
	// lostPages and lostDeployment report whether somebody has changed or deleted them since.
	lostPages, lostDeployment bool
	// forgotten reports whether the controller was started anew since: what a webhook has made
	// of its Deployment isn't told from what was applied then.
	forgotten bool
	// excuse is why what was served last isn't kept; empty if it is.
	excuse string
	// actions are those that concerned it.
	actions []string
}

func (v *soakView) hostile() bool { return v.number == soakTenants-1 }

func (v *soakView) pageNames() []string { return slices.Sorted(maps.Keys(v.pages)) }

// files are the book's.
func (v *soakView) files() map[string]string {
	files := maps.Clone(v.pages)
	if v.from == fromSource { // as book makes it
		files["SUMMARY.md"] = "- [Start](start.md)\n"
		return files
	}
	summary := "# Summary\n\n"
	for _, name := range v.pageNames() {
		summary += fmt.Sprintf("- [%s](%s)\n", name, name)
	}
	files["SUMMARY.md"] = summary
	return files
}

// object is the view as it should be.
func (v *soakView) object() *v1.MarkdownView {
	view := &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: v.name, Namespace: v.tenant.namespace},
		Spec: v1.MarkdownViewSpec{
			Replicas: &v.replicas, Suspend: v.suspended,
			// What isn't told by an event is found out this late, and costs nothing else.
			Interval: &metav1.Duration{Duration: 20 * time.Second},
			Timeout:  &metav1.Duration{Duration: 30 * time.Second},
		},
	}
	switch v.from {
	case fromInline:
		view.Spec.Markdowns = v.files()
	case fromSource:
		view.Spec.ContentFrom = []v1.ContentSource{{SourceRef: &v1.SourceReference{Kind: v1.ExternalArtifactKind, Name: v.name}}}
	default:
		for _, configMap := range v.configMaps() {
			view.Spec.ContentFrom = append(view.Spec.ContentFrom, v1.ContentSource{ConfigMapRef: &v1.ConfigMapSource{Name: configMap.Name}})
		}
	}
	if v.broken {
		if view.Spec.Markdowns == nil {
			view.Spec.Markdowns = map[string]string{}
		}
		view.Spec.Markdowns["SUMMARY.md"] = "# Summary\n\n- [Missing](missing.md)\n"
	}
	return view
}

// configMaps are those that the pages are in.
func (v *soakView) configMaps() []*corev1.ConfigMap {
	of := func(name string, data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: v.tenant.namespace}, Data: data,
		}
	}
	switch v.from {
	case fromConfigMap:
		return []*corev1.ConfigMap{of("pages-"+v.name, v.files())}
	case fromTwoConfigMaps:
		large := map[string]string{}
		for i := range 2 {
			large[fmt.Sprintf("large-%d.md", i)] = strings.Repeat("A long page.\n", 32_000)
		}
		files := v.files()
		files["large.md"] = strings.Repeat("Another long page.\n", 20_000)
		return []*corev1.ConfigMap{of("large-"+v.name, large), of("pages-"+v.name, files)}
	}
	return nil
}

// create makes the view.
func (v *soakView) create(s *soak) {
	s.Helper()
	v.exists, v.served = true, false
	s.create(v.object())
}

// remove deletes the view. Its objects go some time later.
func (v *soakView) remove(s *soak) {
	s.Helper()
	v.exists, v.served = false, false
	s.must(s.Client.Delete(s.Context(), v.object()))
}

// write brings a view that exists to what the model knows.
func (s *soak) write(v *soakView) {
	s.Helper()
	if !v.exists {
		return
	}
	update(v.tenant.fixture, &v1.MarkdownView{}, v.name, func(live *v1.MarkdownView) { live.Spec = v.object().Spec })
}

// writePages brings what the pages are in to what the model knows.
func (s *soak) writePages(v *soakView) {
	s.Helper()
	switch v.from {
	case fromInline:
	case fromSource:
		if v.missing {
			source := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: v.tenant.namespace, Name: v.name}}
			s.must(client.IgnoreNotFound(s.Client.Delete(s.Context(), source)))
			return
		}
		s.served.offer(v.tenant.fixture, v.name, v.pages["start.md"])
	default:
		for _, configMap := range v.configMaps() {
			if v.missing {
				s.must(client.IgnoreNotFound(s.Client.Delete(s.Context(), configMap)))
				continue
			}
			live := &corev1.ConfigMap{}
			if !v.tenant.get(live, configMap.Name) {
				s.create(configMap)
				continue
			}
			update(v.tenant.fixture, live, configMap.Name, func(live *corev1.ConfigMap) { live.Data = configMap.Data })
		}
	}
}

// leftovers says which of a view's objects are there, "" if none is.
func (v *soakView) leftovers() string {
	viewer := generator.ViewerName(v.name)
	switch {
	case v.tenant.get(&appsv1.Deployment{}, viewer):
		return "its Deployment is there"
	case v.tenant.get(&corev1.Service{}, viewer):
		return "its Service is there"
	case v.tenant.get(&corev1.ConfigMap{}, "markdowns-"+v.name):
		return "its ConfigMap is there"
	}
	return ""
}

// story is what happened to the view and around it, for whoever looks for the cause.
func (v *soakView) story(s *soak) string {
	var story strings.Builder
	fmt.Fprintf(&story, "\nview %s of tenant %d (%s), last of %d actions; what happened to it:\n  %s\nand to the cluster:\n  %s\n",
		v.name, v.number, v.tenant.namespace, s.actions, strings.Join(last(v.actions, 40), "\n  "), strings.Join(last(s.happened, 20), "\n  "))
	for _, other := range s.views {
		if other == v || other.tenant != v.tenant {
			continue
		}
		for _, action := range other.actions {
			if strings.Contains(action, "webhook") || strings.Contains(action, "server") {
				fmt.Fprintf(&story, "in its namespace: %s\n", action)
			}
		}
	}
	return story.String()
}

func last(list []string, count int) []string { return list[max(0, len(list)-count):] }

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/product/producttest"
)

// patience is how long a test waits for what should take seconds: the pods of
// all tests share two cores.
const patience = 3 * time.Minute

// fixture is a namespace of a test's own.
type fixture struct {
	*producttest.Fixture
	namespace string
}

// newFixture makes one for a test that runs beside others.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	return newExclusiveFixture(t)
}

// newExclusiveFixture makes one for a test that the others would notice. Go runs
// those before the parallel ones.
func newExclusiveFixture(t *testing.T) *fixture {
	t.Helper()
	f := producttest.New(t, installed, patience)
	f.DescribeFailure("get markdownviews,deployments,pods -o wide", "describe pods", "get events --sort-by=.lastTimestamp")
	return &fixture{f, f.Namespace}
}

// in is the fixture of a subtest, in the same namespace.
func (f *fixture) in(t *testing.T) *fixture { return &fixture{f.For(t), f.namespace} }

// The names by which this package's tests call what producttest has.
func (f *fixture) create(object client.Object)                { f.Helper(); f.Create(object) }
func (f *fixture) get(object client.Object, name string) bool { f.Helper(); return f.Get(object, name) }
func (f *fixture) eventually(what string, missing func() string) {
	f.Helper()
	f.Eventually(what, missing)
}
func (f *fixture) ready() *v1.MarkdownView       { f.Helper(); return f.Ready("docs") }
func (f *fixture) pods() []corev1.Pod            { f.Helper(); return f.Pods("docs") }
func (f *fixture) kubectl(args ...string) string { f.Helper(); return f.MustKubectl("", args...) }
func (f *fixture) kubectlWith(stdin string, args ...string) string {
	f.Helper()
	return f.MustKubectl(stdin, args...)
}

// view returns one with pages, of which each is a chapter.
func (f *fixture) view(name string, pages map[string]string) *v1.MarkdownView {
	all := map[string]string{"SUMMARY.md": "# Summary\n\n"}
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		all["SUMMARY.md"] += fmt.Sprintf("- [%s](%s)\n", strings.TrimSuffix(page, ".md"), page)
		all[page] = pages[page]
	}
	return &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace},
		Spec:       v1.MarkdownViewSpec{Markdowns: all},
	}
}

// serve creates a view called docs with one page, and waits until it is served.
func (f *fixture) serve(text string, changes ...func(*v1.MarkdownView)) *v1.MarkdownView {
	f.Helper()
	view := f.view("docs", map[string]string{"start.md": "# " + text + "\n"})
	for _, change := range changes {
		change(view)
	}
	f.create(view)
	return f.ready()
}

// change edits the view docs, again if it was changed meanwhile.
func (f *fixture) change(edit func(*v1.MarkdownView)) {
	f.Helper()
	producttest.Update(f.Fixture, &v1.MarkdownView{}, "docs", edit)
}

// failed waits until the view docs says that its rollout has failed, with these
// words in its message.
func (f *fixture) failed(words ...string) {
	f.Helper()
	view := f.Status("docs", metav1.ConditionFalse, v1.RolloutFailedReason, words...)
	if !conditions.IsStalled(view) {
		f.Errorf("the view isn't stalled: %v", view.Status.Conditions)
	}
	f.Logf("the view says: %s", conditions.GetMessage(view, meta.ReadyCondition))
}

// pod returns the only pod of the view docs.
func (f *fixture) pod() *corev1.Pod {
	f.Helper()
	pods := f.pods()
	if len(pods) != 1 {
		f.Fatalf("docs has %d pods, want 1", len(pods))
	}
	return &pods[0]
}

// quick gives up on a rollout after the time that a healthy one needs here.
func quick(view *v1.MarkdownView) {
	view.Spec.Timeout = &metav1.Duration{Duration: 20 * time.Second}
}

func page(text string) func(*v1.MarkdownView) {
	return func(view *v1.MarkdownView) { view.Spec.Markdowns["start.md"] = "# " + text + "\n" }
}

// broken has mdBook fail in a way that nothing but mdBook can know.
func broken(view *v1.MarkdownView) {
	view.Spec.BookToml = "[preprocessor.missing]\ncommand = \"mdbook-that-is-not-there\"\n"
}

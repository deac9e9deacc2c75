package e2e

import (
	"context"
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
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// patience is how long a test waits for what should take seconds: the pods of
// all tests share two cores.
const patience = 3 * time.Minute

// fixture is a namespace of a test's own.
type fixture struct {
	*testing.T
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
	f := &fixture{T: t, namespace: clustertest.Namespace(t, shared)}
	t.Cleanup(f.describe)
	return f
}

// describe shows a failed test's pods and views.
func (f *fixture) describe() {
	if !f.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, args := range [][]string{
		{"get", "markdownviews,deployments,pods", "-o", "wide"},
		{"describe", "pods"},
		{"get", "events", "--sort-by=.lastTimestamp"},
	} {
		out, _ := kubectl(ctx, append(args, "-n", f.namespace)...) // the error is in the output
		f.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
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

func (f *fixture) create(object client.Object) {
	f.Helper()
	object.SetNamespace(f.namespace)
	if err := admin.Create(f.Context(), object); err != nil {
		f.Fatal(err)
	}
}

// get reads an object of the test's namespace; false if there is none.
func (f *fixture) get(object client.Object, name string) bool {
	f.Helper()
	err := admin.Get(f.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, object)
	if client.IgnoreNotFound(err) != nil {
		f.Fatal(err)
	}
	return err == nil
}

// change edits the view docs, again if it was changed meanwhile.
func (f *fixture) change(edit func(*v1.MarkdownView)) {
	f.Helper()
	view := &v1.MarkdownView{}
	f.eventually("the change of docs", func() string {
		if !f.get(view, "docs") {
			return "it doesn't exist"
		}
		edit(view)
		if err := admin.Update(f.Context(), view, client.FieldOwner("kubectl-edit")); err != nil {
			return err.Error()
		}
		return ""
	})
}

// eventually waits until a condition holds; it returns what is missing.
func (f *fixture) eventually(what string, missing func() string) {
	f.Helper()
	clustertest.Eventually(f, patience, clustertest.Often, what, missing)
}

// ready waits until the view docs is Ready in its current generation.
func (f *fixture) ready() *v1.MarkdownView {
	f.Helper()
	view := &v1.MarkdownView{}
	f.eventually("docs to be Ready", func() string {
		if !f.get(view, "docs") {
			return "the view doesn't exist"
		}
		ready := conditions.Get(view, meta.ReadyCondition)
		switch {
		case ready == nil:
			return "it has no Ready condition"
		case ready.ObservedGeneration != view.Generation:
			return "its Ready condition is of an earlier generation: " + ready.Message
		case ready.Status != metav1.ConditionTrue:
			return fmt.Sprintf("it is Ready=%s, %s: %s", ready.Status, ready.Reason, ready.Message)
		}
		return ""
	})
	return view
}

// failed waits until the view docs says that its rollout has failed, with these
// words in its message.
func (f *fixture) failed(words ...string) {
	f.Helper()
	view := &v1.MarkdownView{}
	f.eventually("docs to say "+strings.Join(words, ", "), func() string {
		if !f.get(view, "docs") {
			return "the view doesn't exist"
		}
		ready := conditions.Get(view, meta.ReadyCondition)
		if ready == nil || ready.Reason != v1.RolloutFailedReason || !conditions.IsTrue(view, meta.StalledCondition) {
			return fmt.Sprintf("it says %+v", ready)
		}
		for _, word := range words {
			if !strings.Contains(ready.Message, word) {
				return ready.Message
			}
		}
		f.Logf("the view says: %s", ready.Message)
		return ""
	})
}

// pods returns those of the view docs, but those that are being deleted.
func (f *fixture) pods() []corev1.Pod {
	f.Helper()
	var list corev1.PodList
	if err := admin.List(f.Context(), &list, client.InNamespace(f.namespace), client.MatchingLabels(generator.Labels("docs"))); err != nil {
		f.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
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

// kubectl runs kubectl in the test's namespace.
func (f *fixture) kubectl(args ...string) string {
	f.Helper()
	return f.kubectlWith("", args...)
}

func (f *fixture) kubectlWith(stdin string, args ...string) string {
	f.Helper()
	out, err := kubectlWith(f.Context(), stdin, append([]string{"-n", f.namespace}, args...)...)
	if err != nil {
		f.Fatal(err)
	}
	return out
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

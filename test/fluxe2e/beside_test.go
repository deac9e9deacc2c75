package fluxe2e

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/viewer"
)

// TestACommittedViewIsServed commits a MarkdownView beside its pages. Flux's
// Kustomization waits for the pages to be served, fails with a book that can't be
// built, heals when that is reverted, and removes everything.
func TestACommittedViewIsServed(t *testing.T) {
	f := newRealFixture(t)
	repository := f.repository(example("beside-its-pages"))
	f.apply("beside-its-pages", repository)
	f.readyOnlyWhenServed()
	f.site("runbook").Shows("/restore.html", "pgbackrest --stanza=${STANZA} restore")

	t.Log("a page is committed")
	revision := f.push(repository, "team", map[string]string{"docs/pages/keys.md": "# Rotate the keys\n\nEvery month.\n"})
	f.applied("team", revision)
	f.answersAtOnce("/keys.html", "Every month.")

	t.Log("a chapter's page is missing")
	f.push(repository, "team", map[string]string{"docs/pages/SUMMARY.md": "- [Restore](restore.md)\n- [Gone](gone.md)\n"})
	f.status("runbook", metav1.ConditionFalse, v1.InvalidReason, "SUMMARY.md:2", "gone.md")
	f.fails("team", "HealthCheckFailed", "MarkdownView/"+f.namespace+"/runbook status: 'Failed'")
	f.answersAtOnce("/keys.html", "Every month.")

	t.Log("it is reverted")
	revision, err := repository.Revert(t.Context())
	f.must(err)
	f.request(&sourcev1.GitRepository{}, "team")
	f.applied("team", revision)

	t.Log("the view breaks a rule that the API server knows")
	f.push(repository, "team", map[string]string{"docs/markdownview.yaml": "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: runbook}\nspec:\n  markdowns: {start.md: '# Start'}\n"})
	f.fails("team", "ReconciliationFailed", "a book needs a SUMMARY.md: add it to markdowns, or name a source in contentFrom that holds one")
	revision, err = repository.Revert(t.Context())
	f.must(err)
	f.request(&sourcev1.GitRepository{}, "team")
	f.applied("team", revision)
	f.answersAtOnce("/keys.html", "Every month.")

	t.Log("it is removed")
	f.push(repository, "team", map[string]string{
		"docs/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nconfigMapGenerator: [{name: empty}]\n",
	})
	f.eventually("everything to be gone", func() string { return f.leftOf("runbook") })
}

// readyOnlyWhenServed waits until the Kustomization is Ready, and asks the pod at
// once.
func (f *fixture) readyOnlyWhenServed() {
	f.Helper()
	f.eventually("Kustomization team to be Ready", func() string {
		if k := f.kustomization("team"); k.ready != "True" {
			return fmt.Sprintf("it is %+v", k)
		}
		return ""
	})
	f.answersAtOnce("/", "Restore the database")
}

// answersAtOnce asks all of a view's pods, once.
func (f *fixture) answersAtOnce(path, text string) {
	f.Helper()
	pods := f.pods("runbook")
	if len(pods) == 0 {
		f.Error("there is no pod")
	}
	for i := range pods {
		status, body, err := viewer.SiteAt(f, f.Cluster, pods[i].Status.PodIP+":3000").Ask(f.Context(), path)
		if err != nil || status != 200 || !strings.Contains(body, text) {
			f.Errorf("the Kustomization is Ready, and a pod answers %d, %v, without %q", status, err, text)
		}
	}
}

// fails waits until a Kustomization isn't Ready, with these words.
func (f *fixture) fails(name, reason, words string) {
	f.Helper()
	f.eventually("Kustomization "+name+" to fail", func() string {
		k := f.kustomization(name)
		if k.ready != "False" || k.reason != reason || !strings.Contains(k.message, words) {
			return fmt.Sprintf("it is %+v", k)
		}
		f.Logf("Flux says: %s", k.message)
		return ""
	})
}

// leftOf is what is left of a view.
func (f *fixture) leftOf(view string) string {
	f.Helper()
	if f.get(&v1.MarkdownView{}, view) {
		return "the view"
	}
	for _, list := range []client.ObjectList{
		&corev1.ConfigMapList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.PodList{},
	} {
		f.must(f.Client.List(f.Context(), list, client.InNamespace(f.namespace), client.MatchingLabels(generator.Labels(view))))
		if apimeta.LenList(list) > 0 {
			return fmt.Sprintf("%T", list)
		}
	}
	return ""
}

package integration

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestPagesFromAConfigMap(t *testing.T) {
	f := newFixture(t)
	view := f.view("docs")
	delete(view.Spec.Markdowns, "next.md")
	view.Spec.ContentFrom = []v1.ContentSource{
		{ConfigMapRef: &v1.ConfigMapSource{Name: "pages"}},
		{ConfigMapRef: &v1.ConfigMapSource{Name: "none", Optional: true}},
	}
	f.create(view)
	missing := f.status("docs", metav1.ConditionFalse, v1.PagesNotFoundReason)
	if message := missing.Status.Conditions[0].Message; !strings.Contains(message, "ConfigMap pages") {
		t.Errorf("the message doesn't name the ConfigMap: %s", message)
	}
	pages := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "pages", Namespace: f.namespace},
		Data:       map[string]string{"next.md": "# From a ConfigMap\n"},
	}
	f.create(pages)
	f.ready("docs")
	if got := f.configMap().Data["next.md"]; got != "# From a ConfigMap\n" {
		t.Errorf("the page is %q", got)
	}
	pages.Data["next.md"] = "# Again\n"
	if err := admin.Update(t.Context(), pages); err != nil {
		t.Fatal(err)
	}
	f.eventually("the change to arrive", func() string {
		return differs(f.configMap().Data["next.md"], "# Again\n")
	})
	f.ready("docs")
}

// TestGeneratedPagesAreNoSource: each generation would hold the keys of the one before,
// indefinitely.
func TestGeneratedPagesAreNoSource(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	before := f.deployment()
	from := func(name string) func(*v1.MarkdownView) {
		return func(v *v1.MarkdownView) {
			v.Spec.ContentFrom = []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: name, Optional: true}}}
		}
	}
	update(f, &v1.MarkdownView{}, "docs", from("markdowns-docs"))
	f.status("docs", metav1.ConditionFalse, v1.InvalidReason)
	copied := f.view("copied")
	from("markdowns-docs")(copied)
	f.create(copied)
	view := f.status("copied", metav1.ConditionFalse, v1.InvalidReason)
	if message := readyMessage(view); !strings.Contains(message, "spec.contentFrom[0].configMapRef: ConfigMap markdowns-docs") {
		t.Errorf("the message doesn't name the field and the ConfigMap: %s", message)
	}
	if after := f.deployment(); after.Generation != before.Generation {
		t.Error("the Deployment was changed")
	}
}

func TestABadEditHarmsNothing(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.settled("docs")
	before := f.deployment()
	since := f.mark()
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["SUMMARY.md"] = "- [Gone](gone.md)\n" })
	view := f.status("docs", metav1.ConditionFalse, v1.InvalidReason)
	if message := view.Status.Conditions[0].Message; !strings.Contains(message, "SUMMARY.md:1: ") || !strings.Contains(message, "gone.md") {
		t.Errorf("the message doesn't say what is wrong: %s", message)
	}
	f.atMost(1, since)
	if after := f.deployment(); after.ResourceVersion != before.ResourceVersion {
		t.Error("the Deployment was changed")
	}
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["SUMMARY.md"] = "- [Start](start.md)\n" })
	f.ready("docs")
}

// TestAServiceThatSetsNothingIsntTaken: nothing that we apply conflicts with it.
func TestAServiceThatSetsNothingIsntTaken(t *testing.T) {
	for name, adopt := range map[string]bool{"": false, "also where views adopt, if it has a controller": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			foreign := corev1ac.Service("viewer-docs", f.namespace).
				WithSpec(corev1ac.ServiceSpec().WithPorts(corev1ac.ServicePort().WithPort(80)))
			view := f.view("docs")
			if adopt {
				owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner", Namespace: f.namespace}}
				f.create(owner)
				foreign.WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion("v1").WithKind("ConfigMap").WithName("owner").WithUID(owner.UID).WithController(true))
				view.Annotations = map[string]string{v1.AdoptAnnotation: "true"}
			}
			f.must(f.Client.Apply(t.Context(), foreign, client.FieldOwner("kustomize-controller")))
			before := &corev1.Service{}
			f.get(before, "viewer-docs")
			f.create(view)
			f.status("docs", metav1.ConditionFalse, v1.ConflictReason)
			after := &corev1.Service{}
			f.get(after, "viewer-docs")
			if after.ResourceVersion != before.ResourceVersion {
				t.Errorf("it was changed: %+v", after)
			}
		})
	}
}

func TestADirectoryIsRefused(t *testing.T) {
	f := newFixture(t)
	view := f.view("docs")
	view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "./docs"}}}
	f.create(view)
	refused := f.status("docs", metav1.ConditionFalse, v1.InvalidReason)
	if message := refused.Status.Conditions[0].Message; !strings.Contains(message, "spec.contentFrom[0].directory is for build time") {
		t.Errorf("the message is %q", message)
	}
}

func TestASuspendedViewIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.settled("docs")
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Suspend = true })
	f.caughtUp()
	since := f.mark()
	update(f, &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Hacked\n" })
	// Another view that becomes ready shows that the controller has had the time.
	f.create(f.view("other"))
	f.ready("other")
	if got := f.configMap().Data["start.md"]; got != "# Hacked\n" {
		t.Errorf("the page was corrected to %q", got)
	}
	for _, request := range f.requests(since) {
		if strings.HasSuffix(request.Name, "docs") {
			t.Errorf("the controller made a request for the view: %s", request)
		}
	}
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Suspend = false })
	f.eventually("the page to be corrected", func() string {
		return differs(f.configMap().Data["start.md"], "# Start\n")
	})
}

func TestARequestedReconciliationIsEchoed(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	f.requestReconciliation("docs", "now")
}

func TestAViewIsScaledAndParked(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	view := f.ready("docs")
	for _, replicas := range []int32{3, 0, 1} {
		scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: f.namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		if err := admin.SubResource("scale").Update(t.Context(), view, client.WithSubResourceBody(scale)); err != nil {
			t.Fatal(err)
		}
		f.eventually(fmt.Sprintf("%d replicas", replicas), func() string {
			view = f.ready("docs")
			return differs(fmt.Sprint(view.Status.Replicas), fmt.Sprint(replicas))
		})
	}
}

func TestIdleViewsCostNoRequest(t *testing.T) {
	f := newFixture(t)
	for i := range 10 {
		f.create(f.view(fmt.Sprintf("docs-%d", i)))
	}
	for i := range 10 {
		f.ready(fmt.Sprintf("docs-%d", i))
	}
	f.caughtUp()
	since := f.mark()
	end := time.Now().Add(5 * time.Second)
	f.eventually("a while of quiet", func() string {
		if list := f.requests(since); len(list) > 0 {
			t.Fatalf("the controller made requests:\n%s", lines(list))
		}
		if time.Now().Before(end) {
			return "it isn't over"
		}
		return ""
	})
}

func TestABrokenRolloutIsReportedAndHeals(t *testing.T) {
	f := newFixture(t)
	view := f.view("docs")
	view.Spec.Timeout = &metav1.Duration{Duration: time.Second}
	f.create(view)
	f.ready("docs")
	// What somebody else adds to the pod is left alone, so it stays unschedulable.
	deployment := f.deployment()
	patch := []byte(`{"spec":{"template":{"spec":{"nodeSelector":{"no":"node"}}}}}`)
	if err := admin.Patch(t.Context(), deployment, client.RawPatch("application/merge-patch+json", patch), client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	f.rolloutFailed("Unschedulable")
	if err := admin.Patch(t.Context(), deployment, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"template":{"spec":{"nodeSelector":null}}}}`)), client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	f.ready("docs")
}

// TestOtherPagesGetTheirTime: that the rollout before has failed says nothing of them.
func TestOtherPagesGetTheirTime(t *testing.T) {
	f := newFixture(t)
	pages := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "pages", Namespace: f.namespace},
		Data:       map[string]string{"next.md": "# First\n"},
	}
	f.create(pages)
	view := f.view("docs")
	delete(view.Spec.Markdowns, "next.md")
	view.Spec.ContentFrom = []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: "pages"}}}
	view.Spec.Timeout = &metav1.Duration{Duration: 5 * time.Second}
	f.create(view)
	f.ready("docs")
	patch := []byte(`{"spec":{"template":{"spec":{"nodeSelector":{"no":"node"}}}}}`)
	f.must(admin.Patch(t.Context(), f.deployment(), client.RawPatch("application/merge-patch+json", patch), client.FieldOwner("somebody")))
	f.rolloutFailed()
	update(f, &corev1.ConfigMap{}, "pages", func(c *corev1.ConfigMap) { c.Data["next.md"] = "# Second\n" })
	f.eventually("the second pages to be rolled out", func() string {
		view := &v1.MarkdownView{}
		f.get(view, "docs")
		return differs(conditions.GetReason(view, meta.ReadyCondition), v1.ProgressingReason)
	})
	f.rolloutFailed()
}

func TestEveryRequestIsAllowed(t *testing.T) {
	f := newFixture(t)
	since := f.mark()
	f.create(f.view("docs"))
	f.ready("docs")
	for _, request := range f.requests(since) {
		if request.Code == 403 {
			t.Errorf("the controller was denied: %s", request)
		}
	}
}

// TestCharactersThatYAMLDoesNotTakeAreApplied: the API server takes what is applied for
// YAML.
func TestCharactersThatYAMLDoesNotTakeAreApplied(t *testing.T) {
	f := newFixture(t)
	page := "# It\u0092s\u0080 a\u0085b \u2028 \u007f \ufeff \ufffe \uffff \U0001ffff\n"
	f.create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "pages", Namespace: f.namespace},
		BinaryData: map[string][]byte{"SUMMARY.md": []byte("- [Start](start.md)\n- [Ends](ends.md)\n"), "start.md": []byte(page), "ends.md": []byte("a\u0085b\n")},
	})
	f.create(&v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: f.namespace},
		Spec:       v1.MarkdownViewSpec{ContentFrom: []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: "pages"}}}},
	})
	f.ready("docs")
	for key, want := range map[string]string{"start.md": page, "ends.md": "a\u0085b\n"} {
		configMap := f.configMap()
		if got := configMap.Data[key] + string(configMap.BinaryData[key]); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// TestAPageThatJSONMakesLongIsApplied fills a page with what encoders like to escape:
// six bytes for one, it would be more than the API server reads.
func TestAPageThatJSONMakesLongIsApplied(t *testing.T) {
	f := newFixture(t)
	f.create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "pages", Namespace: f.namespace},
		BinaryData: map[string][]byte{
			"SUMMARY.md": []byte("- [Start](start.md)\n"),
			"start.md":   bytes.Repeat([]byte("<&>"), 300_000),
		},
	})
	f.create(&v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: f.namespace},
		Spec:       v1.MarkdownViewSpec{ContentFrom: []v1.ContentSource{{ConfigMapRef: &v1.ConfigMapSource{Name: "pages"}}}},
	})
	f.ready("docs")
	if got := len(f.configMap().Data["start.md"]); got != 900_000 {
		t.Errorf("the page has %d bytes", got)
	}
}

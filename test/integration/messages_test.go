package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestFaultsThatMDBookLivesWithAreAnEvent(t *testing.T) {
	f := newFixture(t)
	view := f.view("docs")
	view.Spec.Markdowns["start.md"] = "# Start\n\n[broken](missing.md)\n"
	f.create(view)
	f.ready("docs")
	f.event("docs", "PagesWarning: spec.markdowns: start.md:3:")
}

func TestAPausedDeploymentIsNamed(t *testing.T) {
	f := newFixture(t)
	view := f.view("docs")
	view.Spec.Timeout = &metav1.Duration{Duration: 2 * time.Second}
	f.create(view)
	f.ready("docs")
	pause := func(paused bool) {
		patch := fmt.Appendf(nil, `{"spec":{"paused":%t}}`, paused)
		f.must(f.Client.Patch(t.Context(), f.deployment(), client.RawPatch(types.MergePatchType, patch), client.FieldOwner("kubectl-rollout")))
	}
	pause(true)
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Changed\n" })
	f.rolloutFailed("kubectl rollout resume deployment viewer-docs")
	pause(false)
	f.ready("docs")
}

func TestAnImmutableConfigMapIsNamed(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	update(f, &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Immutable = new(true) })
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Changed\n" })
	view := f.status("docs", metav1.ConditionFalse, v1.ApplyFailedReason)
	if message := readyMessage(view); !strings.Contains(message, "ConfigMap markdowns-docs") || !strings.Contains(message, "delete the object") || !strings.Contains(message, "as long as pods mount it") {
		t.Errorf("the message doesn't say what to do: %s", message)
	}
	f.must(f.Client.Delete(t.Context(), f.configMap()))
	f.ready("docs")
}

// TestDurationsThatCanNotBeReadAreRefused has the API server refuse them: a controller
// that can't read one view can't list any.
func TestDurationsThatCanNotBeReadAreRefused(t *testing.T) {
	f := newFixture(t)
	for _, duration := range []string{"99999999999h", "3000000h", "99999h9999999m999999999s999999999s9999999m", "1ms", "0s", "soon", ""} {
		view := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1.GroupVersion.String(), "kind": v1.Kind,
			"metadata": map[string]any{"name": "docs", "namespace": f.namespace},
			"spec":     map[string]any{"interval": duration, "markdowns": map[string]any{"SUMMARY.md": "- [A](a.md)", "a.md": "# A"}},
		}}
		if err := f.Client.Create(t.Context(), view); !apierrors.IsInvalid(err) {
			t.Errorf("interval %q: %v", duration, err)
		}
	}
	f.create(f.view("others"))
	f.ready("others")
}

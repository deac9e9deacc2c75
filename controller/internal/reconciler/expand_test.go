package reconciler

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/clock"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

func TestRememberTellsOtherPages(t *testing.T) {
	r := &Reconciler{Clock: clock.RealClock{}}
	view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: "docs"}}
	recalled := &expansion{Output: &generator.Output{Revision: "b"}}
	generated := func(revision string) *expansion {
		return &expansion{Output: &generator.Output{
			Revision:   revision,
			ConfigMaps: []*corev1ac.ConfigMapApplyConfiguration{corev1ac.ConfigMap("markdowns-docs", "docs")},
		}}
	}
	for i, step := range []struct {
		expansion *expansion
		want      bool
	}{
		{generated("a"), false}, // what was before isn't known
		{generated("a"), false},
		{generated("b"), true},
		{recalled, false},
	} {
		if got := r.remember(view, "key", step.expansion, nil); got != step.want {
			t.Errorf("step %d: got %t", i, got)
		}
	}
}

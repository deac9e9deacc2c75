package apply

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// TestOnlyPagesAreMounted has somebody else's fields there for long, and an edit seen at once.
func TestOnlyPagesAreMounted(t *testing.T) {
	tests := map[string]struct {
		entry metav1.ManagedFieldsEntry
		want  bool
	}{
		"a page":             {entry: metav1.ManagedFieldsEntry{Manager: "anyone", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:start.md":{}}}`)}, want: true},
		"an image":           {entry: metav1.ManagedFieldsEntry{Manager: "anyone", FieldsV1: metav1.NewFieldsV1(`{"f:binaryData":{"f:a.png":{}}}`)}, want: true},
		"labels":             {entry: metav1.ManagedFieldsEntry{Manager: "kubectl-label", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:data":{}}}}`)}},
		"what isn't known":   {entry: metav1.ManagedFieldsEntry{Manager: "anyone", FieldsV1: metav1.NewFieldsV1(`{"f:` + digested("x") + `":{}}`)}, want: true},
		"a mark":             {entry: metav1.ManagedFieldsEntry{Manager: restarter, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)}},
		"what is ours":       {entry: metav1.ManagedFieldsEntry{Manager: generator.FieldManager, Operation: metav1.ManagedFieldsOperationApply}},
		"without any fields": {entry: metav1.ManagedFieldsEntry{Manager: "anyone"}, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			test.entry.Time = new(metav1.NewTime(now.Add(-time.Hour)))
			live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{test.entry}}}
			s := &situation{child: &child{live: live}, now: now, last: fingerprint{at: now}}
			if got := s.mayBeMounted(); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestAListIsNoMark(t *testing.T) {
	for mark, want := range map[string]string{"12": "12", "12,13": ""} {
		object := &metav1.ObjectMeta{Annotations: map[string]string{v1.EditedAnnotation: mark}}
		if got := markOf(object); got != want {
			t.Errorf("%q is the mark %q", mark, got)
		}
	}
}

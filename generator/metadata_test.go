package generator

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestCommonMetadataIsOnEveryObjectAndOnThePods(t *testing.T) {
	view := newView("docs", largeBook(3))
	view.Spec.CommonMetadata = &v1.CommonMetadata{Labels: map[string]string{"team": "docs"}, Annotations: map[string]string{"example.com/owner": "docs"}}
	before := view.DeepCopy()
	output := mustGenerate(t, view)
	if diff := cmp.Diff(before.Spec.CommonMetadata, view.Spec.CommonMetadata); diff != "" {
		t.Errorf("the view was changed: %s", diff)
	}

	labels := Labels("docs")
	labels["team"] = "docs"
	annotations := map[string]string{"example.com/owner": "docs"}
	for _, configMap := range output.ConfigMaps {
		if diff := cmp.Diff(labels, configMap.Labels) + cmp.Diff(annotations, configMap.Annotations); diff != "" {
			t.Errorf("ConfigMap %s: %s", *configMap.Name, diff)
		}
	}
	if diff := cmp.Diff(labels, output.Service.Labels) + cmp.Diff(annotations, output.Service.Annotations); diff != "" {
		t.Errorf("Service: %s", diff)
	}
	if diff := cmp.Diff(labels, output.Deployment.Labels) + cmp.Diff(annotations, output.Deployment.Annotations); diff != "" {
		t.Errorf("Deployment: %s", diff)
	}
	pods := output.Deployment.Spec.Template
	onPods := maps.Clone(annotations)
	onPods[v1.RevisionAnnotation] = output.Revision
	if diff := cmp.Diff(labels, pods.Labels) + cmp.Diff(onPods, pods.Annotations); diff != "" {
		t.Errorf("pods: %s", diff)
	}
	if diff := cmp.Diff(Labels("docs"), output.Deployment.Spec.Selector.MatchLabels) + cmp.Diff(Labels("docs"), output.Service.Spec.Selector); diff != "" {
		t.Errorf("selector: %s", diff)
	}
}

func TestCommonMetadataChangesNothingElse(t *testing.T) {
	plain, empty := newView("docs", withPages(map[string]string{"a.md": ""})), newView("docs", withPages(map[string]string{"a.md": ""}))
	empty.Spec.CommonMetadata = &v1.CommonMetadata{}
	if diff := cmp.Diff(mustGenerate(t, plain), mustGenerate(t, empty)); diff != "" {
		t.Error(diff)
	}
}

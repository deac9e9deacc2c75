package generator

import (
	"maps"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// CommonMetadata returns what every object of a view carries, and its pods: our labels
// and what the view asks for.
func CommonMetadata(view *v1.MarkdownView) v1.CommonMetadata {
	ours := Labels(view.Name)
	if view.Spec.CommonMetadata == nil {
		return v1.CommonMetadata{Labels: ours}
	}
	labels := maps.Clone(view.Spec.CommonMetadata.Labels)
	if labels == nil {
		return v1.CommonMetadata{Labels: ours, Annotations: view.Spec.CommonMetadata.Annotations}
	}
	maps.Copy(labels, ours)
	return v1.CommonMetadata{Labels: labels, Annotations: view.Spec.CommonMetadata.Annotations}
}

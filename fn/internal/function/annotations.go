package function

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// noteDirectives has the next run tell the tools' annotations that come from the view from
// those that somebody else put on an object, which stay. An object's file is all that is
// left of a run.
func noteDirectives(object *yaml.RNode) {
	annotations := object.GetAnnotations()
	var keys []string
	for _, key := range sortedKeys(annotations) {
		if isToolAnnotation(key) {
			keys = append(keys, key)
		}
	}
	if len(keys) > 0 {
		annotations[v1.DirectivesAnnotation] = strings.Join(keys, ",")
		_ = object.SetAnnotations(annotations) // it fails for what is no map
	}
}

// keepToolAnnotations carries over what kustomize and kpt use to tell which
// resource is which, and in which file it belongs, as it is written; and what people tell
// tools of an object. What the view says, or said in an earlier run, is the view's.
func keepToolAnnotations(from, to *yaml.RNode) {
	annotations := to.GetAnnotations()
	existing := from.GetAnnotations()
	ofView := strings.Split(existing[v1.DirectivesAnnotation], ",")
	var kept []string
	for _, key := range sortedKeys(existing) {
		if _, isSet := annotations[key]; !isSet && isToolAnnotation(key) && !slices.Contains(ofView, key) {
			annotations[key] = existing[key]
			kept = append(kept, key)
		}
	}
	if len(kept) == 0 {
		return
	}
	// Neither fails for a map.
	_ = to.SetAnnotations(annotations)
	_ = annotationsOf(from).VisitFields(func(field *yaml.MapNode) error {
		if key := field.Key.YNode().Value; slices.Contains(kept, key) {
			annotationsOf(to).Field(key).Value.SetYNode(field.Value.Copy().YNode())
		}
		return nil
	})
}

func annotationsOf(node *yaml.RNode) *yaml.RNode {
	metadata := node.Field(yaml.MetadataField)
	if metadata == nil {
		return nil
	}
	if field := metadata.Value.Field(yaml.AnnotationsField); field != nil {
		return field.Value
	}
	return nil
}

func isToolAnnotation(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	switch prefix {
	case "internal.config.kubernetes.io", "config.kubernetes.io", "config.k8s.io", "kustomize.config.k8s.io",
		"kpt.dev", "client.lifecycle.config.k8s.io", "cli-utils.sigs.k8s.io":
		return true
	}
	return strings.HasSuffix(prefix, ".kpt.dev")
}

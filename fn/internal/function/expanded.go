package function

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// expandedName starts the name that a mark refers from.
const expandedName = "expanded-"

// markPrefix starts every mark, which is an entry of the annotation refBy: the
// identity of a resource, as all entries are.
var markPrefix = resid.Gvk{Group: v1.GroupVersion.Group, Version: v1.GroupVersion.Version, Kind: TransformerKind}.String() + "/" + expandedName

// markExpanded has later functions of the same build leave a view alone: what it
// expanded to is customized on the way up, and its folder may be another one there.
// Like all that kustomize notes, the mark is gone from what a build prints, even
// where an overlay has the view printed.
func (x *index) markExpanded(view *yaml.RNode, item item) error {
	if !x.inKustomize() || expandedAs(item.node) != nil {
		return nil
	}
	name := expandedName + strings.Join(x.digests(view), "-")
	mark := resid.NewResIdWithNamespace(resid.Gvk{Group: v1.GroupVersion.Group, Version: v1.GroupVersion.Version, Kind: TransformerKind}, name, "").String()
	if entries := annotationOf(item.node, refByAnnotation); entries != "" {
		mark = entries + "," + mark
	}
	return item.raw.PipeE(yaml.SetAnnotation(refByAnnotation, mark))
}

// expandedAs returns the digests that the mark of a view holds, nil if there is no
// mark. Only what kustomize passes has one: kpt writes the views back, and expands
// them again.
func expandedAs(view *yaml.RNode) []string {
	if !inKustomize(view) {
		return nil
	}
	for entry := range strings.SplitSeq(annotationOf(view, refByAnnotation), ",") {
		if name, ok := strings.CutPrefix(entry, markPrefix); ok {
			name, _, _ = strings.Cut(name, ".")
			return strings.Split(name, "-")
		}
	}
	return nil
}

// toExpand returns the views that config asks for and that this build hasn't
// expanded yet.
func (x *index) toExpand(config config) (views []*yaml.RNode, notes framework.Results) {
	if config.generates {
		return []*yaml.RNode{config.node}, x.leftBeside(config.node)
	}
	for _, view := range x.views() {
		if then := expandedAs(view); then != nil {
			notes = append(notes, x.alreadyExpanded(view, then)...)
			continue
		}
		views = append(views, view)
	}
	return views, notes
}

// leftBeside has a word about views among the resources where kustomize has one transform
// them: it expands itself, and nothing else. What runs later isn't known here, in this
// kustomization or in one above.
func (x *index) leftBeside(expanded *yaml.RNode) (notes framework.Results) {
	for _, view := range x.views() {
		if inKustomize(view) && expandedAs(view) == nil && idOf(view) != idOf(expanded) {
			notes = append(notes, warningOf(view, "", fmt.Sprintf(
				"isn't expanded by %s %s, which expands only itself: list that one under generators; and for this one, unless a %s comes later, list one under transformers",
				v1.Kind, expanded.GetName(), TransformerKind)))
		}
	}
	return notes
}

// digests are those of a view's spec and of the pages in each ConfigMap that it
// names, which is empty where none is found; nil if the view can't be read. What
// overlays may change without harm doesn't count: kustomize's images, for one, may
// change the view as well as the Deployment.
func (x *index) digests(view *yaml.RNode) []string {
	var content v1.MarkdownView
	if faults := decode(view, &content); len(faults) > 0 {
		return nil
	}
	spec := content.Spec
	spec.ViewerImage, spec.Suspend, spec.Interval, spec.Timeout = "", false, nil, nil
	spec.ServiceAccountName, spec.DriftDetection = "", nil
	digests := []string{digestOf(spec)}
	for _, source := range spec.ContentFrom {
		if source.ConfigMapRef == nil {
			continue
		}
		digest := ""
		if found, err := x.configMap(view, source.ConfigMapRef.Name); err == nil && found.node != nil {
			pages, _ := pagesOf(found.node)
			digest = digestOf(pages.Pages)
		}
		digests = append(digests, digest)
	}
	return digests
}

// digestOf tells one value from another within a build.
func digestOf(value any) string {
	// Marshalling fails only for types that neither specs nor pages have.
	text, _ := json.Marshal(value)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// alreadyExpanded has a word about a view that was changed after it was expanded,
// itself or its pages: that comes too late.
func (x *index) alreadyExpanded(view *yaml.RNode, then []string) framework.Results {
	now := x.digests(view)
	if len(now) != len(then) || now[0] != then[0] {
		return framework.Results{warningOf(view, "spec",
			"was changed after the view was expanded, which has no effect: change the objects instead, or let the transformer run where the change is made")}
	}
	for i := range now {
		if now[i] != then[i] && now[i] != "" {
			return framework.Results{warningOf(view, "spec.contentFrom",
				"the pages of a ConfigMap were changed after the view was expanded, which has no effect: let the transformer run where the change is made")}
		}
	}
	return nil
}

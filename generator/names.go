package generator

import (
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/mdbook"
)

// FieldManager is the field manager of everything that is generated. It and the
// names and labels below are those of the kubebuilder tutorial, so that objects
// that its controller made are found again.
const FieldManager = "markdown-view-controller"

// DefaultViewerImage serves views that name no image: the mdBook version that
// this release was tested with.
const DefaultViewerImage = "peaceiris/mdbook:v" + mdbook.Version

// InstanceLabel is the label that holds the view's name.
const InstanceLabel = "app.kubernetes.io/instance"

// Labels returns the labels of a view's objects, which are also the selector of
// its Deployment and Service. A Deployment's selector can't change, so neither
// can these.
func Labels(viewName string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       "mdbook",
		InstanceLabel:                  viewName,
		"app.kubernetes.io/created-by": FieldManager,
	}
}

// ViewerName is the name of a view's Deployment and Service.
func ViewerName(viewName string) string {
	return "viewer-" + viewName
}

// PagesName is the name of the ConfigMap that holds a view's shard. Shard 0 has
// the tutorial's name. The others are set off by a dot, which no view's name can
// hold: "markdowns-docs-1" would be shard 1 of docs and shard 0 of docs-1.
func PagesName(viewName string, shard int) string {
	name := "markdowns-" + viewName
	if shard == 0 {
		return name
	}
	return name + "." + strconv.Itoa(shard)
}

// IsPagesName reports whether name is that of one of a view's shards.
func IsPagesName(name, viewName string) bool {
	first := PagesName(viewName, 0)
	number, isFurther := strings.CutPrefix(name, first+".")
	if !isFurther {
		return name == first
	}
	shard, err := strconv.Atoi(number)
	return err == nil && name == PagesName(viewName, shard)
}

// lastSuffix sets the copies of pages off from the pages. IsPagesName reports false for
// them, and no other view has their names, which hold a dot.
const lastSuffix = ".last"

// LastPagesName is the name of the copy of one of a view's shards that the controller
// keeps while other pages are rolled out. The argument is the shard's own name.
func LastPagesName(pagesName, viewName string) string {
	first := PagesName(viewName, 0)
	return first + lastSuffix + strings.TrimPrefix(pagesName, first)
}

// CutLast returns the name of the shard of which a ConfigMap has the name of a copy.
func CutLast(name, viewName string) (pagesName string, isCopy bool) {
	first := PagesName(viewName, 0)
	further, isCopy := strings.CutPrefix(name, first+lastSuffix)
	pagesName = first + further
	if !isCopy || !IsPagesName(pagesName, viewName) {
		return "", false
	}
	return pagesName, true
}

// GeneratedPages says why a view can't take pages from a ConfigMap of these labels: it
// is what a view expands to, so that pages of pages would be generated, and again,
// indefinitely. Empty means that it can. Both front ends ask before they read a
// ConfigMap.
func GeneratedPages(viewName, configMap string, labels map[string]string) string {
	generated := Labels(labels[InstanceLabel])
	for key, value := range generated {
		if labels[key] != value {
			generated = nil
			break
		}
	}
	if generated == nil && !IsPagesName(configMap, viewName) {
		return ""
	}
	return fmt.Sprintf("ConfigMap %s holds pages that are generated from a view: name what that view takes them from", configMap)
}

// namespaceOf returns nil for a view without a namespace: a manifest that hasn't
// got one yet must not set an empty one.
func namespaceOf(view *v1.MarkdownView) *string {
	if view.Namespace == "" {
		return nil
	}
	return &view.Namespace
}

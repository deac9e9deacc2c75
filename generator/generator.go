// Package generator expands a MarkdownView and its pages into the objects that
// serve them as a book: ConfigMaps, a Deployment that runs mdBook, a Service.
//
// It is pure: the same input gives the same objects, whichever front end it
// came through. It knows no clock, no network, no file system and no randomness, and
// imports only the API, client-go's apply configurations, the parsers of what mdBook
// reads, and kustomize's libraries for patches.
//
// For programs that embed it, it follows semantic versioning, with the packages below it,
// from 1.0.0 on: within a major version exported names stay, and keep their types and
// meanings. The same version generates the same bytes. A minor version may generate other
// objects of a view, of which the names, the labels and the Deployment's selector stay; may
// know a newer mdBook; and may find more problems or fewer. A patch version does so only
// where a fault is fixed. The texts of problems may change in any.
package generator

import (
	"slices"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// Output is what a MarkdownView expands to.
type Output struct {
	// ConfigMaps hold the book. The first is always there and called
	// markdowns-<name>; a book that doesn't fit into it has more.
	ConfigMaps []*corev1ac.ConfigMapApplyConfiguration
	// Deployment runs mdBook.
	Deployment *appsv1ac.DeploymentApplyConfiguration
	// Service leads to the Deployment's pods.
	Service *corev1ac.ServiceApplyConfiguration
	// PatchedDeployment and PatchedService are all fields of the objects that a patch
	// changed, as they are printed and sent; nil if none did. The apply configuration
	// beside it holds what client-go's types know of them, which may be less.
	PatchedDeployment, PatchedService map[string]any
	// Revision is the digest of everything that mdBook reads, sha256:<64 hex
	// digits>.
	Revision string
	// Warnings are faults that mdBook lives with, such as a broken link between
	// two pages. Many of a kind are one, which says how many.
	Warnings diagnostic.List
	// AllWarnings are the same, each by itself.
	AllWarnings diagnostic.List
}

// Objects lists what is generated, in the order in which it is applied: pages
// before the pods that mount them. Each is an apply configuration, or a map of all its
// fields if a patch changed it.
func (o *Output) Objects() []any {
	objects := make([]any, 0, len(o.ConfigMaps)+2)
	for _, configMap := range o.ConfigMaps {
		objects = append(objects, configMap)
	}
	return append(objects, object(o.Deployment, o.PatchedDeployment), object(o.Service, o.PatchedService))
}

func object(configuration any, patched map[string]any) any {
	if patched != nil {
		return patched
	}
	return configuration
}

// Generate expands a view. contents holds what the entries of the view's
// contentFrom name, in their order; an optional one that is missing is left out.
// Neither is changed, and the objects share the contents' bytes.
//
// The error is an *InvalidError that lists every fault that was found.
func Generate(view *v1.MarkdownView, contents []Content) (*Output, error) {
	view = withDefaults(view)

	book, found := merge(view, contents)
	config, faults := readConfig(view, book)
	files := arrange(book, config)
	chapters, found := check(view, book, config, files, slices.Concat(found, diagnostic.FromFields(view.Validate()), faults))
	need, found := measure(files, config, chapters, found)
	if found.Has(diagnostic.Error) {
		return nil, invalid(view, append(found, unreadablePatches(view)...))
	}

	stored := files.stored()
	shards, revision := divide(stored), digest(stored)
	output := &Output{
		ConfigMaps: configMaps(view, shards),
		Deployment: deployment(view, files, config, need, shards, revision),
		Service:    service(view),
		Revision:   revision,
	}
	if faults := output.applyPatches(view); faults.Has(diagnostic.Error) {
		return nil, invalid(view, faults)
	}
	found = append(found, output.unknownFields()...)
	ignored, err := checkIgnored(view, output)
	if err != nil {
		return nil, err
	}
	if found = append(found, ignored...); found.Has(diagnostic.Error) {
		return nil, invalid(view, found)
	}
	output.Warnings, output.AllWarnings = found.Grouped(), found
	return output, nil
}

func withDefaults(view *v1.MarkdownView) *v1.MarkdownView {
	defaulted := *view
	defaulted.Default()
	return &defaulted
}

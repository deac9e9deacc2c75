package function

import (
	"cmp"
	"strings"

	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// What kustomize notes on the resources of a build. All but the function, which is
// the user's, it removes in the end.
const (
	previousNamesAnnotation      = "internal.config.kubernetes.io/previousNames"
	previousNamespacesAnnotation = "internal.config.kubernetes.io/previousNamespaces"
	previousKindsAnnotation      = "internal.config.kubernetes.io/previousKinds"
	needsHashSuffixAnnotation    = "internal.config.kubernetes.io/needsHashSuffix"
	// refByAnnotation lists what refers to the resource.
	refByAnnotation       = "internal.config.kubernetes.io/refBy"
	kustomizeIDAnnotation = "kustomize.config.k8s.io/id"
	functionAnnotation    = "config.kubernetes.io/function"
)

// inKustomize reports whether the items are those of a kustomize build.
func (x *index) inKustomize() bool {
	return len(x.items) > 0 && (inKustomize(x.items[0].node) || x.ofGenerator())
}

// inKustomize reports whether an item is one that kustomize gave a transformer.
func inKustomize(node *yaml.RNode) bool {
	return annotationOf(node, kustomizeIDAnnotation) != ""
}

// ofGenerator reports whether the items are what kustomize gives a generator: a copy
// of the functionConfig, which is in no file.
func (x *index) ofGenerator() bool {
	return len(x.items) == 1 && annotationOf(x.items[0].node, functionAnnotation) != "" && annotationOf(x.items[0].node, kioutil.PathAnnotation) == ""
}

// previousNames are those that a resource had in this build, as kustomize counts
// them when it resolves names: by then it will have appended the hash, too.
func previousNames(node *yaml.RNode) []string {
	var names []string
	if previous := annotationOf(node, previousNamesAnnotation); previous != "" {
		names = strings.Split(previous, ",")
	}
	if annotationOf(node, needsHashSuffixAnnotation) == "enabled" {
		names = append(names, node.GetName())
	}
	return names
}

// notePreviousName has kustomize resolve names of a new object. It looks only at
// those that were renamed: where a namesake got a prefix, a Deployment without one
// would be given the namesake's ConfigMap.
func notePreviousName(node *yaml.RNode) error {
	annotations := node.GetAnnotations()
	annotations[previousNamesAnnotation] = node.GetName()
	annotations[previousNamespacesAnnotation] = cmp.Or(node.GetNamespace(), resid.DefaultNamespace)
	annotations[previousKindsAnnotation] = node.GetKind()
	return node.SetAnnotations(annotations)
}

// sameContext reports whether the names of two resources got the same prefixes and
// suffixes in the end; with allowEmpty, none at all is the same as any.
func sameContext(a, b *yaml.RNode, allowEmpty bool) bool {
	first, second := resource.Resource{RNode: *a}, resource.Resource{RNode: *b}
	return first.PrefixesSuffixesEquals(&second, allowEmpty)
}

// sameNamespace takes no namespace for the namespace default where kustomize does.
func sameNamespace(item, view *yaml.RNode) bool {
	first, second := item.GetNamespace(), view.GetNamespace()
	if inKustomize(item) {
		first, second = cmp.Or(first, resid.DefaultNamespace), cmp.Or(second, resid.DefaultNamespace)
	}
	return first == second
}

func annotationOf(node *yaml.RNode, key string) string {
	return node.GetAnnotations(key)[key]
}

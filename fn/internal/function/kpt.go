package function

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// packagePathAnnotation names the package, of several in one another, that a file
// belongs to.
const packagePathAnnotation = "internal.config.kubernetes.io/package-path"

// ofKpt reports whether kpt read an item from a file. kustomize builds note neither a
// package nor how lists are indented.
func ofKpt(node *yaml.RNode) bool {
	annotations := node.GetAnnotations(packagePathAnnotation, kioutil.SeqIndentAnnotation)
	return annotations[packagePathAnnotation] != "" || annotations[kioutil.SeqIndentAnnotation] != ""
}

// kptShowsResults reports whether kpt runs the function: it prints the results, and
// then what came on standard error. kustomize prints only the latter, and between
// `kpt fn source` and `kpt fn sink` nobody else does.
func kptShowsResults(items []*yaml.RNode) bool {
	return slices.ContainsFunc(items, func(raw *yaml.RNode) bool {
		node, err := withoutAliases(raw)
		return err == nil && ofKpt(node) && kioutil.GetIdAnnotation(node) != ""
	})
}

// file is one of a package.
type file struct{ inPackage, path string }

func fileOf(node *yaml.RNode) file {
	name, _, _ := kioutil.GetFileAnnotations(node) // it has no error to return
	return file{node.GetAnnotations(packagePathAnnotation)[packagePathAnnotation], path.Clean(name)}
}

// defaultName is the file's name that kpt gives a resource without one.
func defaultName(kind, name string) string {
	return fmt.Sprintf("%s_%s.yaml", strings.ToLower(kind), name)
}

// files counts the resources of each file.
type files map[file]int

func (x *index) files() files {
	used := files{}
	for _, item := range x.items {
		if item.node == nil || !ofKpt(item.node) {
			continue
		}
		in := fileOf(item.node)
		_, index, _ := kioutil.GetFileAnnotations(item.node)
		n, _ := strconv.Atoi(index)
		used[in] = max(used[in], n+1)
	}
	return used
}

// inFile returns the item that is a view in a file, or nil: a functionConfig names no
// file, though it may be an item too.
func (x *index) inFile(v *view) *yaml.RNode {
	for _, i := range x.byID[idOf(v.node)] {
		if ofKpt(x.items[i].node) {
			return x.items[i].node
		}
	}
	return nil
}

// beside is the file of its own for an object in the view's folder.
func beside(view *yaml.RNode, kind, name string) file {
	in := fileOf(view)
	in.path = path.Join(path.Dir(in.path), defaultName(kind, name))
	return in
}

// placeBeside has kpt write an object beside its view; by itself it would use a file in the
// package's folder, or one of the namespace's name.
func (f files) placeBeside(view, object *yaml.RNode) {
	in := beside(view, object.GetKind(), object.GetName())
	annotations := object.GetAnnotations()
	annotations[kioutil.PathAnnotation] = in.path
	annotations[kioutil.IndexAnnotation] = strconv.Itoa(f[in])
	if in.inPackage != "" {
		annotations[packagePathAnnotation] = in.inPackage
	}
	f[in]++
	_ = object.SetAnnotations(annotations) // it fails for what is no map
}

// Package v1 is version v1 of the view.zoetrope.github.io API group: the
// MarkdownView type with its defaults and its validation, and the labels,
// annotations and condition types that belong to it.
//
// It imports nothing but k8s.io/apimachinery, so that clients can.
//
// It follows semantic versioning, from 1.0.0 on: what compiles against one version and is
// accepted by it compiles against, and is accepted by, every later one of the same major
// version. Fields, reasons, labels and annotations are added, and their names and meanings
// stay. A default may change in a minor version, which its changelog then says. The texts
// of messages may change in any.
//
// +kubebuilder:object:generate=true
// +groupName=view.zoetrope.github.io
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is the kind of a MarkdownView.
const Kind = "MarkdownView"

var (
	// GroupVersion is the group and version of the types in this package.
	GroupVersion = schema.GroupVersion{Group: "view.zoetrope.github.io", Version: "v1"}

	// SchemeBuilder collects the functions that add the types to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the types of this group and version to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &MarkdownView{}, &MarkdownViewList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

package v1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DriftMode is the mode of drift detection; Enabled if nothing is said.
func (v *MarkdownView) DriftMode() DriftDetectionMode {
	if v.Spec.DriftDetection == nil || v.Spec.DriftDetection.Mode == "" {
		return DriftDetectionEnabled
	}
	return v.Spec.DriftDetection.Mode
}

// IgnoredPaths lists the fields of a generated object that spec.driftDetection.ignore
// leaves to others, as JSON pointers in their unescaped parts. Rules that break a rule
// themselves are left out.
func (v *MarkdownView) IgnoredPaths(kind, name string) [][]string {
	if v.Spec.DriftDetection == nil {
		return nil
	}
	var paths [][]string
	for i := range v.Spec.DriftDetection.Ignore {
		rule := &v.Spec.DriftDetection.Ignore[i]
		if !rule.Target.Selects(kind, name) {
			continue
		}
		for _, pointer := range rule.Paths {
			if path, err := parsePointer(pointer); err == nil && protectedBy(kind, path) == nil {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// PointerParts returns the unescaped parts of a JSON pointer; nil if it is none.
func PointerParts(pointer string) []string {
	parts, err := parsePointer(pointer)
	if err != nil {
		return nil
	}
	return parts
}

// parsePointer returns the unescaped parts of a JSON pointer (RFC 6901) that isn't empty.
func parsePointer(pointer string) ([]string, error) {
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return nil, fmt.Errorf(`must be a JSON pointer, such as "/spec/replicas"`)
	}
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		switch {
		case part == "":
			return nil, fmt.Errorf(`must be a JSON pointer without empty parts, such as "/spec/replicas"`)
		case part == "-":
			return nil, fmt.Errorf(`must not hold "-": count the entries of a list from 0`)
		case strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(part), "~"):
			return nil, fmt.Errorf(`must hold "~" only as "~0", for "~", and "~1", for "/"`)
		}
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts, nil
}

// protectedPath is a field that others can't have.
type protectedPath struct {
	// kind is that of the objects; "" for all.
	kind string
	// path is a JSON pointer in its parts; "*" is any entry of a list.
	path []string
	why  string
	// alone means that what holds it can be left to others as a whole.
	alone bool
}

// protectedPaths are what the objects of a view can't be without, or a promise depends on.
var protectedPaths = func() []protectedPath {
	const (
		identity = "it says which object this is"
		labels   = "by it the view's objects are found"
		key      = "by it the entry of the list is known"
		pages    = "the pages are in it"
	)
	list := []protectedPath{
		{path: []string{"apiVersion"}, why: identity},
		{path: []string{"kind"}, why: identity},
		{path: []string{"metadata", "name"}, why: identity},
		{path: []string{"metadata", "namespace"}, why: identity},
		{path: []string{"metadata", "ownerReferences"}, why: "by it the object is the view's, and goes with it"},
		{kind: "ConfigMap", path: []string{"data"}, why: pages},
		{kind: "ConfigMap", path: []string{"binaryData"}, why: pages},
		{path: []string{"spec", "selector"}, why: "by it the view's pods are found"},
		{kind: "Deployment", path: []string{"spec", "template", "metadata", "annotations", RevisionAnnotation}, why: "by it the pods are replaced when pages change"},
		{kind: "Deployment", path: []string{"spec", "template", "metadata", "annotations", ServerConfigAnnotation}, why: "no site is served without it; a patch can replace it"},
		{kind: "Deployment", path: []string{"spec", "template", "spec", "volumes"}, why: pages},
		{kind: "Deployment", path: []string{"spec", "template", "spec", "initContainers"}, why: "the pages are assembled, or built, by it"},
		{kind: "Deployment", path: []string{"spec", "template", "spec", "containers", "*", "volumeMounts"}, why: pages},
		{kind: "Deployment", path: []string{"spec", "template", "spec", "containers", "*", "image"}, why: "no pod can be made without it; spec.viewerImage says which it is"},
		{kind: "Deployment", path: []string{"spec", "template", "spec", "containers", "*", "name"}, why: key},
		{kind: "Deployment", path: []string{"spec", "template", "spec", "containers", "*", "env", "*", "name"}, why: key, alone: true},
		{kind: "Deployment", path: []string{"spec", "template", "spec", "containers", "*", "ports", "*", "containerPort"}, why: key, alone: true},
		{kind: "Deployment", path: []string{"spec", "template", "spec", "containers", "*", "ports", "*", "protocol"}, why: key, alone: true},
		{kind: "Service", path: []string{"spec", "ports", "*", "port"}, why: key},
		{kind: "Service", path: []string{"spec", "ports", "*", "protocol"}, why: key},
	}
	for _, label := range []string{"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/created-by"} {
		list = append(list,
			protectedPath{path: []string{"metadata", "labels", label}, why: labels},
			protectedPath{kind: "Deployment", path: []string{"spec", "template", "metadata", "labels", label}, why: labels})
	}
	return list
}()

// protectedBy returns why a field can't be left to others: it is protected, holds what is,
// or is within it. nil means that it can be.
func protectedBy(kind string, path []string) *protectedPath {
	for i := range protectedPaths {
		p := &protectedPaths[i]
		if p.kind != "" && p.kind != kind || p.alone && len(path) < len(p.path) {
			continue
		}
		if samePath(p.path, path) {
			return p
		}
	}
	return nil
}

// samePath reports whether one of two paths is the beginning of the other.
func samePath(pattern, path []string) bool {
	for i := range min(len(pattern), len(path)) {
		if pattern[i] != "*" && pattern[i] != path[i] {
			return false
		}
	}
	return true
}

// How much spec.driftDetection may hold: the same as in the CustomResourceDefinition's
// markers.
const (
	maxIgnoreRules = 16
	maxIgnorePaths = 16
	maxIgnorePath  = 512
)

var driftModes = []DriftDetectionMode{DriftDetectionEnabled, DriftDetectionWarn, DriftDetectionDisabled}

func (d *DriftDetection) validate(at *field.Path) field.ErrorList {
	if d == nil {
		return nil
	}
	var errs field.ErrorList
	if d.Mode != "" && !slices.Contains(driftModes, d.Mode) {
		errs = append(errs, field.NotSupported(at.Child("mode"), DriftDetectionMode(shorten(string(d.Mode))), driftModes))
	}
	at = at.Child("ignore")
	if len(d.Ignore) > maxIgnoreRules {
		return append(errs, field.TooMany(at, len(d.Ignore), maxIgnoreRules))
	}
	for i := range d.Ignore {
		errs = append(errs, d.Ignore[i].validate(at.Index(i))...)
	}
	return errs
}

func (r *IgnoreRule) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	target := at.Child("target")
	known := slices.Contains(TargetKinds, r.Target.Kind)
	if !known {
		errs = append(errs, field.NotSupported(target.Child("kind"), shorten(r.Target.Kind), TargetKinds))
	}
	if long := validateLength(r.Target.Name, maxTargetName, target.Child("name")); len(long) > 0 {
		errs = append(errs, long...)
	} else if _, err := r.Target.NamePattern(); err != nil {
		errs = append(errs, field.Invalid(target.Child("name"), shorten(r.Target.Name), "must be the name of an object, or a regular expression for names"))
	}
	at = at.Child("paths")
	switch {
	case len(r.Paths) == 0:
		errs = append(errs, field.Required(at, `name the fields that are left to others, such as "/spec/replicas"`))
	case len(r.Paths) > maxIgnorePaths:
		return append(errs, field.TooMany(at, len(r.Paths), maxIgnorePaths))
	}
	for i, pointer := range r.Paths {
		if long := validateLength(pointer, maxIgnorePath, at.Index(i)); len(long) > 0 {
			errs = append(errs, long...)
			continue
		}
		path, err := parsePointer(pointer)
		if err != nil {
			errs = append(errs, field.Invalid(at.Index(i), shorten(pointer), err.Error()))
			continue
		}
		if p := protectedBy(r.Target.Kind, path); known && p != nil {
			errs = append(errs, field.Invalid(at.Index(i), shorten(pointer), fmt.Sprintf("must not be, hold or be within %s, which can't be left to others: %s", p.pointer(), p.why)))
		}
	}
	return errs
}

// pointer gives a path as people write it.
func (p *protectedPath) pointer() string {
	var b strings.Builder
	for _, part := range p.path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}

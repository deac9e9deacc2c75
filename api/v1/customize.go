package v1

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// How much spec.commonMetadata and spec.patches may hold: the same as in the
// CustomResourceDefinition's markers, but for the annotations together.
const (
	maxCommonKeys       = 64
	maxAnnotationsBytes = 65536
	maxPatches          = 32
	maxPatchText        = 32768
	maxTargetName       = 253
)

// reservedKeys are labels and annotations that have a meaning to what makes the objects,
// or to what reads them: the selector, kubectl's and the Deployment controller's notes.
var reservedKeys = []string{
	"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/created-by",
	"pod-template-hash", "kubectl.kubernetes.io/last-applied-configuration",
}

// reservedGroups are groups of such keys: ours, kustomize's and kpt's, with which an
// object would be left out or merged, and the Deployment controller's.
var reservedGroups = []string{
	GroupVersion.Group, "config.kubernetes.io", "internal.config.kubernetes.io", "config.k8s.io",
	"kustomize.config.k8s.io", "deployment.kubernetes.io",
}

// reservedLabelGroups are groups of labels by which Flux says what it has applied. Its
// annotations aren't reserved: they are wishes to it, such as not to replace variables.
var reservedLabelGroups = []string{"kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"}

// IsReservedLabel reports whether neither spec.commonMetadata nor a patch may set a label.
func IsReservedLabel(key string) bool {
	group, _, _ := strings.Cut(key, "/")
	return IsReservedKey(key) || slices.Contains(reservedLabelGroups, group) && group != key
}

// IsReservedKey reports whether neither spec.commonMetadata nor a patch may set a label or
// an annotation.
func IsReservedKey(key string) bool {
	group, _, _ := strings.Cut(key, "/")
	return slices.Contains(reservedKeys, key) || slices.Contains(reservedGroups, group) && group != key
}

func (c *CommonMetadata) validate(at *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	errs := validateKeys(c.Labels, at.Child("labels"), IsReservedLabel)
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		for _, msg := range validation.IsValidLabelValue(c.Labels[key]) {
			errs = append(errs, field.Invalid(at.Child("labels").Key(shorten(key)), shorten(c.Labels[key]), msg))
		}
	}
	at = at.Child("annotations")
	errs = append(errs, validateKeys(c.Annotations, at, IsReservedKey)...)
	total := 0
	for key, value := range c.Annotations {
		total += len(key) + len(value)
	}
	if total > maxAnnotationsBytes {
		errs = append(errs, field.TooLong(at, "", maxAnnotationsBytes))
	}
	return errs
}

// validateKeys checks the keys of labels or annotations.
func validateKeys(entries map[string]string, at *field.Path, reserved func(string) bool) field.ErrorList {
	var errs field.ErrorList
	if len(entries) > maxCommonKeys {
		errs = append(errs, tooMany(at, len(entries), maxCommonKeys, "drop some"))
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if reserved(key) {
			errs = append(errs, field.Forbidden(at.Key(key), "the key is reserved: use one of your own, such as example.com/team"))
		}
		for _, msg := range validation.IsQualifiedName(strings.ToLower(key)) {
			errs = append(errs, field.Invalid(at.Key(shorten(key)), shorten(key), msg))
		}
	}
	return errs
}

func validatePatches(patches []Patch, at *field.Path) field.ErrorList {
	if len(patches) > maxPatches {
		return field.ErrorList{tooMany(at, len(patches), maxPatches, "make one of several")}
	}
	var errs field.ErrorList
	for i := range patches {
		errs = append(errs, patches[i].validate(at.Index(i))...)
	}
	return errs
}

// TargetKinds are the kinds of what is generated.
var TargetKinds = []string{"ConfigMap", "Deployment", "Service"}

func (p *Patch) validate(at *field.Path) field.ErrorList {
	errs := validateLength(p.Patch, maxPatchText, at.Child("patch"))
	if strings.TrimSpace(p.Patch) == "" {
		errs = append(errs, field.Required(at.Child("patch"), "write a strategic merge patch or a JSON patch, or drop the entry"))
	}
	if p.Target == nil {
		return errs
	}
	at = at.Child("target")
	if !slices.Contains(TargetKinds, p.Target.Kind) {
		errs = append(errs, field.NotSupported(at.Child("kind"), shorten(p.Target.Kind), TargetKinds))
	}
	errs = append(errs, validateLength(p.Target.Name, maxTargetName, at.Child("name"))...)
	if len(errs) == 0 {
		if _, err := p.Target.NamePattern(); err != nil {
			errs = append(errs, field.Invalid(at.Child("name"), shorten(p.Target.Name), fmt.Sprintf("is no regular expression: %v", err)))
		}
	}
	return errs
}

// NamePattern matches the names that a target is for: as in kustomize, its name is a
// regular expression for the whole of them.
func (t *PatchTarget) NamePattern() (*regexp.Regexp, error) {
	return regexp.Compile("^(?:" + cmp.Or(t.Name, ".*") + ")$")
}

// Selects reports whether a target is for a generated object.
func (t *PatchTarget) Selects(kind, name string) bool {
	if t.Kind != kind || t.Name == "" {
		return t.Kind == kind
	}
	pattern, err := t.NamePattern()
	return err == nil && pattern.MatchString(name)
}

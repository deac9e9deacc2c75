package v1

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MaxNameLength is the most characters that a view's name may have: viewer-<name>
// names a Service, whose name is a DNS label.
const MaxNameLength = validation.DNS1123LabelMaxLength - len("viewer-")

// MaxReplicas is the most viewer pods that a view may ask for.
const MaxReplicas = 1000

// maxDuration is the longest interval and timeout.
const maxDuration = 24 * time.Hour

// How much a spec may hold: the same as in the CustomResourceDefinition's markers.
const (
	maxMarkdowns   = 1000
	maxContentFrom = 64
	maxImage       = 1024
	maxPath        = 1024
	maxIgnore      = 65536
)

// Validate checks the rules that need nothing but the object itself. The rest,
// which needs the pages, is checked by the generator. An empty list means that
// the view is valid.
func (v *MarkdownView) Validate() field.ErrorList {
	errs := validateName(v.Name, field.NewPath("metadata", "name"))
	if v.Namespace != "" {
		for _, msg := range validation.IsDNS1123Label(v.Namespace) {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "namespace"), shorten(v.Namespace), msg))
		}
	}
	return append(errs, v.Spec.validate(field.NewPath("spec"))...)
}

func validateName(name string, at *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(at, "name the view: its objects are called markdowns-<name> and viewer-<name>")}
	}
	if len(name) > MaxNameLength {
		return field.ErrorList{field.TooLong(at, name, MaxNameLength)}
	}
	var errs field.ErrorList
	for _, msg := range validation.IsDNS1123Label(name) {
		errs = append(errs, field.Invalid(at, name, msg))
	}
	return errs
}

func (s *MarkdownViewSpec) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(s.Markdowns) == 0 && len(s.ContentFrom) == 0 {
		errs = append(errs, field.Required(at, "no pages: set markdowns, contentFrom or both"))
	}
	if len(s.Markdowns) > maxMarkdowns {
		errs = append(errs, tooMany(at.Child("markdowns"), len(s.Markdowns), maxMarkdowns, "put others into ConfigMaps or a folder, which contentFrom names"))
	}
	if len(s.ContentFrom) > maxContentFrom {
		return append(errs, tooMany(at.Child("contentFrom"), len(s.ContentFrom), maxContentFrom, "put the pages of several into one"))
	}
	for _, p := range slices.Sorted(maps.Keys(s.Markdowns)) {
		if err := ValidatePagePath(p); err != nil {
			errs = append(errs, field.Invalid(at.Child("markdowns"), shorten(p), err.Error()))
		}
	}
	for i := range s.ContentFrom {
		errs = append(errs, s.ContentFrom[i].validate(at.Child("contentFrom").Index(i))...)
	}
	if s.Replicas != nil && *s.Replicas > MaxReplicas {
		errs = append(errs, field.Invalid(at.Child("replicas"), *s.Replicas, fmt.Sprintf("must be at most %d", MaxReplicas)))
	}
	if s.Replicas != nil && *s.Replicas < 0 {
		errs = append(errs, field.Invalid(at.Child("replicas"), *s.Replicas, "must be 0 or more"))
	}
	errs = append(errs, validateDuration(s.Interval, at.Child("interval"))...)
	errs = append(errs, validateDuration(s.Timeout, at.Child("timeout"))...)
	errs = append(errs, validateImage(s.ViewerImage, at.Child("viewerImage"))...)
	if s.StaticServer != nil {
		errs = append(errs, validateImage(s.StaticServer.Image, at.Child("staticServer", "image"))...)
	}
	if s.ServiceAccountName != "" {
		for _, msg := range validation.IsDNS1123Subdomain(s.ServiceAccountName) {
			errs = append(errs, field.Invalid(at.Child("serviceAccountName"), shorten(s.ServiceAccountName), msg))
		}
	}
	errs = append(errs, s.CommonMetadata.validate(at.Child("commonMetadata"))...)
	errs = append(errs, validatePatches(s.Patches, at.Child("patches"))...)
	return append(errs, s.DriftDetection.validate(at.Child("driftDetection"))...)
}

func validateImage(image string, at *field.Path) field.ErrorList {
	errs := validateLength(image, maxImage, at)
	if strings.ContainsFunc(image, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		errs = append(errs, field.Invalid(at, shorten(image), "must not contain white space"))
	}
	return errs
}

// tooMany says also what to do.
func tooMany(at *field.Path, has, most int, remedy string) *field.Error {
	err := field.TooMany(at, has, most)
	err.Detail += ": " + remedy
	return err
}

// validateLength counts characters, as the CustomResourceDefinition does.
func validateLength(s string, most int, at *field.Path) field.ErrorList {
	if utf8.RuneCountInString(s) <= most {
		return nil
	}
	return field.ErrorList{field.TooLongCharacters(at, "", most)}
}

func validateDuration(duration *metav1.Duration, at *field.Path) field.ErrorList {
	switch {
	case duration == nil:
		return nil
	case duration.Duration < time.Second:
		return field.ErrorList{field.Invalid(at, written(duration.Duration), "must be at least 1s")}
	case duration.Duration > maxDuration:
		return field.ErrorList{field.Invalid(at, written(duration.Duration), "must be at most 24h")}
	}
	return nil
}

// written gives a duration as people write it: -5m, not -5m0s.
func written(duration time.Duration) string {
	text := duration.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func (c *ContentSource) validate(at *field.Path) field.ErrorList {
	var set []string
	if c.ConfigMapRef != nil {
		set = append(set, "configMapRef")
	}
	if c.Directory != nil {
		set = append(set, "directory")
	}
	if c.SourceRef != nil {
		set = append(set, "sourceRef")
	}
	switch len(set) {
	case 0:
		return field.ErrorList{field.Required(at, "set exactly one of configMapRef, directory and sourceRef")}
	case 1:
	default:
		return field.ErrorList{field.Forbidden(at, fmt.Sprintf("%s are set: set exactly one, and add an entry for the other", strings.Join(set, " and ")))}
	}
	switch {
	case c.ConfigMapRef != nil:
		return c.ConfigMapRef.validate(at.Child("configMapRef"))
	case c.SourceRef != nil:
		return c.SourceRef.validate(at.Child("sourceRef"))
	}
	return c.Directory.validate(at.Child("directory"))
}

func (c *ConfigMapSource) validate(at *field.Path) field.ErrorList {
	if c.Name == "" {
		return field.ErrorList{field.Required(at.Child("name"), "name the ConfigMap that holds the pages")}
	}
	var errs field.ErrorList
	for _, msg := range validation.IsDNS1123Subdomain(c.Name) {
		errs = append(errs, field.Invalid(at.Child("name"), shorten(c.Name), msg))
	}
	return errs
}

func (d *DirectorySource) validate(at *field.Path) field.ErrorList {
	errs := validateLength(d.Ignore, maxIgnore, at.Child("ignore"))
	at = at.Child("path")
	errs = append(errs, validateLength(d.Path, maxPath, at)...)
	switch {
	case d.Path == "":
		errs = append(errs, field.Required(at, `name the folder that holds the pages, such as "./docs"`))
	case path.IsAbs(d.Path):
		errs = append(errs, field.Invalid(at, shorten(d.Path), "must be relative to the working directory"))
	case hasElement(path.Clean(d.Path), ".."):
		errs = append(errs, field.Invalid(at, shorten(d.Path), "must stay below the working directory"))
	case strings.ContainsRune(d.Path, 0):
		errs = append(errs, field.Invalid(at, shorten(d.Path), "must not contain a NUL character"))
	}
	return errs
}

func (s *SourceReference) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	kinds := []string{GitRepositoryKind, OCIRepositoryKind, BucketKind, ExternalArtifactKind}
	if !slices.Contains(kinds, s.Kind) {
		errs = append(errs, field.NotSupported(at.Child("kind"), shorten(s.Kind), kinds))
	}
	if s.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), "name the source that holds the pages"))
	} else {
		for _, msg := range validation.IsDNS1123Subdomain(s.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), shorten(s.Name), msg))
		}
	}
	if s.Namespace != "" {
		for _, msg := range validation.IsDNS1123Label(s.Namespace) {
			errs = append(errs, field.Invalid(at.Child("namespace"), shorten(s.Namespace), msg))
		}
	}
	at = at.Child("path")
	errs = append(errs, validateLength(s.Path, maxPath, at)...)
	switch {
	case path.IsAbs(s.Path):
		errs = append(errs, field.Invalid(at, shorten(s.Path), "must be relative to the artifact's root"))
	case s.Path != "" && hasElement(path.Clean(s.Path), ".."):
		errs = append(errs, field.Invalid(at, shorten(s.Path), "must stay below the artifact's root"))
	case strings.ContainsRune(s.Path, 0):
		errs = append(errs, field.Invalid(at, shorten(s.Path), "must not contain a NUL character"))
	}
	return errs
}

// shorten keeps a hostile value from flooding an error message.
func shorten(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

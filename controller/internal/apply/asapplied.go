package apply

import (
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// To extract what our field manager owns costs more than all else that is done about an
// object. Right after an apply that isn't needed: what was applied is ours then, and whether
// it is there can be read off the answer.

// isAsApplied reports whether the child is known to be as wanted: we have just applied what
// was new to it, all of that is there, and nobody else has set a field of it.
func (s *situation) isAsApplied() bool {
	if !s.done.applied || s.last.desired == s.digest || s.mode != v1.DriftDetectionEnabled || s.patched != nil || s.ignored != nil {
		return false
	}
	for _, entry := range s.live.GetManagedFields() {
		if entry.Subresource == "" && !isOurs(&entry) {
			return false
		}
	}
	if s.unwanted != nil && (drift{unwanted: s.unwanted()}).hasUnwanted() {
		return false
	}
	return hasAll(reflect.ValueOf(s.live), reflect.ValueOf(s.comparedDesired()))
}

// asApplied is the fingerprint of a child that is as wanted: what is ours is what is wanted.
func (c *child) asApplied(at time.Time) fingerprint {
	return fingerprint{desired: c.digest, owned: c.digest, live: liveDigest(c.live), at: at}
}

// hasAll reports whether an object has all that an apply configuration sets: the fields of
// both have the same names. It may deny what differs only in how it is represented.
func hasAll(object, configuration reflect.Value) bool {
	if configuration.Kind() == reflect.Pointer {
		if configuration.IsNil() {
			return true
		}
		configuration = configuration.Elem()
	}
	if object.Kind() == reflect.Pointer {
		if object.IsNil() {
			return false
		}
		object = object.Elem()
	}
	switch {
	case configuration.Type() == object.Type() && configuration.Kind() != reflect.Map && configuration.Kind() != reflect.Slice:
		return equality.Semantic.DeepEqual(object.Interface(), configuration.Interface())
	case configuration.Kind() != object.Kind():
		return false
	}
	switch configuration.Kind() {
	case reflect.Struct:
		return hasAllFields(object, configuration)
	case reflect.Slice:
		// One that is empty isn't sent: others may set it, as the API server does a Service's addresses.
		same := configuration.Len() == 0 || object.Len() == configuration.Len()
		for i := 0; same && i < configuration.Len(); i++ {
			same = hasAll(object.Index(i), configuration.Index(i))
		}
		return same
	case reflect.Map:
		for entries := configuration.MapRange(); entries.Next(); {
			if value := object.MapIndex(entries.Key()); !value.IsValid() || !hasAll(value, entries.Value()) {
				return false
			}
		}
		return true
	}
	return false
}

func hasAllFields(object, configuration reflect.Value) bool {
	for i := range configuration.NumField() {
		wanted := configuration.Field(i)
		if wanted.Kind() != reflect.Struct && wanted.IsZero() {
			continue // most are: looking for a field by its name takes longest
		}
		name := strings.TrimSuffix(configuration.Type().Field(i).Name, "ApplyConfiguration")
		if name == "TypeMeta" {
			continue // it isn't in what is decoded
		}
		if field := object.FieldByName(name); !field.IsValid() || !hasAll(field, wanted) {
			return false
		}
	}
	return true
}

package apply

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wI2L/jsondiff"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// drift is how an object differs from what is wanted.
type drift struct {
	// fields are JSON pointers of what our field manager owns and that isn't as
	// wanted, or that it should own and doesn't, or the reverse.
	fields []string
	// unwanted are keys of maps that nobody but us may add to, by field.
	unwanted map[string][]string
}

func (d drift) none() bool {
	return len(d.fields) == 0 && !d.hasUnwanted()
}

func (d drift) hasUnwanted() bool {
	for _, keys := range d.unwanted {
		if len(keys) > 0 {
			return true
		}
	}
	return false
}

// touches reports whether one of the fields is what a JSON pointer leads to, or is in it, or
// the reverse.
func (d drift) touches(pointer string) bool {
	return slices.ContainsFunc(d.fields, func(field string) bool { return leadsInto(pointer, field) || leadsInto(field, pointer) })
}

// leadsInto reports whether a field is what a JSON pointer leads to, or in it.
func leadsInto(pointer, field string) bool {
	return pointer == "/" || strings.HasPrefix(field+"/", pointer+"/")
}

// add adds what was found later.
func (d *drift) add(more drift) {
	d.fields = append(d.fields, more.fields...)
	for field, keys := range more.unwanted {
		if d.unwanted == nil {
			d.unwanted = map[string][]string{}
		}
		d.unwanted[field] = append(d.unwanted[field], keys...)
	}
}

// subtract removes the fields of what is left.
func (d *drift) subtract(left drift) {
	d.fields = slices.DeleteFunc(d.fields, func(field string) bool { return slices.Contains(left.fields, field) })
}

// String lists the fields, at most a handful.
func (d drift) String() string {
	const most = 5
	list := slices.Clone(d.fields)
	for field, keys := range d.unwanted {
		for _, key := range keys {
			list = append(list, "/"+field+"/"+key)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// drift compares the live object with what is wanted. It costs no request: what
// our field manager owns can be read off the object's managed fields.
func (c *child) drift() (drift, error) {
	compared, err := c.compare()
	if err != nil {
		return drift{}, err
	}
	var found drift
	if c.unwanted != nil {
		found.unwanted = c.unwanted()
	}
	if found.fields, err = fieldsBetween(compared.owned, compared.desired); err != nil {
		return drift{}, fmt.Errorf("compare %s: %w", c, err)
	}
	return found, nil
}

// fieldsBetween lists JSON pointers of the fields in which what is owned differs from what
// is wanted.
func fieldsBetween(owned, desired map[string]any) ([]string, error) {
	if equality.Semantic.DeepEqual(desired, owned) {
		return nil, nil
	}
	patch, err := jsondiff.Compare(owned, desired)
	if err != nil {
		return nil, err
	}
	var fields []string
	for _, operation := range patch {
		fields = append(fields, cmp.Or(operation.Path, "/"))
	}
	return fields, nil
}

// comparison holds the fields that are wanted and those that our field manager owns in
// one version of the live object.
type comparison struct {
	version        string
	desired, owned map[string]any
	// extracted is what is owned, as it was read.
	extracted any
}

// compare returns the comparison with the live object as it is now.
func (c *child) compare() (comparison, error) {
	version := c.live.GetResourceVersion()
	if c.compared.version == version && version != "" {
		return c.compared, nil
	}
	extracted, err := c.extract()
	if err != nil {
		return comparison{}, fmt.Errorf("read the managed fields of %s: %w", c, err)
	}
	owned, err := fieldsOf(extracted)
	if err != nil {
		return comparison{}, err
	}
	desired, err := fieldsOf(c.comparedDesired())
	if err != nil {
		return comparison{}, err
	}
	dropLastApplied(owned)
	dropLastApplied(desired)
	if c.patched != nil {
		addDefaults(desired)
	}
	if c.patched != nil && hasEmpty(desired) {
		if err := c.dropFilled(desired, owned); err != nil {
			return comparison{}, err
		}
	}
	c.compared = comparison{version: version, desired: desired, owned: owned, extracted: extracted}
	return c.compared, nil
}

// fieldsOf gives an apply configuration as the fields that it sets.
func fieldsOf(configuration any) (map[string]any, error) {
	set, err := runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", configuration, err)
	}
	return set, nil
}

// dropLastApplied removes what is no drift: see keepLastApplied.
func dropLastApplied(owned map[string]any) {
	annotations, found, err := unstructured.NestedMap(owned, "metadata", "annotations")
	if err != nil || !found {
		return
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if len(annotations) == 0 {
		unstructured.RemoveNestedField(owned, "metadata", "annotations")
		return
	}
	_ = unstructured.SetNestedMap(owned, annotations, "metadata", "annotations") // it was read from there
}

func sortedKeys[V any](fields map[string]V) []string {
	return slices.Sorted(maps.Keys(fields))
}

// keysBeside returns the keys of live that desired lacks, sorted.
func keysBeside[V any](live, desired map[string]V) []string {
	var keys []string
	for key := range live {
		if _, wanted := desired[key]; !wanted {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

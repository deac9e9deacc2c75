package reconciler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wI2L/jsondiff"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// drift is how an object differs from what is wanted.
type drift struct {
	// fields are JSON pointers of what our field manager owns and that isn't as
	// wanted, or that it should own and doesn't, or the reverse.
	fields []string
	// foreign are keys of maps that nobody but us may add to, by field.
	foreign map[string][]string
}

func (d drift) none() bool {
	return len(d.fields) == 0 && !d.hasForeign()
}

func (d drift) hasForeign() bool {
	for _, keys := range d.foreign {
		if len(keys) > 0 {
			return true
		}
	}
	return false
}

// add adds what was found later, of fields.
func (d *drift) add(more drift) {
	d.fields = append(d.fields, more.fields...)
}

// subtract removes the fields of what is left.
func (d *drift) subtract(left drift) {
	d.fields = slices.DeleteFunc(d.fields, func(field string) bool { return slices.Contains(left.fields, field) })
}

// String lists the fields, at most a handful.
func (d drift) String() string {
	const most = 5
	list := slices.Clone(d.fields)
	for field, keys := range d.foreign {
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
	desired, owned, err := c.compared()
	if err != nil {
		return drift{}, err
	}
	var found drift
	if c.foreign != nil {
		found.foreign = c.foreign()
	}
	if equality.Semantic.DeepEqual(desired, owned) {
		return found, nil
	}
	patch, err := jsondiff.Compare(owned, desired)
	if err != nil {
		return drift{}, fmt.Errorf("compare %s: %w", c, err)
	}
	for _, operation := range patch {
		found.fields = append(found.fields, cmp.Or(operation.Path, "/"))
	}
	return found, nil
}

// compared returns the fields that are wanted and those that our field manager owns.
func (c *child) compared() (desired, owned map[string]any, err error) {
	if version := c.live.GetResourceVersion(); c.comparison.version != version || version == "" {
		if c.comparison.desired, c.comparison.owned, err = c.compare(); err != nil {
			return nil, nil, err
		}
		c.comparison.version = version
	}
	return c.comparison.desired, c.comparison.owned, nil
}

func (c *child) compare() (desired, owned map[string]any, err error) {
	extracted, err := c.owned()
	if err != nil {
		return nil, nil, fmt.Errorf("read the managed fields of %s: %w", c, err)
	}
	if owned, err = fields(extracted); err != nil {
		return nil, nil, err
	}
	if desired, err = fields(c.desired); err != nil {
		return nil, nil, err
	}
	dropLastApplied(owned)
	dropLastApplied(desired)
	return desired, owned, nil
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

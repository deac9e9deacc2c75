package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/fluxcd/pkg/ssa"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// ignored is what of an object a view leaves to others: its fields are neither applied nor
// compared, and given up, as they are, if they are ours.
type ignored struct {
	// paths are JSON pointers, in their unescaped parts.
	paths [][]string
	// generated are the fields of the object with those that are ignored: the entries of
	// its lists are what numbers in paths count.
	generated map[string]any
}

// withoutIgnored returns what is wanted of an object without what the view leaves to
// others.
func withoutIgnored(view *v1.MarkdownView, desired Desired) (Desired, error) {
	paths := view.IgnoredPaths(desired.Kind, desired.Name)
	if len(paths) == 0 {
		return desired, nil
	}
	generated, err := fieldsOf(desired.child().desired)
	if err != nil {
		return Desired{}, err
	}
	left, _ := without(generated, paths)
	reduced, err := desired.with(left)
	if err != nil {
		return Desired{}, err
	}
	if desired.patched != nil {
		patched, _ := without(desired.patched, paths)
		reduced.patched, _ = patched.(map[string]any)
	}
	if err := reduced.seal(); err != nil {
		return Desired{}, err
	}
	reduced.ignored = &ignored{paths: paths, generated: generated}
	return reduced, nil
}

// allWithoutIgnored returns what is wanted without what the view leaves to others.
func allWithoutIgnored(view *v1.MarkdownView, desired []Desired) ([]Desired, error) {
	desired = slices.Clone(desired)
	for i := range desired {
		var err error
		if desired[i], err = withoutIgnored(view, desired[i]); err != nil {
			return nil, err
		}
	}
	return desired, nil
}

// with returns the same object with other fields.
func (d Desired) with(fields any) (Desired, error) {
	var changed Desired
	set, _ := fields.(map[string]any)
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	var err error
	switch d.Kind {
	case "ConfigMap":
		configuration := &corev1ac.ConfigMapApplyConfiguration{}
		err = convert(set, configuration)
		changed = desiredConfigMap(configuration)
	case "Deployment":
		configuration := &appsv1ac.DeploymentApplyConfiguration{}
		err = convert(set, configuration)
		changed = desiredDeployment(configuration)
	case "Service":
		configuration := &corev1ac.ServiceApplyConfiguration{}
		err = convert(set, configuration)
		changed = desiredService(configuration)
	}
	if err != nil {
		return Desired{}, fmt.Errorf("convert %s %s: %w", d.Kind, d.Name, err)
	}
	changed.partial, changed.unremembered, changed.asked = d.partial, d.unremembered, d.asked
	changed.fixed = d.fixed
	return changed, nil
}

// without returns a copy of a value that lacks what paths lead to, and what holds nothing
// any more then; false if that is all of it.
func without(value any, paths [][]string) (any, bool) {
	if slices.ContainsFunc(paths, func(path []string) bool { return len(path) == 0 }) {
		return nil, false
	}
	switch value := value.(type) {
	case map[string]any:
		left := make(map[string]any, len(value))
		for field, v := range value {
			if v, some := without(v, below(paths, field)); some {
				left[field] = v
			}
		}
		if len(left) > 0 || len(value) == 0 {
			return left, true
		}
	case []any:
		left := make([]any, 0, len(value))
		for i, v := range value {
			if v, some := without(v, below(paths, strconv.Itoa(i))); some {
				left = append(left, v)
			}
		}
		if len(left) > 0 || len(value) == 0 {
			return left, true
		}
	default:
		return value, true
	}
	return nil, false
}

// below returns what is left of the paths that lead into a field or an entry.
func below(paths [][]string, part string) [][]string {
	var left [][]string
	for _, path := range paths {
		if len(path) > 0 && path[0] == part {
			left = append(left, path[1:])
		}
	}
	return left
}

// split divides managed fields into those that are left and those that are ignored, nil if
// there are none.
func (i *ignored) split(fields *metav1.FieldsV1) (left, others *metav1.FieldsV1, err error) {
	if i == nil || fields == nil {
		return fields, nil, nil
	}
	var set map[string]any
	if err := json.Unmarshal(fields.GetRawBytes(), &set); err != nil {
		return nil, nil, fmt.Errorf("read managed fields: %w", err)
	}
	taken := take(set, i.paths, i.generated)
	if len(taken) == 0 {
		return fields, nil, nil
	}
	for value, fields := range map[*map[string]any]**metav1.FieldsV1{&set: &left, &taken: &others} {
		raw, err := json.Marshal(*value)
		if err != nil {
			return nil, nil, err
		}
		*fields = metav1.NewFieldsV1(string(raw))
	}
	return left, others, nil
}

// take takes what paths lead to out of managed fields, whose names begin with "f:", while
// entries of lists are "k:" and their keys, or "v:" and their value; generated tells which
// entry that is.
func take(set map[string]any, paths [][]string, generated any) (taken map[string]any) {
	if len(paths) == 0 {
		return nil
	}
	taken = map[string]any{}
	for name, inner := range set {
		part, value := generatedPart(name, generated)
		left := below(paths, part)
		if part == "" || len(left) == 0 {
			continue
		}
		fields, _ := inner.(map[string]any)
		if slices.ContainsFunc(left, func(path []string) bool { return len(path) == 0 }) {
			taken[name] = inner
			delete(set, name)
		} else if some := take(fields, left, value); len(some) > 0 {
			taken[name] = some
			if strings.HasPrefix(name, "f:") {
				delete(fields, ".") // or the rest of the map would go with it
			}
			if len(fields) == 0 {
				delete(set, name)
			}
		}
	}
	return taken
}

// generatedPart returns the part of a JSON pointer that stands for a name of managed
// fields, and what is generated there; "" if there is none.
func generatedPart(name string, generated any) (part string, value any) {
	kind, rest, _ := strings.Cut(name, ":")
	if kind == "f" {
		fields, _ := generated.(map[string]any)
		return rest, fields[rest]
	}
	var want any
	if kind != "k" && kind != "v" || json.Unmarshal([]byte(rest), &want) != nil {
		return "", nil
	}
	entries, _ := generated.([]any)
	for i, entry := range entries {
		if isEntry(entry, want) {
			return strconv.Itoa(i), entry
		}
	}
	return "", nil
}

// isEntry reports whether an entry of a list has these keys, or is this value. A key that
// it doesn't set has a default.
func isEntry(entry, want any) bool {
	keys, ok := want.(map[string]any)
	if !ok {
		return fmt.Sprint(entry) == fmt.Sprint(want)
	}
	fields, _ := entry.(map[string]any)
	matches := false
	for key, value := range keys {
		got, set := fields[key]
		if set && fmt.Sprint(got) != fmt.Sprint(value) {
			return false
		}
		matches = matches || set
	}
	return matches
}

// beside returns managed fields in which our field manager doesn't own what is ignored;
// false if they are so already.
func (i *ignored) beside(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, bool, error) {
	entries, changed := slices.Clone(entries), false
	for n := range entries {
		if !isOurs(&entries[n]) {
			continue
		}
		left, others, err := i.split(entries[n].FieldsV1)
		if err != nil {
			return nil, false, err
		}
		entries[n].FieldsV1, changed = left, changed || others != nil
	}
	return entries, changed, nil
}

// ownsIgnored reports whether our field manager owns something that is ignored. It has to
// be given up before the next apply: one without a field that nobody else owns would
// remove it, and the API server would put a default in its place: one replica, say, where
// an autoscaler wants seven.
func (c *child) ownsIgnored() (bool, error) {
	_, owns, err := c.ignored.beside(c.live.GetManagedFields())
	return owns, err
}

// giveUp returns the patch of an object's managed fields after which our field manager
// doesn't own any more what is ignored.
func (c *child) giveUp(fields []metav1.ManagedFieldsEntry) ([]ssa.JSONPatch, error) {
	entries, owns, err := c.ignored.beside(fields)
	if err != nil || !owns {
		return nil, err
	}
	return []ssa.JSONPatch{ssa.NewPatchReplace(managedFieldsPath, entries)}, nil
}

// takeOverFrom returns the patch of an object's managed fields that makes those of field
// managers ours, but for what is ignored, which stays theirs; nil if there is nothing else.
func (c *child) takeOverFrom(fields []metav1.ManagedFieldsEntry, managers []ssa.FieldManager) ([]ssa.JSONPatch, error) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetManagedFields(fields)
	patch, err := ssa.PatchReplaceFieldsManagers(object, managers, generator.FieldManager)
	if err != nil || patch == nil || c.ignored == nil {
		return patch, err
	}
	entries, _, err := c.ignored.beside(patch[0].Value)
	if err != nil {
		return nil, err
	}
	taken := false
	for _, entry := range fields {
		if !isOf(&entry, managers) {
			continue
		}
		left, others, err := c.ignored.split(entry.FieldsV1)
		if err != nil {
			return nil, err
		}
		taken = taken || others == nil || string(left.GetRawBytes()) != "{}"
		if others != nil {
			entry.FieldsV1 = others
			entries = append(entries, entry)
		}
	}
	if !taken {
		return nil, nil
	}
	return []ssa.JSONPatch{ssa.NewPatchReplace(managedFieldsPath, entries)}, nil
}

// isOf reports whether an entry of managed fields is that of one of some field managers.
func isOf(entry *metav1.ManagedFieldsEntry, managers []ssa.FieldManager) bool {
	return slices.ContainsFunc(managers, func(m ssa.FieldManager) bool {
		return m.Name == entry.Manager && m.OperationType == entry.Operation
	})
}

const managedFieldsPath = "/metadata/managedFields"

// extract returns what our field manager owns of the live object, but for what is ignored.
func (c *child) extract() (any, error) {
	if c.ignored == nil {
		return c.owned()
	}
	all := c.live.GetManagedFields()
	entries, _, err := c.ignored.beside(all)
	if err != nil {
		return nil, err
	}
	return c.ownedIf(entries)
}

// ownedIf returns what our field manager would own of the live object with these managed
// fields.
func (c *child) ownedIf(entries []metav1.ManagedFieldsEntry) (any, error) {
	all := c.live.GetManagedFields()
	c.live.SetManagedFields(entries)
	defer c.live.SetManagedFields(all)
	return c.owned()
}

// ignoredPointers lists what is ignored, for people.
func (c *child) ignoredPointers() string {
	pointers := make([]string, 0, len(c.ignored.paths))
	for _, path := range c.ignored.paths {
		var pointer strings.Builder
		for _, part := range path {
			pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
		}
		pointers = append(pointers, pointer.String())
	}
	return strings.Join(pointers, ", ")
}

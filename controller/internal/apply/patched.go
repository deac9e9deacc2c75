package apply

import (
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// A patched object is sent as the patch has it, because an apply configuration holds only
// what client-go's types know: a newer API server may know more. It is compared as an
// apply configuration all the same, which spells values as the API server does. What that
// lacks is compared by digests: see situation.drift.

// body returns what is sent of a child, for this version of the object, or for any if it
// is empty.
func (c *child) body(uid types.UID, version string) (any, error) {
	configuration := atVersion(c.desired, uid, version)
	if c.patched == nil {
		return configuration, nil
	}
	known, err := fieldsOf(configuration)
	if err != nil {
		return nil, err
	}
	body := maps.Clone(c.patched)
	body["metadata"] = known["metadata"]
	return body, nil
}

// drift compares the live object with what is wanted, also in what client-go's types don't
// know: that is as wanted if it was applied, and if our field manager owns the same since.
func (s *situation) drift() (drift, error) {
	found, err := s.child.drift()
	if err != nil || len(s.unknown) == 0 || s.done.applied {
		return found, err
	}
	now, err := s.fingerprint(s.last.at)
	if err != nil {
		return drift{}, err
	}
	if s.last.desired != now.desired || s.last.owned != now.owned {
		found.fields = append(found.fields, s.unknown...)
	}
	return found, nil
}

// unknownFields lists JSON pointers of what an apply configuration lacks of an object.
func unknownFields(patched map[string]any, configuration any) ([]string, error) {
	known, err := fieldsOf(configuration)
	if err != nil {
		return nil, err
	}
	var unknown []string
	for _, field := range sortedKeys(patched) {
		if field != "metadata" {
			appendUnknown(&unknown, "/"+field, patched[field], known[field])
		}
	}
	return unknown, nil
}

// appendUnknown looks below a JSON pointer. What is empty says nothing: an apply
// configuration leaves it out.
func appendUnknown(unknown *[]string, pointer string, value, known any) {
	switch value := value.(type) {
	case map[string]any:
		if fields, ok := known.(map[string]any); ok {
			for _, field := range sortedKeys(value) {
				appendUnknown(unknown, pointer+"/"+escapePointer(field), value[field], fields[field])
			}
			return
		}
		if len(value) == 0 {
			return
		}
	case []any:
		if list, ok := known.([]any); ok && len(list) == len(value) {
			for i := range value {
				appendUnknown(unknown, fmt.Sprintf("%s/%d", pointer, i), value[i], list[i])
			}
			return
		}
		if len(value) == 0 {
			return
		}
	}
	if known == nil {
		*unknown = append(*unknown, pointer)
	}
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1").Replace

// managedFields is what the API server notes that our field manager has applied.
func managedFields(live client.Object) string {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == generator.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" && entry.FieldsV1 != nil {
			return entry.FieldsV1.String()
		}
	}
	return ""
}

// fixesReplicas reports whether a patch decides how many replicas there are.
func fixesReplicas(view *v1.MarkdownView, output *generator.Output) bool {
	if output.PatchedDeployment == nil {
		return false
	}
	spec := output.Deployment.Spec
	return spec == nil || spec.Replicas == nil || view.Spec.Replicas == nil || *spec.Replicas != *view.Spec.Replicas
}

// mayFixReplicas is the same where it isn't known what was applied: then the patches of
// now tell, if anything can be told by them.
func mayFixReplicas(view *v1.MarkdownView) bool {
	if len(view.Spec.Patches) == 0 {
		return false
	}
	output, err := withAnyPages(view)
	return err != nil || fixesReplicas(view, output)
}

// withReplicas returns a patched Deployment with another number of replicas.
func withReplicas(patched map[string]any, replicas int32) map[string]any {
	if patched == nil {
		return nil
	}
	// Copies: it is used again.
	patched = maps.Clone(patched)
	spec, _ := patched["spec"].(map[string]any)
	spec = maps.Clone(spec)
	spec["replicas"] = int64(replicas)
	patched["spec"] = spec
	return patched
}

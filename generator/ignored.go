package generator

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// checkIgnored holds spec.driftDetection.ignore against what is generated. The rules are
// the controller's and change nothing here, but whoever writes them wants to know also at
// build time whether they mean anything.
func checkIgnored(view *v1.MarkdownView, output *Output) (diagnostic.List, error) {
	if view.Spec.DriftDetection == nil {
		return nil, nil
	}
	var found diagnostic.List
	say := func(severity diagnostic.Severity, at *field.Path, format string, args ...any) {
		found = append(found, Problem{Severity: severity, Field: at.String(), Message: fmt.Sprintf(format, args...)})
	}
	for i := range view.Spec.DriftDetection.Ignore {
		rule := &view.Spec.DriftDetection.Ignore[i]
		at := field.NewPath("spec", "driftDetection", "ignore").Index(i)
		objects, err := targets(&rule.Target, output)
		if err != nil {
			return nil, err
		}
		if len(objects) == 0 {
			say(diagnostic.Warning, at.Child("target"), "no %s of the name %q is generated: the rule means nothing", rule.Target.Kind, rule.Target.Name)
			continue
		}
		for n, pointer := range rule.Paths {
			at := at.Child("paths").Index(n)
			met, whole := false, false
			for _, object := range objects {
				m, w := look(object, v1.PointerParts(pointer), "")
				met, whole = met || m, whole || w
			}
			switch {
			case whole:
				say(diagnostic.Error, at, "%s is within what the API server knows only as a whole, so that no part of it can be left to others: name the whole of it", pointer)
			case !met:
				say(diagnostic.Warning, at, "%s isn't generated, and is left to others anyway: drop it, unless somebody sets it with kubectl edit, patch or replace", pointer)
			}
		}
	}
	return found, nil
}

// targets returns the fields of the generated objects that a target selects.
func targets(target *v1.PatchTarget, output *Output) ([]map[string]any, error) {
	var selected []any
	for _, configMap := range output.ConfigMaps {
		if target.Selects("ConfigMap", *configMap.Name) {
			selected = append(selected, configMap)
		}
	}
	if target.Selects("Deployment", *output.Deployment.Name) {
		selected = append(selected, object(output.Deployment, output.PatchedDeployment))
	}
	if target.Selects("Service", *output.Service.Name) {
		selected = append(selected, object(output.Service, output.PatchedService))
	}
	objects := make([]map[string]any, 0, len(selected))
	for _, object := range selected {
		if fields, patched := object.(map[string]any); patched {
			objects = append(objects, fields)
			continue
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, fmt.Errorf("convert %T: %w", object, err)
		}
		objects = append(objects, fields)
	}
	return objects, nil
}

// keyedLists are the lists of generated objects whose entries have a key, so that server-side
// apply tells them apart, and wholeMaps the maps that it knows only as a whole.
var (
	keyedLists = []string{"containers", "env", "hostAliases", "imagePullSecrets", "initContainers", "ports", "resizePolicy", "topologySpreadConstraints", "volumeDevices", "volumeMounts", "volumes"}
	wholeMaps  = []string{"nodeSelector"}
)

// look reports whether a path leads to something of a value, which is the field of a name;
// or into a list or a map that can only be owned as a whole.
func look(value any, path []string, name string) (met, whole bool) {
	if len(path) == 0 {
		return true, false
	}
	switch value := value.(type) {
	case map[string]any:
		if slices.Contains(wholeMaps, name) {
			return true, true
		}
		inner, there := value[path[0]]
		if !there {
			return false, false
		}
		return look(inner, path[1:], path[0])
	case []any:
		if !slices.Contains(keyedLists, name) {
			return true, true
		}
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(value) && strconv.Itoa(i) == path[0] {
			return look(value[i], path[1:], "")
		}
	}
	return false, false
}

package generator

import (
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/patch"
)

// patchable is a generated object on its way through the patches.
type patchable struct {
	apiVersion, kind, name string
	// fields are all of it, but for the pages of a ConfigMap; nil until a patch needs
	// them.
	fields map[string]any
	// read returns the fields as they were generated.
	read func() (map[string]any, error)
	// guard returns an error unless a patch leaves what the view promises.
	guard func(before, after map[string]any) error
	// write puts the patched fields into the output.
	write func(fields map[string]any) error
}

// applyPatches has the view's patches change the output, one after the other. A faulty
// one changes nothing.
func (o *Output) applyPatches(view *v1.MarkdownView) diagnostic.List {
	if len(view.Spec.Patches) == 0 {
		return nil
	}
	var problems diagnostic.List
	objects, budget := o.patchables(), patch.NewBudget()
	for i := range view.Spec.Patches {
		if err := applyPatch(objects, &view.Spec.Patches[i], budget); err != nil {
			problems = append(problems, Problem{Field: fmt.Sprintf("spec.patches[%d]", i), Message: err.Error()})
		}
	}
	if len(problems) > 0 {
		return problems
	}
	for _, check := range []func() error{o.checkContainers, o.checkPorts} {
		if err := check(); err != nil {
			problems = append(problems, Problem{Field: "spec.patches", Message: err.Error()})
		}
	}
	return problems
}

// unknownFields warns of fields that patches have set and that client-go doesn't know: they
// may be newer, but most are misspelt, and the API server refuses what it doesn't know.
func (o *Output) unknownFields() diagnostic.List {
	var warnings diagnostic.List
	warn := func(kind string, fields map[string]any, object any) {
		if fields == nil {
			return
		}
		err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, object, true)
		strict, isStrict := runtime.AsStrictDecodingError(err)
		if !isStrict {
			return // what doesn't fit at all was said
		}
		for _, unknown := range strict.Errors() {
			warnings = append(warnings, Problem{Severity: diagnostic.Warning, Field: "spec.patches", Kind: "fields aren't known", Message: fmt.Sprintf(
				"%v of the %s: unless the API server is newer, it refuses the object: look whether it is misspelt, or stands elsewhere", unknown, kind)})
		}
	}
	warn("Deployment", o.PatchedDeployment, &appsv1.Deployment{})
	warn("Service", o.PatchedService, &corev1.Service{})
	return warnings
}

// unreadablePatches finds what is wrong with the view's patches while there is nothing to
// apply them to.
func unreadablePatches(view *v1.MarkdownView) diagnostic.List {
	var problems diagnostic.List
	budget := patch.NewBudget()
	for i, p := range view.Spec.Patches {
		if strings.TrimSpace(p.Patch) == "" || len(p.Patch) > maxPatchBytes || i >= maxPatches {
			continue // it was said
		}
		if _, err := patch.Parse(p.Patch, budget); err != nil {
			problems = append(problems, Problem{Field: fmt.Sprintf("spec.patches[%d]", i), Message: "the patch " + err.Error()})
		}
	}
	return problems
}

func (o *Output) patchables() []*patchable {
	var objects []*patchable
	for _, configMap := range o.ConfigMaps {
		objects = append(objects, patchableConfigMap(configMap))
	}
	deployment := o.Deployment
	return append(objects,
		&patchable{
			apiVersion: "apps/v1", kind: "Deployment", name: *deployment.Name,
			read:  func() (map[string]any, error) { return fieldsOf(deployment) },
			guard: guardDeployment,
			write: func(fields map[string]any) error {
				if err := patch.Misfit(reflect.TypeFor[appsv1.Deployment](), fields); err != nil {
					return err
				}
				typed := &appsv1ac.DeploymentApplyConfiguration{}
				o.Deployment, o.PatchedDeployment = typed, fields
				return runtime.DefaultUnstructuredConverter.FromUnstructured(fields, typed)
			},
		},
		&patchable{
			apiVersion: "v1", kind: "Service", name: *o.Service.Name,
			read:  func() (map[string]any, error) { return fieldsOf(o.Service) },
			guard: guardService,
			write: func(fields map[string]any) error {
				if err := patch.Misfit(reflect.TypeFor[corev1.Service](), fields); err != nil {
					return err
				}
				typed := &corev1ac.ServiceApplyConfiguration{}
				o.Service, o.PatchedService = typed, fields
				return runtime.DefaultUnstructuredConverter.FromUnstructured(fields, typed)
			},
		})
}

// patchableConfigMap leaves out the pages, which are large and no patch's.
func patchableConfigMap(object *corev1ac.ConfigMapApplyConfiguration) *patchable {
	return &patchable{
		apiVersion: "v1", kind: "ConfigMap", name: *object.Name,
		read: func() (map[string]any, error) {
			return fieldsOf(&corev1ac.ConfigMapApplyConfiguration{
				TypeMetaApplyConfiguration: object.TypeMetaApplyConfiguration, ObjectMetaApplyConfiguration: object.ObjectMetaApplyConfiguration,
			})
		},
		guard: guardConfigMap,
		write: func(fields map[string]any) error {
			if err := patch.Misfit(reflect.TypeFor[corev1.ConfigMap](), fields); err != nil {
				return err
			}
			var patched corev1ac.ConfigMapApplyConfiguration
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &patched); err != nil {
				return err
			}
			object.ObjectMetaApplyConfiguration = patched.ObjectMetaApplyConfiguration
			return nil
		},
	}
}

// No more is looked at than a valid view has.
const (
	maxPatches    = 32
	maxPatchBytes = 4 * 32768 // of UTF-8
)

func fieldsOf(configuration any) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
}

func applyPatch(objects []*patchable, p *v1.Patch, budget *patch.Budget) error {
	parsed, err := patch.Parse(p.Patch, budget)
	switch {
	case err != nil:
		return fmt.Errorf("the patch %w", err)
	case p.Target == nil && parsed.IsJSON():
		return fmt.Errorf("a JSON patch needs a target: set target.kind to one of %s", strings.Join(v1.TargetKinds, ", "))
	case p.Target == nil:
		return applyByName(objects, parsed, budget)
	case len(parsed.Merges) > 1:
		return fmt.Errorf("the patch holds %d documents, which can't have a target: make each an entry of its own, or name kind and name in each and drop the target", len(parsed.Merges))
	}
	pattern, err := p.Target.NamePattern()
	if err != nil {
		return err
	}
	found := false
	for _, object := range objects {
		if object.kind != p.Target.Kind || !pattern.MatchString(object.name) {
			continue
		}
		found = true
		if err := object.apply(parsed, budget); err != nil {
			return err
		}
	}
	if !found {
		return notMet(objects, fmt.Sprintf("%s %s", p.Target.Kind, p.Target.Name))
	}
	return nil
}

// applyByName applies each document to the object that it names itself.
func applyByName(objects []*patchable, parsed *patch.Patch, budget *patch.Budget) error {
	for _, merge := range parsed.Merges {
		if merge.Kind == "" || merge.Name == "" {
			return fmt.Errorf("the patch has no target: set target.kind to one of %s, or kind and metadata.name in the patch", strings.Join(v1.TargetKinds, ", "))
		}
		found := false
		for _, object := range objects {
			if object.kind != merge.Kind || object.name != merge.Name || merge.APIVersion != "" && object.apiVersion != merge.APIVersion {
				continue
			}
			found = true
			if err := object.apply(&patch.Patch{Merges: []*patch.Merge{merge}}, budget); err != nil {
				return err
			}
		}
		if !found {
			return notMet(objects, strings.TrimSpace(fmt.Sprintf("%s %s %s", merge.APIVersion, merge.Kind, merge.Name)))
		}
	}
	return nil
}

func notMet(objects []*patchable, target string) error {
	names := make([]string, 0, len(objects))
	for _, object := range objects {
		names = append(names, object.kind+" "+object.name)
	}
	const most = 4
	if len(names) > most {
		names = append(names[:1], names[len(names)-2:]...)
	}
	return fmt.Errorf("there is no %.200s to patch: there are %s", target, strings.Join(names, ", "))
}

// apply applies a JSON patch, or a merge patch of one document.
func (p *patchable) apply(parsed *patch.Patch, budget *patch.Budget) error {
	if p.kind == "ConfigMap" {
		if err := guardPages(parsed); err != nil {
			return fmt.Errorf("%s %s: %w", p.kind, p.name, err)
		}
	}
	before := p.fields
	if before == nil {
		var err error
		if before, err = p.read(); err != nil {
			return err
		}
	}
	var after map[string]any
	var err error
	if parsed.IsJSON() {
		after, err = parsed.ApplyJSON(before, budget)
	} else {
		after, err = parsed.Merges[0].Apply(before)
	}
	if err == nil {
		err = p.guard(before, after)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", p.kind, p.name, err)
	}
	if err := p.write(after); err != nil {
		return fmt.Errorf("%s %s: what the patch makes of it can't be: %w", p.kind, p.name, err)
	}
	p.fields = after
	return nil
}

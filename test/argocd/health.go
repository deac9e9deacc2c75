// Package argocd asks Argo CD's health check of MarkdownViews, as Argo CD does: the script
// of config/argocd/health is run over a view, in the same interpreter with the same
// libraries.
package argocd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster/build"
)

// Health is how Argo CD calls the state of an object.
type Health string

// The states that a view can have.
const (
	Healthy     Health = "Healthy"
	Progressing Health = "Progressing"
	Degraded    Health = "Degraded"
	Suspended   Health = "Suspended"
)

// ofReason is what the health of a view has to be, by the reason of its Ready condition.
var ofReason = map[string]Health{
	v1.HealthyReason:        Healthy,
	v1.ProgressingReason:    Progressing,
	v1.RolloutFailedReason:  Degraded,
	v1.InvalidReason:        Degraded,
	v1.PagesNotFoundReason:  Progressing,
	v1.SourceNotFoundReason: Progressing,
	v1.ArtifactFailedReason: Degraded,
	v1.AccessDeniedReason:   Degraded,
	v1.ConflictReason:       Degraded,
	v1.ContestedReason:      Degraded,
	v1.ObjectMissingReason:  Degraded,
	v1.ApplyFailedReason:    Degraded,
}

// Want is what Argo CD has to say of a view. It is an error if the reason isn't known here.
func Want(view *v1.MarkdownView) (Health, error) {
	ready := conditions.Get(view, meta.ReadyCondition)
	switch {
	case view.Spec.Suspend:
		return Suspended, nil
	case ready == nil || ready.ObservedGeneration != view.Generation:
		return Progressing, nil
	}
	health, ok := ofReason[ready.Reason]
	if !ok {
		return "", fmt.Errorf("the reason %s has no health", ready.Reason)
	}
	return health, nil
}

// key is where Argo CD looks for the script.
const key = "resource.customizations.health.view.zoetrope.github.io_MarkdownView"

// script is the health check.
var script = sync.OnceValues(func() (string, error) {
	repository, err := build.Repository()
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(filepath.Join(repository, "config", "argocd", "health", "argocd-cm.yaml"))
	if err != nil {
		return "", err
	}
	var configMap corev1.ConfigMap
	if err := yaml.UnmarshalStrict(content, &configMap); err != nil {
		return "", err
	}
	text, ok := configMap.Data[key]
	if !ok {
		return "", fmt.Errorf("config/argocd/health has no key %s", key)
	}
	return text, nil
})

// Of runs the script over a view, and returns the health and its message.
func Of(ctx context.Context, view *v1.MarkdownView) (Health, string, error) {
	text, err := script()
	if err != nil {
		return "", "", err
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(view)
	if err != nil {
		return "", "", err
	}
	// Argo CD's interpreter has no libraries but these, and a safe form of os, which
	// the script doesn't need.
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	// Argo CD gives it a second, of a machine that has less to do.
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	l.SetContext(ctx)
	l.SetGlobal("obj", value(l, object))
	if err := l.DoString(text); err != nil {
		return "", "", err
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", errors.New("the script returns no table")
	}
	return Health(lua.LVAsString(result.RawGetString("status"))), lua.LVAsString(result.RawGetString("message")), nil
}

// value is an object's value in Lua.
func value(l *lua.LState, of any) lua.LValue {
	switch of := of.(type) {
	case bool:
		return lua.LBool(of)
	case string:
		return lua.LString(of)
	case int64:
		return lua.LNumber(of)
	case float64:
		return lua.LNumber(of)
	case []any:
		table := l.NewTable()
		for _, element := range of {
			table.Append(value(l, element))
		}
		return table
	case map[string]any:
		table := l.NewTable()
		for name, element := range of {
			table.RawSetString(name, value(l, element))
		}
		return table
	}
	return lua.LNil
}

// Check returns an error if Argo CD would say something wrong of a view, or nothing that
// helps.
func Check(ctx context.Context, view *v1.MarkdownView) error {
	want, err := Want(view)
	if err != nil {
		return err
	}
	got, message, err := Of(ctx, view)
	switch {
	case err != nil:
		return err
	case got != want:
		return fmt.Errorf("the health of %s is %s (%s), not %s", view.Name, got, message, want)
	case message == "":
		return fmt.Errorf("the health of %s comes without a message", view.Name)
	}
	return nil
}

package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// Prune deletes the ConfigMaps that a view no longer has pages for, and their copies, forgets them, and
// returns what it deleted, and when to try again what somebody has just written; 0 if that is
// nothing. It is for when no pod mounts them any more. Where drift isn't undone, what others have made stays.
func (a *Applier) Prune(ctx context.Context, view *v1.MarkdownView, wanted []string, last *LastApplied, written *Expectations) (deleted []string, recheck time.Duration, err error) {
	var list corev1.ConfigMapList
	if err := a.Client.List(ctx, &list, OfView(view)...); err != nil {
		return nil, 0, err
	}
	var later Report
	for i := range list.Items {
		configMap := &list.Items[i]
		object := "ConfigMap " + configMap.Name
		prunable, err := a.prunable(ctx, view, configMap, wanted)
		if err != nil {
			return deleted, later.Recheck, err
		}
		if !prunable || view.DriftMode() != v1.DriftDetectionEnabled && !appliedByUs(configMap) || written.isDeleted(object, configMap.UID, a.Clock.Now()) {
			continue
		}
		if wait := last.overtaken[object].wait(a.Clock.Now()); wait > 0 {
			later.recheckIn(wait)
			continue
		}
		preconditions := client.Preconditions{UID: &configMap.UID, ResourceVersion: &configMap.ResourceVersion}
		if err := client.IgnoreNotFound(a.Writer.Delete(ctx, configMap, preconditions)); isStale(err) {
			now := a.Clock.Now()
			later.recheckIn(max(staleRecheck, last.overtake(object, digest{}, now).wait(now)))
			continue // what is served is served all the same
		} else if err != nil {
			return deleted, later.Recheck, fmt.Errorf("delete ConfigMap %s: %w", configMap.Name, err)
		}
		written.expectDeleted(object, configMap.UID, a.Clock.Now())
		last.forgetOvertaken(object)
		deleted = append(deleted, object+" (delete)")
	}
	last.keep(wanted)
	for object := range last.overtaken {
		name, isConfigMap := strings.CutPrefix(object, "ConfigMap ")
		if isConfigMap && !slices.Contains(wanted, name) && !slices.ContainsFunc(list.Items, func(c corev1.ConfigMap) bool { return c.Name == name }) {
			last.forgetOvertaken(object) // gone
		}
	}
	return deleted, later.Recheck, nil
}

// prunable reports whether a ConfigMap with a view's labels held pages of the view, or a
// copy of them, and isn't wanted any more. Without a controller, and as what another view of
// the name has left, it must have the name of a shard or of its copy.
func (a *Applier) prunable(ctx context.Context, view *v1.MarkdownView, configMap *corev1.ConfigMap, wanted []string) (bool, error) {
	pages, isCopy := generator.CutLast(configMap.Name, view.Name)
	if !isCopy {
		pages = configMap.Name
	}
	if slices.Contains(wanted, pages) || !configMap.DeletionTimestamp.IsZero() {
		return false, nil
	}
	switch {
	case metav1.IsControlledBy(configMap, view):
		return true, nil
	case !generator.IsPagesName(pages, view.Name):
		return false, nil
	case metav1.GetControllerOf(configMap) == nil:
		return true, nil
	}
	predecessor, err := a.findPredecessor(ctx, view, configMap, isUnknown)
	return predecessor == isGone, err
}

package apply

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
	"github.com/zoetrope/markdown-view/generator"
)

// recollection is a ConfigMap of pages of which only the digests are remembered. If it is
// changed or deleted, the API server is asked for what it was before, which it knows for
// some minutes.
type recollection struct {
	// version is the last one in which it is known to have been as wanted.
	version string
	// labels are those that it had lost in that version; nil if it had all.
	labels map[string]string
	// gone means that the API server doesn't know it any more.
	gone bool
}

const (
	// maxRecollections is how many changes one after the other are looked behind.
	maxRecollections = 5
	// maxSearch is how many versions of the cluster are looked at between the last one that is
	// known and now: each halves what is left.
	maxSearch = 40
)

// recollect has the child want its pages, in the place of their digests.
func (a *Applier) recollect(ctx context.Context, c *child, deletedIn string) error {
	if c.recollection == nil {
		return nil
	}
	lost := &outcome.Error{State: outcome.Retrying, Reason: v1.ApplyFailedReason, Retry: ownershipRecheck,
		Message: c.String() + " was changed or deleted by somebody else, and what it held isn't known any more"}
	if c.recollection.gone {
		return lost
	}
	found, err := a.behindChanges(ctx, c, deletedIn)
	if err == nil && found == nil {
		found, err = a.betweenVersions(ctx, c)
	}
	switch {
	case err != nil:
		return err
	case found == nil:
		c.recollection.gone = true
		return lost
	}
	c.desired, c.recollection = found, nil
	return nil
}

// behindChanges looks for a ConfigMap's pages before the change that is to be undone, and
// those before it, and then in the last version in which they are known to have been there,
// which may be too old to be asked for. It returns nil if that doesn't lead to them.
func (a *Applier) behindChanges(ctx context.Context, c *child, deletedIn string) (*corev1ac.ConfigMapApplyConfiguration, error) {
	at := []string{before(c.live.GetResourceVersion()), before(deletedIn)}
	for tries := 0; len(at) > 0 && tries < maxRecollections; {
		version := at[0]
		at = at[1:]
		if version == "" {
			continue
		}
		tries++
		then, err := a.configMapAt(ctx, c, version)
		if err != nil {
			return nil, err
		}
		if then.pages != nil {
			return then.pages, nil
		}
		if then.version != "" {
			at = append([]string{before(then.version)}, at...)
		}
	}
	if c.recollection.version == "" {
		return nil, nil
	}
	then, err := a.configMapAt(ctx, c, c.recollection.version)
	return then.pages, err
}

// betweenVersions looks for a ConfigMap's pages between the last version in which they are
// known to have been there and now: the change may not have been seen. First come versions
// that aren't known any more, then those with the pages, then those without. It returns nil
// if there are none of the second kind.
func (a *Applier) betweenVersions(ctx context.Context, c *child) (*corev1ac.ConfigMapApplyConfiguration, error) {
	var now corev1.ConfigMapList
	if err := a.list(ctx, c, &now, &client.ListOptions{}); err != nil {
		return nil, err
	}
	from, errFrom := strconv.ParseUint(c.recollection.version, 10, 64)
	to, errTo := strconv.ParseUint(now.ResourceVersion, 10, 64)
	if errFrom != nil || errTo != nil {
		from, to = 0, 0 // other API servers may have versions that aren't numbers: nothing to search between
	}
	for range maxSearch {
		if from+1 >= to {
			break
		}
		middle := from + (to-from)/2
		then, err := a.configMapAt(ctx, c, strconv.FormatUint(middle, 10))
		switch {
		case err != nil || then.pages != nil:
			return then.pages, err
		case then.forgotten:
			from = middle
		default:
			to = middle
		}
	}
	return nil, nil
}

// past is what a ConfigMap was in a version of the cluster.
type past struct {
	// forgotten means that the API server doesn't know that version any more.
	forgotten bool
	// version is the ConfigMap's; empty if there was none.
	version string
	// pages are those that are wanted; nil if it held others.
	pages *corev1ac.ConfigMapApplyConfiguration
}

// configMapAt returns what a ConfigMap was in a version of the cluster.
func (a *Applier) configMapAt(ctx context.Context, c *child, version string) (past, error) {
	configMap, forgotten, err := a.listedAt(ctx, c, version)
	if configMap == nil || err != nil {
		return past{forgotten: forgotten}, err
	}
	then := past{version: configMap.ResourceVersion}
	pages, err := corev1ac.ExtractConfigMap(configMap, generator.FieldManager)
	if err != nil {
		return past{}, fmt.Errorf("read the managed fields of %s: %w", c, err)
	}
	pages.WithLabels(c.recollection.labels)
	was, err := digestOf(comparedPages(pages))
	if was == c.digest {
		then.pages = pages
	}
	return then, err
}

// listedAt returns a ConfigMap as it was in a version of the cluster, nil if there was none;
// forgotten means that the API server doesn't know that version any more.
func (a *Applier) listedAt(ctx context.Context, c *child, version string) (configMap *corev1.ConfigMap, forgotten bool, err error) {
	var list corev1.ConfigMapList
	err = a.list(ctx, c, &list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact}})
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return nil, true, nil
	case err != nil || len(list.Items) == 0:
		return nil, false, err
	}
	return &list.Items[0], false, nil
}

// ownedPages returns what our field manager owns of a view's ConfigMap in a version of the
// cluster, or, if others have taken pages from it, owned before that, and in which version.
// That it is whole tells the key of its revision, which names the pages beside it. It looks
// behind as many changes as recollect does.
func (a *Applier) ownedPages(ctx context.Context, view *v1.MarkdownView, c *child, live *corev1.ConfigMap, version string) (owned *corev1ac.ConfigMapApplyConfiguration, in string, whole bool, err error) {
	for tries := 0; live != nil && tries <= maxRecollections; tries++ {
		if metav1.IsControlledBy(live, view) && appliedByUs(live) {
			then, err := corev1ac.ExtractConfigMap(live, generator.FieldManager)
			if err != nil {
				return nil, "", false, fmt.Errorf("read the managed fields of %s: %w", c, err)
			}
			if isWhole(then) {
				return then, version, true, nil
			}
			if owned == nil {
				owned, in = then, version
			}
		}
		if version = before(live.ResourceVersion); version == "" {
			break
		}
		if live, _, err = a.listedAt(ctx, c, version); err != nil {
			return nil, "", false, err
		}
	}
	return owned, in, false, nil
}

// isWhole reports whether all pages that a ConfigMap was applied with are among what is owned of it.
func isWhole(owned *corev1ac.ConfigMapApplyConfiguration) bool {
	_, is := owned.Data[generator.RevisionKeyOf(owned.Data, owned.BinaryData)]
	return is
}

func (a *Applier) list(ctx context.Context, c *child, list *corev1.ConfigMapList, options *client.ListOptions) error {
	err := a.APIReader.List(ctx, list, client.InNamespace(c.live.GetNamespace()), client.MatchingFields{metav1.ObjectNameField: c.live.GetName()}, options)
	if err != nil {
		return fmt.Errorf("look up what %s was: %w", c, err)
	}
	return nil
}

// before is the version of the cluster before a change; empty if it isn't known.
func before(version string) string {
	number, err := strconv.ParseUint(version, 10, 64)
	if err != nil || number < 2 {
		return ""
	}
	return strconv.FormatUint(number-1, 10)
}

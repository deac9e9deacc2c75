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
	// gone means that the API server doesn't know it any more.
	gone bool
}

// maxRecollections is how many changes one after the other are looked behind.
const maxRecollections = 5

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
	// Before the change that is to be undone; the last good version may be too old to be
	// asked for.
	at := []string{before(c.live.GetResourceVersion()), before(deletedIn), c.recollection.version}
	for tries := 0; len(at) > 0 && tries < maxRecollections; {
		version := at[0]
		at = at[1:]
		if version == "" {
			continue
		}
		tries++
		found, err := a.configMapAt(ctx, c, version)
		if err != nil {
			return err
		}
		if found == nil {
			continue
		}
		pages, err := corev1ac.ExtractConfigMap(found, generator.FieldManager)
		if err != nil {
			return fmt.Errorf("read the managed fields of %s: %w", c, err)
		}
		if was, err := digestOf(comparedPages(pages)); err != nil {
			return err
		} else if was == c.digest {
			c.desired, c.recollection = pages, nil
			return nil
		}
		at = append([]string{before(found.ResourceVersion)}, at...)
	}
	c.recollection.gone = true
	return lost
}

// configMapAt returns a ConfigMap as it was in a version of the cluster; nil if it wasn't
// there, or that version isn't known any more.
func (a *Applier) configMapAt(ctx context.Context, c *child, version string) (*corev1.ConfigMap, error) {
	var list corev1.ConfigMapList
	err := a.APIReader.List(ctx, &list, client.InNamespace(c.live.GetNamespace()),
		client.MatchingFields{metav1.ObjectNameField: c.live.GetName()},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact}})
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up what %s was: %w", c, err)
	case len(list.Items) == 0:
		return nil, nil
	}
	return &list.Items[0], nil
}

// before is the version of the cluster before a change; empty if it isn't known.
func before(version string) string {
	number, err := strconv.ParseUint(version, 10, 64)
	if err != nil || number < 2 {
		return ""
	}
	return strconv.FormatUint(number-1, 10)
}

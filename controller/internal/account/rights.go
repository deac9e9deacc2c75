package account

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Need is a right that writing an object needs.
type Need struct {
	Verb, Group, Resource, Name string
	// Object names the object for people.
	Object string
}

// concernSeveral reports whether needs are of more than one object.
func concernSeveral(needs []Need) bool {
	return slices.ContainsFunc(needs, func(n Need) bool { return n.Object != needs[0].Object })
}

// lackingOf returns what of the needs an account may not do, as text. It is one request:
// further ones are needed only where the API server says that it doesn't know all, which it
// always does, and something is missing among what it knows.
func lackingOf(ctx context.Context, account client.Client, namespace string, needs []Need) ([]string, error) {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	if err := account.Create(ctx, review); err != nil {
		if mayNotAsk(err) {
			return nil, nil // the writes will tell
		}
		return nil, fmt.Errorf("ask for the rights of the service account: %w", err)
	}
	var lacking []Need
	for _, need := range needs {
		if slices.ContainsFunc(review.Status.ResourceRules, need.allowedBy) {
			continue
		}
		if review.Status.Incomplete {
			allowed, err := need.allowed(ctx, account, namespace)
			if err != nil {
				return nil, err
			}
			if allowed {
				continue
			}
		}
		lacking = append(lacking, need)
	}
	return describe(lacking), nil
}

// allowedBy reports whether a rule gives a right.
func (n Need) allowedBy(rule authorizationv1.ResourceRule) bool {
	return has(rule.Verbs, n.Verb) && has(rule.APIGroups, n.Group) && has(rule.Resources, n.Resource) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, n.Name))
}

func has(list []string, item string) bool {
	return slices.Contains(list, item) || slices.Contains(list, "*")
}

// allowed asks the API server for one right.
func (n Need) allowed(ctx context.Context, account client.Client, namespace string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: n.Verb, Group: n.Group, Resource: n.Resource, Name: n.Name},
	}}
	if err := account.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask for a right of the service account: %w", err)
	}
	return review.Status.Allowed, nil
}

// describe lists rights by object.
func describe(lacking []Need) []string {
	var list []string
	for len(lacking) > 0 {
		object := lacking[0].Object
		var verbs []string
		lacking = slices.DeleteFunc(lacking, func(n Need) bool {
			if n.Object == object {
				verbs = append(verbs, n.Verb)
			}
			return n.Object == object
		})
		list = append(list, strings.Join(verbs, " or ")+" "+object)
	}
	return list
}

// mayNotAsk reports whether somebody was refused to ask for rights, which Kubernetes allows
// everybody by default.
func mayNotAsk(err error) bool {
	return apierrors.IsForbidden(err) && !strings.Contains(err.Error(), " cannot impersonate ")
}

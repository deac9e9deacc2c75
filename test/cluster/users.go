package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// User returns the configuration of a user who may do nothing yet but what
// every authenticated user and these groups may. The user has a certificate of
// its own; in an existing cluster, whose authority isn't at hand, the
// administrator impersonates it.
func (c *Cluster) User(name string, groups ...string) (*rest.Config, error) {
	if c.supervisor != nil && !c.attached {
		return c.certified(name, groups...)
	}
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
	return config, nil
}

// Grant allows a user what the rules say, in one namespace, or everywhere if
// that is empty, and returns when the API server has taken note.
func (c *Cluster) Grant(ctx context.Context, user, namespace string, rules ...rbacv1.PolicyRule) error {
	if err := c.grant(ctx, user, namespace, rules); err != nil {
		return fmt.Errorf("granting %s its rules: %w", user, err)
	}
	for _, review := range reviews(user, namespace, rules) {
		err := c.until(ctx, "the rights of "+user, func(ctx context.Context) error {
			answer, err := c.clients.authorization.SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err == nil && !answer.Status.Allowed {
				return errors.New("they aren't in force")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// grant makes a role with a new name, so that several grants add up, and binds
// it to the user.
func (c *Cluster) grant(ctx context.Context, user, namespace string, rules []rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{GenerateName: "test-", Namespace: namespace}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	rbac := c.clients.rbac
	if namespace == "" {
		role, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		_, err = rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta,
			Subjects:   subjects,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		}, metav1.CreateOptions{})
		return err
	}
	role, err := rbac.Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		Subjects:   subjects,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}, metav1.CreateOptions{})
	return err
}

// reviews ask for one permission of each rule: a role comes into force as a
// whole.
func reviews(user, namespace string, rules []rbacv1.PolicyRule) []*authorizationv1.SubjectAccessReview {
	var asked []*authorizationv1.SubjectAccessReview
	for _, rule := range rules {
		spec := authorizationv1.SubjectAccessReviewSpec{User: user}
		switch {
		case len(rule.Verbs) == 0:
			continue
		case len(rule.NonResourceURLs) > 0:
			spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: rule.Verbs[0], Path: rule.NonResourceURLs[0]}
		case len(rule.Resources) > 0 && len(rule.APIGroups) > 0:
			spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
				Namespace: namespace,
				Verb:      rule.Verbs[0],
				Group:     rule.APIGroups[0],
				Name:      first(rule.ResourceNames),
			}
			spec.ResourceAttributes.Resource, spec.ResourceAttributes.Subresource = splitResource(rule.Resources[0])
		default:
			continue
		}
		asked = append(asked, &authorizationv1.SubjectAccessReview{Spec: spec})
	}
	return asked
}

// ServingCertificate returns a certificate for a server that the test runs, a
// webhook say, on these hosts (by default the loopback address), and the PEM
// for the caBundle of whoever calls it.
func (c *Cluster) ServingCertificate(hosts ...string) (certificate tls.Certificate, caBundle []byte, err error) {
	if len(hosts) == 0 {
		hosts = []string{loopback, "localhost"}
	}
	pair, err := c.authority.Server(hosts...)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	certificate, err = tls.X509KeyPair(pair.Certificate, pair.Key)
	return certificate, c.authority.PEM.Certificate, err
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

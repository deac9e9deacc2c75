// Package schema tells what the API server of Kubernetes 1.37 says about
// manifests, without running one: it decodes them strictly, sets the defaults and
// calls the same registry strategies that the server calls on a create request.
// Custom objects go through their CRD's schema and CEL rules in the same way.
//
// What needs a cluster's state (quotas, admission webhooks, IP allocation) isn't
// asked; Pod Security is, by Restricted.
//
// It is a module of its own because it imports k8s.io/kubernetes, and imports
// nothing of the product: it judges files.
package schema

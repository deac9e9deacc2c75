package cluster

import (
	"k8s.io/client-go/discovery"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
)

// clients are the administrator's, for the API groups that this package asks. The clientset
// has all groups, and takes longer to compile than the rest of what make run begins with.
type clients struct {
	discovery     discovery.DiscoveryInterface
	core          coreclient.CoreV1Interface
	authorization authorizationclient.AuthorizationV1Interface
	rbac          rbacclient.RbacV1Interface
}

// newClients returns clients that share their connections.
func newClients(config *rest.Config) (*clients, error) {
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	connections, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &clients{}
	if c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, connections); err != nil {
		return nil, err
	}
	if c.core, err = coreclient.NewForConfigAndClient(config, connections); err != nil {
		return nil, err
	}
	if c.authorization, err = authorizationclient.NewForConfigAndClient(config, connections); err != nil {
		return nil, err
	}
	c.rbac, err = rbacclient.NewForConfigAndClient(config, connections)
	return c, err
}

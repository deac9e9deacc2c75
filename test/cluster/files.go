package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/zoetrope/markdown-view/test/cluster/internal/pki"
)

// auditPolicy has each request logged once, when it is answered (a watch when
// it begins, and once more when it ends), without its content.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// systemMasters is the group that may do everything.
const systemMasters = "system:masters"

// writeFiles writes what the components read, and sets the administrator's
// Config and Kubeconfig.
func (c *Cluster) writeFiles() (err error) {
	if c.authority, err = pki.NewAuthority("markdown-view-test"); err != nil {
		return err
	}
	server, err := c.authority.Server(c.address, loopback, serviceIP,
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return err
	}
	kubeletClient, err := c.authority.Client("kube-apiserver-kubelet-client", systemMasters)
	if err != nil {
		return err
	}
	serviceAccountKey, err := pki.NewKey()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		caFile:                c.authority.PEM.Certificate,
		caKeyFile:             c.authority.PEM.Key,
		serverFile:            server.Certificate,
		serverKeyFile:         server.Key,
		kubeletClientFile:     kubeletClient.Certificate,
		kubeletClientKeyFile:  kubeletClient.Key,
		serviceAccountKeyFile: serviceAccountKey,
		auditPolicyFile:       []byte(auditPolicy),
	} {
		if err := writeFile(filepath.Join(c.Folder(), name), content); err != nil {
			return err
		}
	}
	c.requests = &requestLog{path: filepath.Join(c.Folder(), auditLogFile)}
	return c.writeKubeconfigs()
}

func (c *Cluster) writeKubeconfigs() (err error) {
	for component, user := range map[string]struct{ name, group string }{
		ControllerManager: {name: "system:kube-controller-manager"},
		Scheduler:         {name: "system:kube-scheduler"},
		Kwok:              {name: "kwok", group: systemMasters},
	} {
		var groups []string
		if user.group != "" {
			groups = append(groups, user.group)
		}
		config, err := c.certified(user.name, groups...)
		if err != nil {
			return err
		}
		if err := WriteKubeconfig(filepath.Join(c.Folder(), kubeconfigOf(component)), config); err != nil {
			return err
		}
	}
	if c.Config, err = c.certified("admin", systemMasters); err != nil {
		return err
	}
	c.Kubeconfig = filepath.Join(c.Folder(), adminKubeconfig)
	return WriteKubeconfig(c.Kubeconfig, c.Config)
}

// certified returns the configuration of a user with a certificate of the
// cluster's authority.
func (c *Cluster) certified(user string, groups ...string) (*rest.Config, error) {
	pair, err := c.authority.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: "https://" + net.JoinHostPort(c.address, strconv.Itoa(c.port)),
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.authority.PEM.Certificate,
			CertData: pair.Certificate,
			KeyData:  pair.Key,
		},
		QPS: -1, // no limit
	}, nil
}

// WriteKubeconfig writes a configuration to a file, for programs (kubectl, a
// controller) that shall act as its user. The file holds the user's key.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "markdown-view-test"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server:                   config.Host,
			CertificateAuthorityData: config.CAData,
			CertificateAuthority:     config.CAFile,
			InsecureSkipTLSVerify:    config.Insecure,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: config.CertData,
			ClientCertificate:     config.CertFile,
			ClientKeyData:         config.KeyData,
			ClientKey:             config.KeyFile,
			Token:                 config.BearerToken,
			TokenFile:             config.BearerTokenFile,
			Impersonate:           config.Impersonate.UserName,
			ImpersonateGroups:     config.Impersonate.Groups,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("kubeconfig of %s: %w", config.Host, err)
	}
	return writeFile(path, content)
}

func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

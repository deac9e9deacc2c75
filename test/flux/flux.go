// Package flux runs Flux's own source-controller and kustomize-controller beside a
// test's control plane, with a Git server for them.
package flux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

const (
	namespace   = "flux-system"
	storagePort = ":9790" // source-controller's
)

// Users are what Flux's controllers are known by to the API server.
var Users = []string{user(build.SourceController), user(build.KustomizeController)}

func user(controller string) string { return "system:serviceaccount:" + namespace + ":" + controller }

// Flux is Flux in a cluster.
type Flux struct {
	Cluster *cluster.Cluster
	// Client is the administrator's. It knows Flux's sources and MarkdownViews.
	Client client.Client
	// Git serves repositories.
	Git *GitServer
	// Artifacts is between source-controller and the product.
	Artifacts *Artifacts
	// Source and Kustomize are the controllers; nil until they are started.
	Source, Kustomize *cluster.Component

	log      build.Log
	loopback string
}

// New prepares Flux for a cluster: nothing of it is in the cluster yet.
func New(ctx context.Context, c *cluster.Cluster, log build.Log) (*Flux, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), sourcev1.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(c.Config)
	config.WarningHandler = rest.NoWarnings{}
	f := &Flux{Cluster: c, log: log, loopback: ownLoopback(c.Folder())}
	var err error
	if f.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if f.Git, err = newGitServer(ctx, c); err != nil {
		return nil, err
	}
	f.Artifacts, err = newArtifacts(ctx, c, f.loopback+storagePort)
	return f, err
}

// Close ends the servers. The controllers end with the cluster.
func (f *Flux) Close() {
	f.Git.server.Close()
	f.Artifacts.server.Close()
}

// Start installs Flux: its CustomResourceDefinitions and the controllers.
func (f *Flux) Start(ctx context.Context) error {
	programs, err := build.FluxControllers(ctx, f.log)
	if err != nil {
		return err
	}
	err = f.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := f.ApplyCRDs(ctx); err != nil {
		return err
	}
	f.Source, err = f.run(ctx, build.SourceController, programs[build.SourceController],
		"--storage-path="+f.Storage(), "--storage-addr="+f.loopback+storagePort, "--storage-adv-addr="+f.loopback+storagePort,
		"--metrics-addr="+f.loopback+":9791", "--health-addr="+f.loopback+":9792")
	if err != nil {
		return err
	}
	f.Kustomize, err = f.run(ctx, build.KustomizeController, programs[build.KustomizeController], "--watch-all-namespaces",
		"--metrics-addr="+f.loopback+":9793", "--health-addr="+f.loopback+":9794")
	return err
}

// ApplyCRDs applies the CustomResourceDefinitions and waits until sources can be
// made.
func (f *Flux) ApplyCRDs(ctx context.Context) error {
	folders, err := build.FluxDefinitions(ctx)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		cmd := exec.CommandContext(ctx, filepath.Join(f.Cluster.Programs(), "kubectl"),
			"--kubeconfig", f.Cluster.Kubeconfig, "apply", "--server-side", "--filename", folder)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apply the definitions of %s: %w\n%s", folder, err, out)
		}
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		return f.Client.List(ctx, &sourcev1.GitRepositoryList{}) == nil && f.Client.List(ctx, &sourcev1.ExternalArtifactList{}) == nil, nil
	})
}

// Storage is the folder of source-controller's artifacts.
func (f *Flux) Storage() string { return filepath.Join(f.Cluster.Folder(), "flux-storage") }

// run starts a controller with the rights that Flux's own manifests give it: all.
func (f *Flux) run(ctx context.Context, name, program string, args ...string) (*cluster.Component, error) {
	if err := os.MkdirAll(f.Storage(), 0o700); err != nil {
		return nil, err
	}
	config, err := f.Cluster.User(user(name), "system:masters", "system:serviceaccounts", "system:authenticated")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(f.Cluster.Folder(), name+".kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	return f.Cluster.Run(ctx, supervise.Process{
		Name: name, Path: program,
		Args: append([]string{"--enable-leader-election=false", "--events-addr="}, args...),
		Env:  []string{"KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=" + namespace, "TMPDIR=" + f.Cluster.Folder()},
	})
}

// ownLoopback is a loopback address that other clusters' controllers don't use:
// they need fixed ports.
func ownLoopback(folder string) string {
	sum := 0
	for _, b := range []byte(folder) {
		sum = (sum*31 + int(b)) & 0xffff
	}
	return fmt.Sprintf("127.9.%d.%d", sum>>8, 1+sum&0x7f)
}

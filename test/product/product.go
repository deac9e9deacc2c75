// Package product installs the product in a cluster and runs its programs there:
// from its own manifests, and with no more rights than they give.
package product

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/product/controller"
)

const (
	// Namespace is where the controller belongs.
	Namespace = controller.Namespace
	// User is the service account that config/rbac gives its rights to.
	User = controller.User
)

// Product is the product in a cluster.
type Product struct {
	Cluster *cluster.Cluster
	// Repository is the project's folder.
	Repository string
	// Programs is the folder with the product's programs.
	Programs string
	// Client is the administrator's, and knows MarkdownViews.
	Client client.Client
	// Env is added to the environment of the controllers that are run.
	Env []string
}

// Install applies the CRD and the roles, waits until views can be made, and builds
// the programs.
func Install(ctx context.Context, c *cluster.Cluster) (*Product, error) {
	repository, err := build.Repository()
	if err != nil {
		return nil, err
	}
	p, err := (&Product{Repository: repository, Programs: c.Folder()}).InstallIn(ctx, c)
	if err != nil {
		return nil, err
	}
	return p, p.Build(ctx, "./controller", "./fn")
}

// InstallIn does in another cluster what Install does, with the programs that are built.
func (p *Product) InstallIn(ctx context.Context, c *cluster.Cluster) (*Product, error) {
	there := &Product{Cluster: c, Repository: p.Repository, Programs: p.Programs}
	var err error
	if there.Client, err = NewClient(c.Config); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if err := there.Client.Create(ctx, namespace); err != nil {
		return nil, err
	}
	if err := there.ApplyRoles(ctx); err != nil {
		return nil, err
	}
	return there, there.ApplyCRD(ctx)
}

// NewClient returns a client that knows MarkdownViews.
func NewClient(config *rest.Config) (client.Client, error) {
	scheme := k8sruntime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// ApplyCRD applies the CustomResourceDefinition and waits until views can be made.
func (p *Product) ApplyCRD(ctx context.Context) error {
	if err := p.apply(ctx, "config/crd/bases"); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		return p.Client.List(ctx, &v1.MarkdownViewList{}) == nil, nil
	})
}

// ApplyRoles applies the roles and their bindings.
func (p *Product) ApplyRoles(ctx context.Context) error {
	return p.apply(ctx, "config/rbac")
}

func (p *Product) apply(ctx context.Context, folder string) error {
	files := os.DirFS(filepath.Join(p.Repository, folder))
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == "kustomization.yaml" {
			continue
		}
		if err := p.applyFile(ctx, files, name); err != nil {
			return fmt.Errorf("apply %s/%s: %w", folder, name, err)
		}
	}
	return nil
}

func (p *Product) applyFile(ctx context.Context, files fs.FS, name string) error {
	content, err := files.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	object := &unstructured.Unstructured{}
	if err := yaml.NewYAMLOrJSONDecoder(content, 4096).Decode(&object.Object); err != nil {
		return err
	}
	switch object.GetKind() {
	case "":
		return errors.New("it holds no object")
	case "ServiceAccount", "Role", "RoleBinding":
		object.SetNamespace(Namespace)
	}
	return p.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership)
}

// Program is the path of one of the product's programs, fn or controller.
func (p *Product) Program(name string) string {
	return filepath.Join(p.Programs, name)
}

// Build builds programs as they are released, but for the paths in them, so that packages are
// compiled once for them and for tests. With cgo they would be half as large again, also in
// memory: kustomize's library imports plugin, and for that the linker leaves nothing out.
func (p *Product) Build(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, "go", append([]string{"build", "-C", p.Repository, "-buildvcs=false", "-ldflags", "-s -w", "-o", p.Programs + "/"}, args...)...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
}

// RunController starts a controller, as controller.Program.Run does.
func (p *Product) RunController(ctx context.Context, name string, args ...string) (*cluster.Component, error) {
	return controller.Program{Path: p.Program("controller"), Env: p.Env}.Run(ctx, p.Cluster, name, args...)
}

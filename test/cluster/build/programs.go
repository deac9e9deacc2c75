package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// StagesFile is the file beside the programs that tells kwok what becomes of
// simulated nodes and pods.
const StagesFile = "kwok-stages.yaml"

// kubernetesPrograms are what a control plane has of Kubernetes.
var kubernetesPrograms = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"}

// ControlPlane returns the folder with etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, kubectl, kwok and StagesFile; on
// Linux also kubelet and kube-proxy. What isn't there yet is looked for in PATH,
// then downloaded from its publisher, and otherwise built, which takes minutes; the
// log says how far it is. With CONTROLPLANE=compile everything is built.
//
// If KUBEBUILDER_ASSETS is set it is that folder, which has at least etcd and
// kube-apiserver (and, if it comes from envtest, kubectl, and nothing else).
func ControlPlane(ctx context.Context, log Log) (string, error) {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return given(assets)
	}
	repository, err := Repository()
	if err != nil {
		return "", err
	}
	recipe, err := controlPlane(filepath.Join(repository, "test", "controlplane"))
	if err != nil {
		return "", err
	}
	if recipe.downloads, err = wanted(os.Getenv("CONTROLPLANE")); err != nil {
		return "", err
	}
	return recipe.cached(ctx, log)
}

// wanted says what CONTROLPLANE asks for.
func wanted(choice string) (*downloads, error) {
	switch choice {
	case "":
		return newDownloads(), nil
	case "compile":
		return nil, nil
	default:
		return nil, fmt.Errorf("CONTROLPLANE=%s: it may be compile, which downloads no programs, or unset", choice)
	}
}

// NotNeeded reports whether the tests shall use a cluster that is there
// (USE_EXISTING_CLUSTER=true): no programs are needed then.
func NotNeeded() bool {
	existing, err := strconv.ParseBool(os.Getenv("USE_EXISTING_CLUSTER"))
	return err == nil && existing
}

// Supervisor returns the path of the program that package supervise speaks of.
// Building it takes a second.
func Supervisor(ctx context.Context, log Log) (string, error) {
	repository, err := Repository()
	if err != nil {
		return "", err
	}
	const main = "./cluster/cmd/supervisor"
	recipe := recipe{
		name:    "supervisor",
		module:  filepath.Join(repository, "test"),
		sources: []string{"cluster/supervise", "cluster/cmd/supervisor"},
		steps:   []step{quickStep(main, "supervisor")},
	}
	bin, err := recipe.cached(ctx, log)
	return filepath.Join(bin, "supervisor"), err
}

// Crane returns the path of the program that serves and fills a registry.
// Building it takes seconds, the first time.
func Crane(ctx context.Context, log Log) (string, error) {
	repository, err := Repository()
	if err != nil {
		return "", err
	}
	const main = "github.com/google/go-containerregistry/cmd/crane"
	recipe := recipe{
		name:   "crane",
		module: filepath.Join(repository, "tools", "crane"),
		// As what else make run has to be compiled: the standard library is once.
		steps: []step{quickStep(main, "crane")},
	}
	bin, err := recipe.cached(ctx, log)
	return filepath.Join(bin, "crane"), err
}

// NetworkPolicies returns the path of the program that enforces NetworkPolicies on a node, and
// the manifest by which its publisher has it run there. Building it takes seconds, once
// Kubernetes is built.
func NetworkPolicies(ctx context.Context, log Log) (program, manifest string, err error) {
	repository, err := Repository()
	if err != nil {
		return "", "", err
	}
	const module, main = "sigs.k8s.io/kube-network-policies", "sigs.k8s.io/kube-network-policies/cmd"
	recipe := recipe{
		name:   "networkpolicies",
		module: filepath.Join(repository, "test", "networkpolicies"),
		steps:  []step{{what: "compiling kube-network-policies", packages: []string{main}, args: compile(main)}},
	}
	bin, err := recipe.cached(ctx, log)
	if err != nil {
		return "", "", err
	}
	folder, err := recipe.moduleFolder(ctx, module)
	return filepath.Join(bin, "cmd"), filepath.Join(folder, "install.yaml"), err
}

// OAuth2Proxy returns the path of the authenticating proxy, and the name and tag of its
// publisher's image of the same version. Building it takes less than a minute, the first time.
func OAuth2Proxy(ctx context.Context, log Log) (program, image string, err error) {
	repository, err := Repository()
	if err != nil {
		return "", "", err
	}
	const main = "github.com/oauth2-proxy/oauth2-proxy/v7"
	module := filepath.Join(repository, "test", "oauth2proxy")
	versions, err := required(filepath.Join(module, "go.mod"), main)
	if err != nil {
		return "", "", err
	}
	recipe := recipe{
		name: "oauth2proxy", versions: versions, module: module,
		steps: []step{{what: "compiling oauth2-proxy", packages: []string{main}, args: compile(main)}},
	}
	bin, err := recipe.cached(ctx, log)
	return filepath.Join(bin, "oauth2-proxy"), "oauth2-proxy/oauth2-proxy:" + versions[0], err
}

func given(assets string) (string, error) {
	folder, err := filepath.Abs(assets)
	if err != nil {
		return "", err
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return "", fmt.Errorf("KUBEBUILDER_ASSETS has no %s: %w; unset it to use programs built from source", name, err)
		}
	}
	return folder, nil
}

func controlPlane(module string) (recipe, error) {
	versions, err := required(filepath.Join(module, "go.mod"), "k8s.io/kubernetes", "go.etcd.io/etcd/server/v3", "sigs.k8s.io/kwok")
	if err != nil {
		return recipe{}, err
	}
	kubernetes, etcd, kwok := versions[0], versions[1], versions[2]
	major, minor, _ := strings.Cut(strings.TrimPrefix(semver.MajorMinor(kubernetes), "v"), ".")
	const version = "k8s.io/component-base/version"
	return recipe{
		name:     "controlplane",
		versions: []string{"kubernetes", kubernetes, "etcd", etcd, "kwok", kwok},
		module:   module,
		sources:  []string{"cmd"},
		steps: []step{
			{
				what:     "compiling Kubernetes and etcd",
				packages: []string{"./..."},
				released: slices.Concat(releasesOfKubernetes(kubernetes), releasesOfEtcd(etcd)),
				// Without a version the API server says v0.0.0, and clients
				// that look at it refuse to work.
				args:   compile("./cmd/kube", version+".gitVersion="+kubernetes, version+".gitMajor="+major, version+".gitMinor="+minor),
				links:  slices.Concat([]string{"etcd"}, kubernetesPrograms, nodePrograms),
				linkTo: "kube",
			},
			{
				what:     "compiling kwok",
				packages: []string{"sigs.k8s.io/kwok/cmd/kwok"},
				args:     compile("sigs.k8s.io/kwok/cmd/kwok"),
				released: releasesOfKwok(kwok),
			},
			{what: "writing kwok's stages", args: []string{"run", "./cmd/stages"}, stdout: StagesFile},
		},
	}, nil
}

// compile makes a program without debug information (a third of the size),
// setting variables. -v names the packages that it compiles.
func compile(main string, variables ...string) []string {
	flags := []string{"-s", "-w"}
	for _, variable := range variables {
		flags = append(flags, "-X", variable)
	}
	return []string{"build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", strings.Join(flags, " "), "-o", "${BIN}/", main}
}

// Quickly is a flag of go build that leaves out optimization, and what debuggers need. That
// takes two thirds of the processor time: make run compiles hundreds of packages before it
// shows anything. Go has them twice then, as they are tested and so.
const Quickly = "-gcflags=all=-N -l -dwarf=false"

// quickStep compiles a program that nobody waits for once it runs.
func quickStep(main, program string) step {
	return step{
		what:     "compiling",
		packages: []string{main},
		args:     []string{"build", "-v", "-buildvcs=false", Quickly, "-ldflags", "-s -w", "-o", "${BIN}/" + program, main},
	}
}

// required reads the versions of modules from a go.mod.
func required(path string, modules ...string) ([]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := modfile.ParseLax(path, content, nil)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, require := range file.Require {
		found[require.Mod.Path] = require.Mod.Version
	}
	versions := make([]string, len(modules))
	for i, module := range modules {
		if versions[i] = found[module]; versions[i] == "" {
			return nil, fmt.Errorf("%s doesn't require %s", path, module)
		}
	}
	return versions, nil
}

// Repository returns the folder of the clone that the working folder, which in tests is the
// package's, belongs to.
func Repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "test", "controlplane", "go.mod")); err == nil {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", errors.New("the programs of the test cluster are built from the repository, but " + start + " is outside of a clone")
		}
	}
}

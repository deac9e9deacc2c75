// Package programs says which of the programs that a test needs from the
// machine are missing, and how to install them.
package programs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Program is one that a test needs.
type Program struct {
	// Names are those it may have; one of them is enough.
	Names []string
	// Package is Debian's and Ubuntu's with the program.
	Package string
}

// Present reports whether the machine has it.
func (p Program) Present() bool {
	return slices.ContainsFunc(p.Names, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
}

// Node lists what a real node needs.
var Node = []Program{
	{[]string{"containerd"}, "containerd"},
	{[]string{"runc"}, "runc"},
	{[]string{"iptables"}, "iptables"},
	{[]string{"conntrack"}, "conntrack"},
	{[]string{"ip"}, "iproute2"},
	{[]string{"mount"}, "mount"},
	{[]string{"busybox"}, "busybox-static"},
	{networkPlugin("ptp"), networkPluginsPackage},
	{networkPlugin("host-local"), networkPluginsPackage},
	{networkPlugin("portmap"), networkPluginsPackage},
}

const networkPluginsPackage = "containernetworking-plugins"

// networkPluginFolders are where distributions put them, and where everybody
// else does.
var networkPluginFolders = []string{"/usr/lib/cni", "/opt/cni/bin"}

func networkPlugin(name string) []string {
	var paths []string
	for _, folder := range networkPluginFolders {
		paths = append(paths, filepath.Join(folder, name))
	}
	return paths
}

// NetworkPlugins is the folder of the network plugins.
func NetworkPlugins() (string, error) {
	for _, folder := range networkPluginFolders {
		if _, err := os.Stat(filepath.Join(folder, "ptp")); err == nil {
			return folder, nil
		}
	}
	return "", fmt.Errorf("no network plugins in %s; install %s",
		strings.Join(networkPluginFolders, " or "), networkPluginsPackage)
}

// Need returns nil if this is root on Linux with these programs, or an error
// that says all that is missing.
func Need(programs ...Program) error {
	var missing, packages []string
	for _, program := range programs {
		if !program.Present() {
			missing = append(missing, filepath.Base(program.Names[0]))
			packages = append(packages, program.Package)
		}
	}
	var problems []string
	if runtime.GOOS != "linux" {
		problems = append(problems, "this is "+runtime.GOOS+", it needs Linux")
	}
	if os.Geteuid() != 0 {
		problems = append(problems, "this is not root: run it with sudo")
	}
	if len(missing) > 0 {
		slices.Sort(packages)
		problems = append(problems, fmt.Sprintf("%s: missing; on Debian and Ubuntu:\n  apt-get install -y --no-install-recommends %s",
			strings.Join(missing, ", "), strings.Join(slices.Compact(packages), " ")))
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}
